// What one topic's configuration means for its partitions, as plain values. Made from the node's defaults and the
// topic's own settings in the image; replaced as a whole when either changes.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/bytes/codec.h"
#include "millrace/metadata/image.h"
#include "millrace/storage/log_config.h"

namespace millrace::runtime {

struct TopicConfig {
  storage::LogConfig log;
  int32_t message_bytes_max = 1'048'588;                                   // max.message.bytes
  int32_t decompressed_bytes_max = 2'147'483'639;                          // max.decompressed.message.bytes
  int32_t min_in_sync = 1;                                                 // min.insync.replicas
  bool is_log_append_time = false;                                         // message.timestamp.type
  int64_t timestamp_before_ms_max = std::numeric_limits<int64_t>::max();   // message.timestamp.before.max.ms
  int64_t timestamp_after_ms_max = 3'600'000;                              // message.timestamp.after.max.ms
  std::string compression_type = "producer";                               // compression.type
  std::optional<Codec> codec;                                              // what that means; none: as the producer
  std::optional<int> codec_level;
  int32_t gzip_level = -1;
  int32_t lz4_level = 9;
  int32_t zstd_level = 3;
  int64_t flush_messages = std::numeric_limits<int64_t>::max();            // flush.messages
  int64_t flush_ms = std::numeric_limits<int64_t>::max();                  // flush.ms
  int64_t file_delete_delay_ms = 60'000;                                   // file.delete.delay.ms

  // flush.messages=1: nothing is acknowledged before it is on the disk.
  bool is_flush_before_acknowledge() const { return flush_messages <= 1; }
};

using TopicConfigPtr = std::shared_ptr<TopicConfig const>;

// Sets one key; false: the key or its value means nothing here, and nothing was changed. Values were checked when they
// were accepted.
bool apply_topic_setting(TopicConfig& config, std::string_view key, std::string_view value);

// Sets what follows from other fields; after the last apply_topic_setting().
void finish_topic_config(TopicConfig& config);

// `of_file` with the broker keys that were set in the cluster for `node` or for all.
TopicConfig topic_defaults_with_cluster_configs(TopicConfig const& of_file, metadata::Image const& image, BrokerId node);

TopicConfigPtr resolve_topic_config(TopicConfig const& defaults, metadata::ConfigMap const* settings);

}  // namespace millrace::runtime
