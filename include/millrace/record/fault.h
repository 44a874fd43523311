// What is wrong with record bytes, in Kafka's terms.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "millrace/base/result.h"

namespace millrace::record {

// The error codes of the protocol that record bytes can earn, with Kafka's numbers.
enum class Code : int16_t {
  unknown_server_error = -1,
  none = 0,
  corrupt_message = 2,
  message_too_large = 10,
  invalid_timestamp = 32,
  unsupported_for_message_format = 43,
  unsupported_compression_type = 76,
  invalid_record = 87,
};

// Empty when nothing is wrong. The message is Kafka's where Kafka has one.
struct [[nodiscard]] Fault {
  Code code = Code::none;
  std::string message;

  explicit operator bool() const { return code != Code::none; }
  Error to_error() const { return {ErrorKind::corrupt, message}; }
};

}  // namespace millrace::record
