// The interpreter under message.h, without types: an object is the address of a struct that `table` describes.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/bytes/cursor.h"
#include "millrace/protocol/table.h"

namespace millrace::protocol {

// Where the bytes of Records::slot(...) belong: after `position` bytes of what the encoder wrote.
struct RecordSlot {
  size_t position = 0;
  size_t bytes = 0;
  uint32_t index = 0;
};

// Tagged fields that we do not know, by the struct that carried them. Brokers skip them; tools keep them.
struct UnknownTag {
  uint32_t tag = 0;
  ByteView data;
};
class UnknownTags {
 public:
  void add(StructTable const& structure, void const* object, UnknownTag tag) {
    tags_[{object, &structure}].push_back(tag);
  }
  std::vector<UnknownTag> const* find(StructTable const& structure, void const* object) const {
    auto const found = tags_.find({object, &structure});
    return found == tags_.end() ? nullptr : &found->second;
  }
  bool empty() const { return tags_.empty(); }
  size_t struct_count() const { return tags_.size(); }

 private:
  std::map<std::pair<void const*, StructTable const*>, std::vector<UnknownTag>> tags_;
};

// Reads one message from `in` and leaves `in` behind it; bytes after it are the caller's affair (a request may have
// some, and Kafka ignores them). `object` must hold a default-made message. Errors: unsupported (version), invalid
// (malformed), limit (the arena's). Malformed input never takes more memory than its own size and 16 KiB; well-formed
// input what its elements need. `unknown`, if any, must be empty.
Status decode(MessageTable const& table, Reader& in, int16_t version, Arena& arena, void* object,
              UnknownTags* unknown = nullptr);

struct MessageSize {
  size_t bytes = 0;       // that encode() writes
  size_t slot_bytes = 0;  // that belong between them
  size_t total() const { return bytes + slot_bytes; }
};
// Errors: unsupported (the version, or a field that this version lacks and that may not be dropped is set), invalid
// (null where none may be, a string over 32767 bytes).
Result<MessageSize> encoded_size(MessageTable const& table, void const* object, int16_t version,
                                 UnknownTags const* unknown = nullptr);

// Only after encoded_size() accepted the same object and version. `slots` may be null if the message has none.
void encode(MessageTable const& table, void const* object, int16_t version, Writer& out,
            std::vector<RecordSlot>* slots = nullptr, UnknownTags const* unknown = nullptr);

// Deep equality of two objects described by `structure`, over all fields of all versions.
bool equal(StructTable const& structure, void const* a, void const* b);
bool equal_field(Field const& field, void const* a, void const* b);  // addresses of the field itself

}  // namespace millrace::protocol
