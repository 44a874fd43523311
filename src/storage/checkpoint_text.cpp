#include "checkpoint_text.h"

namespace millrace::storage {

std::optional<std::string_view> CheckpointReader::line() {
  if (rest_.empty()) return std::nullopt;
  ++line_number_;
  auto const end = rest_.find('\n');
  auto text = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

Error CheckpointReader::broken(std::string_view why) const {
  return {ErrorKind::corrupt, fmt::format("checkpoint line {}: {}", line_number_, why)};
}

Status CheckpointReader::read_head() {
  auto const version = line();
  if (!version) return broken("empty file");
  if (parse_number<int32_t>(*version) != 0) return broken("unknown version");
  auto const count = line();
  auto const number = count ? parse_number<int32_t>(*count) : std::nullopt;
  if (!number || *number < 0) return broken("no count");
  left_ = *number;
  return {};
}

bool CheckpointReader::next(std::span<std::string_view> fields) {
  if (left_ == 0 || is_broken_) return false;
  auto text = line();
  is_broken_ = true;
  if (!text) return false;
  for (size_t i = 0; i < fields.size(); ++i) {
    auto const blank = i + 1 == fields.size() ? std::string_view::npos : text->find(' ');
    if (i + 1 < fields.size() && blank == std::string_view::npos) return false;
    fields[i] = text->substr(0, blank);
    if (blank != std::string_view::npos) text->remove_prefix(blank + 1);
  }
  is_broken_ = false;
  --left_;
  return true;
}

Status CheckpointReader::finish() const {
  if (is_broken_) return broken("broken line");
  if (left_ != 0 || !rest_.empty()) return broken("count does not match the lines");
  return {};
}

std::string offsets_checkpoint_text(std::span<PartitionOffset const> entries) {
  auto out = fmt::format("0\n{}\n", entries.size());
  for (auto const& entry : entries) {
    out += fmt::format("{} {} {}\n", entry.partition.topic, entry.partition.partition, entry.offset);
  }
  return out;
}

Result<std::vector<PartitionOffset>> parse_offsets_checkpoint(std::string_view text) {
  std::vector<PartitionOffset> out;
  CheckpointReader reader(text);
  MR_TRY(reader.read_head());
  std::array<std::string_view, 3> fields;
  while (reader.next(fields)) {
    auto const partition = parse_number<int32_t>(fields[1]);
    auto const offset = parse_number<int64_t>(fields[2]);
    if (!partition || !offset || fields[0].empty()) return reader.broken("not topic, partition, offset");
    out.push_back({{std::string(fields[0]), *partition}, Offset(*offset)});
  }
  MR_TRY(reader.finish());
  return out;
}

}  // namespace millrace::storage
