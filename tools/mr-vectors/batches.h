// Checks lines of batches.jsonl: what Kafka reads from record bytes, and where and how it refuses broken ones.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

#include "millrace/bytes/codec.h"

namespace millrace::vectors {

// Empty if the line's bytes read as it says and, where it asks for that, build again to the same bytes.
std::string check_batches_line(nlohmann::json const& line, CodecContext& context);

}  // namespace millrace::vectors
