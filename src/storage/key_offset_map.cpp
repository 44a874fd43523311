#include "key_offset_map.h"

#include <algorithm>

namespace millrace::storage {

KeyOffsetMap::KeyOffsetMap(int64_t bytes_max, SipKey secret)
    : slots_max_(std::max<size_t>(static_cast<size_t>(std::max<int64_t>(bytes_max, 0) / kEntryBytes), kSlotsMin)),
      secret_(secret) {}

size_t KeyOffsetMap::probe(std::vector<Slot> const& slots, Hash128 hash) const {
  auto i = static_cast<size_t>(hash.low % slots.size());
  while (slots[i].offset >= 0 && slots[i].hash != hash) i = i + 1 == slots.size() ? 0 : i + 1;
  return i;
}

// The old and the new table are there at once: both count.
bool KeyOffsetMap::grow() {
  if (slots_.empty()) {
    slots_.resize(kSlotsMin);
    return true;
  }
  auto const room = slots_max_ > slots_.size() ? slots_max_ - slots_.size() : 0;
  auto const wanted = std::min(slots_.size() * 2, room);
  if (wanted <= slots_.size()) return false;
  std::vector<Slot> larger(wanted);
  for (auto const& slot : slots_) {
    if (slot.offset >= 0) larger[probe(larger, slot.hash)] = slot;
  }
  slots_ = std::move(larger);
  return true;
}

bool KeyOffsetMap::put(ByteView key, Offset offset) {
  auto const hash = siphash128(key, secret_);
  if (slots_.empty()) grow();
  auto i = probe(slots_, hash);
  if (slots_[i].offset < 0) {
    if (static_cast<double>(count_ + 1) > static_cast<double>(slots_.size()) * kLoadMax) {
      if (!grow()) return false;
      i = probe(slots_, hash);
    }
    ++count_;
    slots_[i].hash = hash;
  }
  slots_[i].offset = offset.value;
  return true;
}

std::optional<Offset> KeyOffsetMap::find(ByteView key) const {
  if (slots_.empty()) return std::nullopt;
  auto const& slot = slots_[probe(slots_, siphash128(key, secret_))];
  return slot.offset < 0 ? std::nullopt : std::optional(Offset(slot.offset));
}

}  // namespace millrace::storage
