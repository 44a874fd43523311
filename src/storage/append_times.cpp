#include "append_times.h"

#include "millrace/bytes/crc32c.h"
#include "millrace/bytes/cursor.h"
#include "millrace/bytes/endian.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kMagic = "MRtimes1";
constexpr size_t kBlockHeadBytes = 48;
constexpr int64_t kFileBytesMax = 1LL << 30;

template <class T>
void put(std::string& out, T value) {
  std::array<std::byte, sizeof(T)> bytes;
  store_be(bytes.data(), value);
  out += as_text(bytes);
}

void put_varlong(std::string& out, int64_t value) {
  auto rest = zigzag(value);
  for (; rest >= 0x80; rest >>= 7) out += static_cast<char>((rest & 0x7f) | 0x80);
  out += static_cast<char>(rest);
}

}  // namespace

AppendTimes::AppendTimes(env::Disk& disk, std::string path, TopicId topic_id, Matches matches)
    : disk_(disk), path_(std::move(path)), topic_id_(topic_id), matches_(std::move(matches)) {}

void AppendTimes::add(Offset first, Wall now) {
  std::lock_guard lock(mutex_);
  if (entries_.size() - saved_count_ >= kUnsavedCountMax) {
    // Nobody saves them: the older half is given up.
    if (is_saving_) return;
    auto const from = entries_.begin() + static_cast<ptrdiff_t>(saved_count_);
    from->time_ms = -1;
    entries_.erase(from + 1, from + kUnsavedCountMax / 2);
  }
  last_noted_ms_ = now.ms;
  entries_.push_back({first, now.ms});
}

bool AppendTimes::wants_save() const {
  std::lock_guard lock(mutex_);
  return entries_.size() - saved_count_ >= kSaveCount;
}

// ---- The file

std::string AppendTimes::header() const {
  std::string out(kMagic);
  out.append(reinterpret_cast<char const*>(topic_id_.bytes.data()), topic_id_.bytes.size());
  put(out, crc32c(as_bytes(out)));
  out.resize(kBlockBytes);
  return out;
}

// Takes entries from `from` on, as many as fit.
std::string AppendTimes::format(std::vector<Entry> const& entries, size_t& from, Covered const& covered) {
  std::string body;
  auto last = entries[from];
  auto const first = from;
  for (++from; from < entries.size(); ++from) {
    std::string piece;
    put_varlong(piece, entries[from].offset - last.offset);
    put_varlong(piece, entries[from].time_ms - last.time_ms);
    if (kBlockHeadBytes + body.size() + piece.size() > kBlockBytes) break;
    body += piece;
    last = entries[from];
  }
  std::string block;
  put(block, static_cast<uint32_t>(from - first));
  put(block, entries[first].offset.value);
  put(block, entries[first].time_ms);
  put(block, covered.end.value);
  put(block, covered.base.value);
  put(block, covered.bytes);
  block += body;
  block.resize(kBlockBytes - sizeof(uint32_t));
  std::string out;
  put(out, crc32c(as_bytes(block)));
  return out + block;
}

std::optional<AppendTimes::Block> AppendTimes::parse(ByteView bytes) {
  Reader in(bytes);
  if (in.u32() != crc32c(bytes.subspan(sizeof(uint32_t)))) return std::nullopt;
  Block block;
  auto const count = in.u32();
  if (count == 0 || count > kBlockBytes) return std::nullopt;
  Entry entry{Offset(in.i64()), in.i64()};
  block.covered = {Offset(in.i64()), Offset(in.i64()), in.i64()};
  block.entries.push_back(entry);
  while (block.entries.size() < count && in.ok()) {
    entry.offset += in.varlong();
    entry.time_ms += in.varlong();
    block.entries.push_back(entry);
  }
  return in.ok() ? std::optional(std::move(block)) : std::nullopt;
}

Result<AppendTimes::Block> AppendTimes::read_block(env::File& file, int64_t index) const {
  std::array<std::byte, kBlockBytes> bytes;
  MR_TRY_ASSIGN(auto const got, file.read(Position(index * static_cast<int64_t>(kBlockBytes)), bytes));
  auto block = got == bytes.size() ? parse(bytes) : std::nullopt;
  if (!block) return Error{ErrorKind::corrupt, fmt::format("{}: block {} is damaged", path_, index)};
  return *std::move(block);
}

void AppendTimes::load() {
  if (std::exchange(is_loaded_, true)) return;
  std::vector<Entry> entries;
  auto const read = [&]() -> Status {
    MR_TRY_ASSIGN(auto file, disk_.open(path_, env::OpenMode::read));
    MR_TRY_ASSIGN(auto const size, file->size());
    std::array<std::byte, kBlockBytes> first;
    MR_TRY_ASSIGN(auto const got, file->read(Position(0), first));
    if (got != first.size() || as_text(first) != header()) {
      return Error{ErrorKind::corrupt, fmt::format("{} belongs to another log", path_)};
    }
    // A write that was torn costs the last block.
    auto const last = size / static_cast<int64_t>(kBlockBytes) - 1;
    auto block = read_block(*file, last);
    block_count_ = last;
    if (!block && last > 1) {
      block = read_block(*file, last - 1);
      block_count_ = last - 1;
    }
    if (!block) return std::move(block).error();
    if (block->covered.end > opened_end_ || !matches_(block->covered)) {
      return Error{ErrorKind::corrupt, fmt::format("{} does not fit the log", path_)};
    }
    saved_end_ = block->covered.end;
    entries = std::move(block->entries);
    return {};
  };
  if (!read()) block_count_ = 0;
  auto const saved_count = entries.size();
  // Somebody else, or we before a kill, appended what lies between.
  auto const known_until = std::max(saved_end_, Offset(0));
  if (known_until < opened_end_) entries.push_back({known_until, -1});
  std::lock_guard lock(mutex_);
  entries_.insert(entries_.begin(), entries.begin(), entries.end());
  saved_count_ = saved_count;
}

Status AppendTimes::write(Covered const& covered) {
  std::vector<Entry> entries;
  {
    std::lock_guard lock(mutex_);
    entries = entries_;
    is_saving_ = true;
  }
  size_t last_from = 0;
  auto const save = [&]() -> Status {
    auto const first_block = std::max<int64_t>(block_count_, 1);
    auto const at = block_count_ == 0 ? 0 : first_block * static_cast<int64_t>(kBlockBytes);
    auto content = block_count_ == 0 ? header() : std::string();
    int64_t written = 0;
    for (size_t from = 0; from < entries.size(); ++written) {
      last_from = from;
      content += format(entries, from, covered);
    }
    MR_TRY_ASSIGN(auto file, disk_.open(path_, env::OpenMode::create));
    ByteView const piece = as_bytes(content);
    MR_TRY(file->write(Position(at), {&piece, 1}));
    auto const bytes = at + static_cast<int64_t>(content.size());
    MR_TRY_ASSIGN(auto const size, file->size());
    if (size > bytes) MR_TRY(file->truncate(bytes));
    block_count_ = first_block + written - 1;
    saved_end_ = covered.end;
    return {};
  };
  auto status = entries.empty() ? Status() : save();
  std::lock_guard lock(mutex_);
  is_saving_ = false;
  if (!status || entries.empty()) return status;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(last_from));
  saved_count_ = entries.size() - last_from;
  return {};
}

// ---- Any thread

AppendTimes::Found AppendTimes::answer(std::vector<Entry> const& entries, Offset offset) {
  auto const after = std::upper_bound(entries.begin(), entries.end(), offset,
                                      [](Offset o, Entry const& entry) { return o < entry.offset; });
  auto const next_ms = after == entries.end() ? -1 : after->time_ms;
  if (after == entries.begin()) return {.latest_ms = next_ms};
  auto const entry = std::prev(after);
  if (entry->time_ms >= 0) return {entry->time_ms, entry->time_ms, entry->time_ms};
  return {.earliest_ms = entry == entries.begin() ? -1 : std::prev(entry)->time_ms, .latest_ms = next_ms};
}

AppendTimes::Found AppendTimes::find(Offset offset) {
  auto const look = [&]() -> std::optional<Found> {
    std::lock_guard lock(mutex_);
    if (entries_.empty() || offset < entries_.front().offset) return std::nullopt;
    return answer(entries_, offset);
  };
  if (auto const found = look()) return *found;
  std::lock_guard file_lock(file_mutex_);
  load();
  if (auto const found = look()) return *found;
  if (block_count_ > 1) {
    if (auto const found = search(offset)) return *found;
  }
  std::lock_guard lock(mutex_);
  return answer(entries_, offset);
}

// The last block that begins at or below the offset; that at block_count_ is in memory.
Result<AppendTimes::Found> AppendTimes::search(Offset offset) const {
  MR_TRY_ASSIGN(auto file, disk_.open(path_, env::OpenMode::read));
  int64_t low = 1, high = block_count_;
  Block best;
  while (low < high) {
    auto const middle = low + (high - low) / 2;
    MR_TRY_ASSIGN(auto block, read_block(*file, middle));
    if (block.entries.front().offset <= offset) {
      best = std::move(block);
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return answer(best.entries, offset);
}

Status AppendTimes::save(Covered const& covered) {
  std::lock_guard file_lock(file_mutex_);
  {
    std::lock_guard lock(mutex_);
    if (entries_.empty() || (entries_.size() == saved_count_ && saved_end_ == covered.end)) return {};
  }
  load();
  return write(covered);
}

Status AppendTimes::truncate_to(Covered const& covered) {
  std::lock_guard file_lock(file_mutex_);
  load();
  last_noted_ms_ = -kStepMs;
  auto const is_past = [&] {
    std::lock_guard lock(mutex_);
    return entries_.empty() || entries_.front().offset >= covered.end;
  };
  while (block_count_ > 1 && is_past()) {
    auto file = disk_.open(path_, env::OpenMode::read);
    auto block = file ? read_block(**file, block_count_ - 1) : Result<Block>(std::move(file).error());
    block_count_ = block ? block_count_ - 1 : 0;
    std::lock_guard lock(mutex_);
    entries_ = block ? std::move(block->entries) : std::vector<Entry>{{Offset(0), -1}};
    saved_count_ = block ? entries_.size() : 0;
  }
  bool is_empty = false;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](Entry const& entry) { return entry.offset >= covered.end; });
    saved_count_ = std::min(saved_count_, entries_.size());
    is_empty = entries_.empty();
  }
  if (!disk_.exists(path_)) return {};
  if (!is_empty) {
    auto written = write(covered);
    if (written || written.error().kind != ErrorKind::no_space) return written;
  }
  block_count_ = 0;
  return disk_.remove_file(path_);
}

Status AppendTimes::truncate_fully() {
  std::lock_guard file_lock(file_mutex_);
  is_loaded_ = true;
  block_count_ = 0;
  saved_end_ = Offset(-1);
  last_noted_ms_ = -kStepMs;
  {
    std::lock_guard lock(mutex_);
    entries_.clear();
    saved_count_ = 0;
  }
  auto removed = disk_.remove_file(path_);
  if (!removed && removed.error().kind != ErrorKind::not_found) return removed;
  return {};
}

Status AppendTimes::trim(Offset log_start) {
  std::lock_guard file_lock(file_mutex_);
  load();
  if (block_count_ < kTrimBlocksMin) return {};
  MR_TRY_ASSIGN(auto file, disk_.open(path_, env::OpenMode::read));
  auto const middle = read_block(*file, block_count_ / 2);
  if (!middle || middle->entries.front().offset >= log_start) return {};
  MR_TRY_ASSIGN(auto const content, disk_.read_file(path_, kFileBytesMax));
  auto first = block_count_ / 2;
  for (; first + 1 < block_count_; ++first) {
    auto const at = static_cast<size_t>(first + 1) * kBlockBytes;
    if (content.size() < at + kBlockBytes) return {};
    auto const next = parse(as_bytes(content).subspan(at, kBlockBytes));
    if (!next || next->entries.front().offset > log_start) break;
  }
  auto const kept = header() + content.substr(static_cast<size_t>(first) * kBlockBytes);
  MR_TRY_ASSIGN(auto fresh, disk_.open(path_ + ".tmp", env::OpenMode::create_empty));
  ByteView const piece = as_bytes(kept);
  MR_TRY(fresh->write(Position(0), {&piece, 1}));
  MR_TRY(disk_.rename(path_ + ".tmp", path_));
  block_count_ -= first - 1;
  return {};
}

}  // namespace millrace::storage
