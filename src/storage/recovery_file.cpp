#include "recovery_file.h"

#include "checkpoint_text.h"
#include "millrace/bytes/crc32c.h"

namespace millrace::storage {

std::string recovery_file_text(std::span<RecoveryEntry const> entries, std::string_view recovery_points) {
  auto body = fmt::format("0\n{}\n", entries.size());
  for (auto const& entry : entries) {
    auto const& indexes = entry.indexes;
    body += fmt::format(
        "{} {} {} {} {} {} {} {} {}\n", entry.partition.topic, entry.partition.partition, entry.recovery_point,
        entry.is_plain           ? "plain"
        : entry.has_no_producers ? "no-producers"
                                 : "producers",
        indexes.base, indexes.offset_bytes, indexes.time_bytes, indexes.transaction_bytes, indexes.transaction_check);
  }
  return fmt::format("{:08x} {:08x}\n{}", crc32c(as_bytes(recovery_points)), crc32c(as_bytes(body)), body);
}

Result<std::vector<RecoveryEntry>> parse_recovery_file(std::string_view text, std::string_view recovery_points) {
  auto const end = text.find('\n');
  if (end == std::string_view::npos) return Error{ErrorKind::corrupt, "recovery file: no checksums"};
  auto const body = text.substr(end + 1);
  if (text.substr(0, end) != fmt::format("{:08x} {:08x}", crc32c(as_bytes(recovery_points)), crc32c(as_bytes(body)))) {
    return Error{ErrorKind::corrupt, "recovery file: written beside another checkpoint"};
  }
  std::vector<RecoveryEntry> out;
  CheckpointReader reader(body);
  MR_TRY(reader.read_head());
  std::array<std::string_view, 9> fields;
  while (reader.next(fields)) {
    auto const partition = parse_number<int32_t>(fields[1]);
    auto const offset = parse_number<int64_t>(fields[2]);
    auto const base = parse_number<int64_t>(fields[4]);
    auto const offset_bytes = parse_number<int64_t>(fields[5]);
    auto const time_bytes = parse_number<int64_t>(fields[6]);
    auto const transaction_bytes = parse_number<int64_t>(fields[7]);
    auto const check = parse_number<uint32_t>(fields[8]);
    if (!partition || !offset || !base || !offset_bytes || !time_bytes || !transaction_bytes || !check) {
      return reader.broken("not the nine fields");
    }
    out.push_back({{std::string(fields[0]), *partition},
                   Offset(*offset),
                   fields[3] == "plain",
                   fields[3] == "no-producers",
                   {Offset(*base), *offset_bytes, *time_bytes, *transaction_bytes, *check}});
  }
  MR_TRY(reader.finish());
  return out;
}

}  // namespace millrace::storage
