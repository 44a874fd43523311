// Kafka's checkpoint files: a version line, a count line, then as many lines of fields separated by blanks.
#pragma once
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"

namespace millrace::storage {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class CheckpointReader {
 public:
  explicit CheckpointReader(std::string_view text) : rest_(text) {}

  // Version 0 and the count.
  Status read_head();
  // The next line, split into exactly fields.size() parts. False at the end or at a broken line.
  bool next(std::span<std::string_view> fields);
  // All lines were read, as many as the count says, and nothing follows.
  Status finish() const;
  Error broken(std::string_view why) const;

 private:
  std::optional<std::string_view> line();

  std::string_view rest_;
  int64_t line_number_ = 0;
  int64_t left_ = 0;
  bool is_broken_ = false;
};

struct PartitionOffset {
  TopicPartition partition;
  Offset offset;
  friend bool operator==(PartitionOffset const&, PartitionOffset const&) = default;
};

std::string offsets_checkpoint_text(std::span<PartitionOffset const> entries);
Result<std::vector<PartitionOffset>> parse_offsets_checkpoint(std::string_view text);

}  // namespace millrace::storage
