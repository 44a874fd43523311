// The side file millrace-index-checks: what the index files of closed segments hold, so that a damaged one is noticed.
#include <charconv>
#include <map>

#include "checkpoint_text.h"
#include "millrace/bytes/crc32c.h"
#include "partition_body.h"

namespace millrace::storage {

Status PartitionLog::Body::load_index_checks() {
  auto const content = directory.disk().read_file(path(kIndexChecksFile), kIndexChecksBytesMax);
  if (!content && content.error().kind == ErrorKind::limit) {
    return directory.disk().remove_file(path(kIndexChecksFile));  // the indexes are made again if need be
  }
  if (!content) return content.error().kind == ErrorKind::not_found ? Status() : content.error();
  index_checks_bytes = static_cast<int64_t>(content->size());
  SegmentList const list(segments);
  for (std::string_view rest = *content; !rest.empty();) {
    auto const end = rest.find('\n');
    auto const line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    auto const blank = line.rfind(' ');
    if (blank == std::string_view::npos ||
        line.substr(blank + 1) != fmt::format("{:08x}", crc32c(as_bytes(line.substr(0, blank))))) {
      continue;
    }
    std::array<std::string_view, 5> fields;
    auto text = line.substr(0, blank);
    for (auto& field : fields) {
      field = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(field.size() + 1, text.size()));
    }
    auto const base = parse_number<int64_t>(fields[0]);
    auto const bytes = parse_number<int64_t>(fields[1]);
    auto const hex = [](std::string_view digits) {
      uint32_t value = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      return value;
    };
    if (!base || !bytes) continue;
    auto const i = list.find(Offset(*base));
    if (i && segments[*i]->base() == Offset(*base)) {
      segments[*i]->set_checks({*bytes, hex(fields[2]), hex(fields[3]), hex(fields[4])});
    }
  }
  return {};
}

Status PartitionLog::Body::save_index_checks(Segment const& segment) {
  MR_TRY_ASSIGN(auto const checks, segment.make_checks());
  auto line = fmt::format("{} {} {:08x} {:08x} {:08x}", segment.base(), checks.log_bytes, checks.offsets, checks.times,
                          checks.transactions);
  line += fmt::format(" {:08x}\n", crc32c(as_bytes(line)));
  if (index_checks_bytes >= index_checks_bytes_max) MR_TRY(trim_index_checks());
  MR_TRY_ASSIGN(auto file, directory.disk().open(path(kIndexChecksFile), env::OpenMode::create));
  ByteView const piece = as_bytes(line);
  MR_TRY(file->write(Position(index_checks_bytes), {&piece, 1}));
  index_checks_bytes += static_cast<int64_t>(line.size());
  return {};
}

// Segments that were deleted or replaced, and segments that a clean stop noted before they were full, leave lines behind that
// nobody reads any more.
Status PartitionLog::Body::trim_index_checks() {
  MR_TRY_ASSIGN(auto const content, directory.disk().read_file(path(kIndexChecksFile), kIndexChecksBytesMax));
  std::map<std::string_view, std::string_view> newest;  // base -> line
  for (std::string_view rest = content; !rest.empty();) {
    auto const line = rest.substr(0, rest.find('\n') == std::string_view::npos ? rest.size() : rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    newest[line.substr(0, line.find(' '))] = line;
  }
  std::string kept;
  for (auto const& segment : segments) {
    if (auto const found = newest.find(fmt::format("{}", segment->base())); found != newest.end())
      kept += found->second;
  }
  MR_TRY(env::replace_file(directory.disk(), path(kIndexChecksFile), kept));
  index_checks_bytes = static_cast<int64_t>(kept.size());
  index_checks_bytes_max = std::max(kIndexChecksBytesTrimmed, 2 * index_checks_bytes);
  return {};
}

}  // namespace millrace::storage
