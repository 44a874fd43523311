// `millrace-producer-batches` in a replica's directory: what the newest producer snapshot leaves out, which is the
// batches of each producer before its last one. With them a batch that is sent again after a restart gets the answer it
// got before. It counts only for the very snapshot it was written with. Format: docs/log-format.md.
#pragma once
#include <string>
#include <string_view>

#include "millrace/storage/producer_state.h"

namespace millrace::storage {

inline constexpr std::string_view kProducerBatchesFile = "millrace-producer-batches";

// Empty where no producer has more than one batch. `snapshot`: the content of the snapshot file at `at`.
std::string format_producer_batches(ProducerState const& producers, TopicId topic_id, Offset at,
                                    std::string_view snapshot);

// `producers` was loaded from `snapshot`. A file that is damaged, or of another snapshot or log, changes nothing.
void restore_producer_batches(std::string_view content, TopicId topic_id, Offset at, std::string_view snapshot,
                              Offset log_start, ProducerState& producers);

}  // namespace millrace::storage
