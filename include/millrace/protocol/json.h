// Messages as JSON, as Kafka's tools print them: sheet names with a lower-case first letter, int64 as a number, bytes
// and records in base64, uuids in their url-safe text. A tagged field at its default is left out.
#pragma once
#include <string>

#include "millrace/protocol/message.h"

namespace millrace::protocol {

// Only the fields of `version`. Text that is not UTF-8 has its bad bytes replaced by U+FFFD.
std::string to_json(MessageTable const& table, void const* object, int16_t version);
template <Message M>
std::string to_json(M const& message, int16_t version) {
  return to_json(M::table(), &message, version);
}

// The reverse. Refused: a name that `version` does not have, a missing field that is not tagged, a number out of range.
Status from_json(MessageTable const& table, std::string_view json, int16_t version, Arena& arena, void* object);
template <Message M>
Status from_json(std::string_view json, int16_t version, Arena& arena, M& out) {
  return from_json(M::table(), json, version, arena, &out);
}

}  // namespace millrace::protocol
