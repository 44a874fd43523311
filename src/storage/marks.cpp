#include "millrace/base/assert.h"
#include "millrace/storage/read_view.h"

namespace millrace::storage {

// The words are stored with release and loaded with acquire order, so the two reads of the sequence enclose them
// without a fence (which thread sanitisers do not understand); on x86 these are plain moves.
void PublishedMarks::publish(Marks const& marks) {
  std::array<int64_t, kWords> const words = {
      marks.epoch.value,
      marks.log_start.value,
      marks.last_stable.offset.value,
      marks.last_stable.position.value,
      marks.high_watermark.offset.value,
      marks.high_watermark.position.value,
      marks.end.offset.value,
      marks.end.position.value,
  };
  auto const sequence = sequence_.load(std::memory_order_relaxed);
  MR_ASSERT(sequence % 2 == 0);
  sequence_.store(sequence + 1, std::memory_order_relaxed);
  for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
  sequence_.store(sequence + 2, std::memory_order_release);
}

Marks PublishedMarks::read(uint64_t* version) const {
  std::array<int64_t, kWords> words;
  for (;;) {
    auto const before = sequence_.load(std::memory_order_acquire);
    for (size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
    if (before % 2 != 0 || sequence_.load(std::memory_order_relaxed) != before) continue;
    if (version) *version = before / 2;
    return {
        .epoch = LeaderEpoch(static_cast<int32_t>(words[0])),
        .log_start = Offset(words[1]),
        .last_stable = {Offset(words[2]), LogPosition(words[3])},
        .high_watermark = {Offset(words[4]), LogPosition(words[5])},
        .end = {Offset(words[6]), LogPosition(words[7])},
    };
  }
}

}  // namespace millrace::storage
