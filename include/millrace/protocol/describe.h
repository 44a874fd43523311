// The words in which a message describes itself: versions, field options, field types. A message has the constants kKey
// (where it has a key), kValid and kFlexible, so spelled because some messages have a field named key.
#pragma once
#include <optional>

#include "millrace/base/ids.h"
#include "millrace/bytes/arena.h"
#include "millrace/bytes/view.h"

namespace millrace::protocol {

inline constexpr int16_t kLatest = 32767;

// Both ends included; empty when min > max.
struct Versions {
  int16_t min = 0;
  int16_t max = -1;
  constexpr bool contains(int32_t version) const { return version >= min && version <= max; }
  constexpr bool empty() const { return min > max; }
  friend constexpr bool operator==(Versions, Versions) = default;
};
inline constexpr Versions kNever{0, -1};

constexpr Versions since(int16_t first) { return {first, kLatest}; }
constexpr Versions between(int16_t first, int16_t last) { return {first, last}; }

// What a field is besides its name and versions.
struct Option {
  enum class Kind : uint8_t { none, nullable, tagged, ignorable, never_flexible };
  Kind kind = Kind::none;
  Versions versions{};
  int16_t tag = -1;
};
constexpr Option nullable_since(int16_t first) { return {Option::Kind::nullable, since(first)}; }
constexpr Option nullable_between(int16_t first, int16_t last) {
  return {Option::Kind::nullable, between(first, last)};
}
constexpr Option tagged_since(int16_t first, int16_t tag) { return {Option::Kind::tagged, since(first), tag}; }
constexpr Option tagged_between(int16_t first, int16_t last, int16_t tag) {
  return {Option::Kind::tagged, between(first, last), tag};
}
inline constexpr Option kIgnorable{Option::Kind::ignorable};           // may be lost at versions that lack it
inline constexpr Option kNeverFlexible{Option::Kind::never_flexible};  // keeps its old form in flexible versions

struct Description {
  constexpr Description(std::string_view field_name, Versions field_versions, Option a = {}, Option b = {},
                        Option c = {})
      : name(field_name), versions(field_versions), options{a, b, c} {}
  std::string_view name;  // as Kafka's schema spells it
  Versions versions;
  Option options[3];
};

// Record batches in a message. Null by default. Decoded: a view of the frame. To be encoded: a view, or a slot of a
// given size whose bytes the caller sends itself at the place that the encoder reports (a file region, a shared
// buffer).
class Records {
 public:
  constexpr Records() = default;
  constexpr Records(ByteView view) : data_(view.data()), size_(view.size()), form_(Form::view) {}  // NOLINT
  static constexpr Records slot(size_t bytes, uint32_t index) {
    Records out;
    out.size_ = bytes;
    out.index_ = index;
    out.form_ = Form::slot;
    return out;
  }
  constexpr bool is_null() const { return form_ == Form::null; }
  constexpr bool is_slot() const { return form_ == Form::slot; }
  constexpr size_t size() const { return size_; }
  constexpr uint32_t slot_index() const { return index_; }
  ByteView view() const { return {data_, data_ == nullptr ? 0 : size_}; }
  // Only for records decoded from a frame that the caller may write to: offsets and epochs are set in place.
  MutableByteView mutable_view() const { return {const_cast<std::byte*>(data_), data_ == nullptr ? 0 : size_}; }

 private:
  enum class Form : uint8_t { null, view, slot };
  std::byte const* data_ = nullptr;
  size_t size_ = 0;
  uint32_t index_ = 0;
  Form form_ = Form::null;
};

class MessageTable;

}  // namespace millrace::protocol
