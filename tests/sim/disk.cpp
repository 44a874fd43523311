#include "sim/disk.h"

#include <algorithm>

namespace millrace::sim {

using detail::Inode;
using detail::Life;

std::string_view name_of(DiskCall call) {
  static constexpr std::string_view kNames[] = {
      "open", "read_file", "list", "exists", "rename", "remove_file", "make_directory", "remove_directory",
      "sync_directory", "sync_file_system", "space", "lock", "write", "read", "size", "truncate", "allocate", "sync"};
  return kNames[static_cast<size_t>(call)];
}

namespace detail {

// One write or truncation that is not durable yet.
struct FileOp {
  bool is_truncation{};
  int64_t at{};  // position, or the new size
  std::string bytes;
  int64_t end() const { return at + static_cast<int64_t>(bytes.size()); }
};

struct Inode {
  uint64_t number{};
  bool is_directory{};
  int64_t modified_ms{};
  // A regular file: what readers see, what is on the platter, and the way from the one to the other.
  std::string cached;
  std::string stable;
  std::vector<FileOp> pending;
  std::vector<bool> evicted;  // per page
  bool write_back_failed{};   // told once, by syncfs
  // A directory.
  std::map<std::string, std::shared_ptr<Inode>, std::less<>> entries;
  std::map<std::string, std::shared_ptr<Inode>, std::less<>> stable_entries;

  int64_t size() const { return static_cast<int64_t>(cached.size()); }
  void make_durable() {
    // `stable` may lack bytes that a failed sync dropped: those stay lost, so it is not a copy of `cached`.
    for (auto const& op : pending) {
      if (op.is_truncation) {
        stable.resize(static_cast<size_t>(op.at), '\0');
      } else {
        if (static_cast<int64_t>(stable.size()) < op.end()) stable.resize(static_cast<size_t>(op.end()), '\0');
        stable.replace(static_cast<size_t>(op.at), op.bytes.size(), op.bytes);
      }
    }
    pending.clear();
  }
};

struct Verdict {
  enum { go, fail, crash } what = go;
  Error error;
  bool forgets_pages = false;
};

struct Life {
  DiskImage* image{};
  DiskHost* host{};
  bool frozen{};
  int64_t calls{};
  int64_t crash_at{};
  int64_t open_count{};
  std::multiset<std::string> open_paths;
};

}  // namespace detail

namespace {

using detail::FileOp;
using detail::Verdict;

Error cancelled(std::string_view path) {
  return {ErrorKind::cancelled, fmt::format("disk call on {}: the node has crashed", path)};
}
Error not_found(std::string_view what, std::string_view path) {
  return {ErrorKind::not_found, fmt::format("{} {}: no such file or directory", what, path)};
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    auto const slash = path.find('/');
    auto const part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.push_back(part);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return parts;
}

std::pair<std::string_view, std::string_view> split(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  auto const slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// Content of one file after power was lost: the size as of some moment, and each sector as of some moment that this
// size allows. `keep` is how likely a single sector is to have reached the platter.
std::string after_power_loss(Inode const& inode, Random& random, double keep) {
  auto const& ops = inode.pending;
  if (ops.empty()) return inode.stable;
  size_t size_ops = ops.size();
  if (!random.chance(keep)) size_ops = random.below(ops.size() + 1);
  auto size = static_cast<int64_t>(inode.stable.size());
  size_t first = 0;  // the last truncation that the size includes: sectors are at least as new
  for (size_t i = 0; i < size_ops; ++i) {
    if (ops[i].is_truncation) {
      size = ops[i].at;
      first = i + 1;
    } else {
      size = std::max(size, ops[i].end());
    }
  }
  size_t last = ops.size();  // and not newer than the next truncation
  for (size_t i = size_ops; i < ops.size(); ++i) {
    if (ops[i].is_truncation) {
      last = i;
      break;
    }
  }
  std::string out = inode.stable;
  for (size_t i = 0; i < first; ++i) {
    if (ops[i].is_truncation && static_cast<int64_t>(out.size()) > ops[i].at) out.resize(static_cast<size_t>(ops[i].at));
  }
  out.resize(static_cast<size_t>(size), '\0');
  std::map<int64_t, std::vector<size_t>> touched;  // sector -> writes in order
  for (size_t i = first; i < last; ++i) {
    if (ops[i].is_truncation || ops[i].bytes.empty()) continue;
    for (int64_t s = ops[i].at / kSectorBytes; s <= (ops[i].end() - 1) / kSectorBytes; ++s) touched[s].push_back(i);
  }
  for (auto const& [sector, writes] : touched) {
    auto const begin = sector * kSectorBytes;
    auto const end = std::min(begin + kSectorBytes, size);
    if (begin >= end) continue;
    size_t count = writes.size();
    if (!random.chance(keep)) count = random.below(writes.size() + 1);
    bool const is_last = end == size;
    for (size_t w = 0; w < count; ++w) {
      auto const& op = ops[writes[w]];
      auto const from = std::max(begin, op.at);
      auto to = std::min(end, op.end());
      if (is_last && w + 1 == count && to > from && random.chance(0.2)) to = random.between(from, to);  // torn
      if (to > from) out.replace(static_cast<size_t>(from), static_cast<size_t>(to - from), op.bytes,
                                 static_cast<size_t>(from - op.at), static_cast<size_t>(to - from));
    }
  }
  return out;
}

// Linux marks the pages clean and forgets: some reached the platter, the rest never will.
void fail_write_back(Inode& inode, Random& random, bool forgets_pages) {
  if (inode.pending.empty()) return;
  inode.stable = after_power_loss(inode, random, 0.3);
  inode.pending.clear();
  inode.write_back_failed = true;
  if (!forgets_pages) return;
  auto const size = inode.cached.size();
  inode.cached = inode.stable;
  inode.cached.resize(size, '\0');
}

}  // namespace

DiskImage::DiskImage(Random random, int64_t capacity_bytes)
    : random_(random.fork("disk")), latency_random_(random.fork("latency")), capacity_bytes_(capacity_bytes) {
  root_ = make_inode(true);
}

DiskImage::~DiskImage() = default;

std::unique_ptr<SimDisk> DiskImage::attach(DiskHost& host) { return std::make_unique<SimDisk>(*this, host); }

std::shared_ptr<Inode> DiskImage::make_inode(bool is_directory) {
  auto inode = std::make_shared<Inode>();
  inode->number = next_inode_++;
  inode->is_directory = is_directory;
  return inode;
}

std::shared_ptr<Inode> DiskImage::find(std::string_view path, bool durable) const {
  auto at = root_;
  for (auto part : parts_of(path)) {
    if (!at->is_directory) return nullptr;
    auto const& entries = durable ? at->stable_entries : at->entries;
    auto const found = entries.find(part);
    if (found == entries.end()) return nullptr;
    at = found->second;
  }
  return at;
}

void DiskImage::apply(DirectoryOp op) {
  for (auto const& change : op) {
    auto& entries = change.directory->entries;
    if (auto const old = entries.find(change.name); old != entries.end()) {
      if (!old->second->is_directory && change.entry != old->second) used_bytes_ -= old->second->size();
      entries.erase(old);
    }
    if (change.entry) {
      entries[change.name] = change.entry;
      if (!change.entry->is_directory) used_bytes_ += change.entry->size();
    }
  }
  pending_.push_back(std::move(op));
}

void DiskImage::make_durable(DirectoryOp const& op) {
  for (auto const& change : op) {
    if (change.entry) change.directory->stable_entries[change.name] = change.entry;
    else change.directory->stable_entries.erase(change.name);
  }
}

void DiskImage::collect(std::shared_ptr<Inode> const& inode, std::map<uint64_t, std::shared_ptr<Inode>>& out) const {
  if (!out.emplace(inode->number, inode).second) return;
  for (auto const& [name, entry] : inode->entries) collect(entry, out);
  for (auto const& [name, entry] : inode->stable_entries) collect(entry, out);
}

void DiskImage::recount() {
  std::map<uint64_t, std::shared_ptr<Inode>> all;
  collect(root_, all);
  used_bytes_ = 0;
  for (auto const& [number, inode] : all) used_bytes_ += inode->size();
}

void DiskImage::power_loss() {
  std::map<uint64_t, std::shared_ptr<Inode>> all;
  collect(root_, all);
  for (auto const& op : pending_) {
    for (auto const& change : op) {
      collect(change.directory, all);
      if (change.entry) collect(change.entry, all);
    }
  }
  // Some power losses lose nothing, some everything that may go; most are in between.
  double const keeps[] = {0.0, 0.5, 0.9, 1.0};
  double const keep = keeps[random_.below(4)];
  for (auto const& [number, inode] : all) {
    if (inode->is_directory) continue;
    inode->stable = after_power_loss(*inode, random_, keep);
    inode->cached = inode->stable;
    inode->pending.clear();
    inode->write_back_failed = false;
  }
  if (random_.chance(0.5)) {  // a journal: a prefix of the changes
    size_t const count = random_.chance(keep) ? pending_.size() : random_.below(pending_.size() + 1);
    for (size_t i = 0; i < count; ++i) make_durable(pending_[i]);
  } else {
    for (auto const& op : pending_) {
      if (random_.chance(keep)) make_durable(op);
    }
  }
  pending_.clear();
  for (auto const& [number, inode] : all) inode->entries = inode->stable_entries;
  locks_.clear();
  drop_cache();
  recount();
}

void DiskImage::drop_cache() {
  std::map<uint64_t, std::shared_ptr<Inode>> all;
  collect(root_, all);
  for (auto const& [number, inode] : all) {
    inode->evicted.assign(static_cast<size_t>((inode->size() + kPageBytes - 1) / kPageBytes), true);
  }
}

std::optional<std::string> DiskImage::content(std::string_view path) const {
  auto const inode = find(path);
  if (!inode || inode->is_directory) return std::nullopt;
  return inode->cached;
}

std::optional<std::string> DiskImage::durable_content(std::string_view path) const {
  auto const inode = find(path, true);
  if (!inode || inode->is_directory) return std::nullopt;
  return inode->stable;
}

std::vector<std::string> DiskImage::files() const {
  std::vector<std::string> out;
  std::function<void(Inode const&, std::string const&)> walk = [&](Inode const& directory, std::string const& prefix) {
    for (auto const& [name, entry] : directory.entries) {
      if (entry->is_directory) walk(*entry, prefix + "/" + name);
      else out.push_back(prefix + "/" + name);
    }
  };
  walk(*root_, "");
  std::sort(out.begin(), out.end());
  return out;
}

void DiskImage::flip(std::string_view path, int64_t position, uint8_t mask) {
  auto const inode = find(path);
  MR_ASSERT(inode && !inode->is_directory);
  inode->make_durable();
  for (auto* image : {&inode->cached, &inode->stable}) {
    auto& byte = image->at(static_cast<size_t>(position));
    byte = static_cast<char>(static_cast<uint8_t>(byte) ^ mask);
  }
}

void DiskImage::place(std::string_view path, std::string_view content) {
  auto at = root_;
  auto parts = parts_of(path);
  MR_ASSERT(!parts.empty());
  auto const name = std::string(parts.back());
  parts.pop_back();
  for (auto part : parts) {
    auto& entry = at->entries[std::string(part)];
    if (!entry) entry = make_inode(true);
    at->stable_entries[std::string(part)] = entry;
    at = entry;
  }
  auto inode = make_inode(false);
  inode->cached = inode->stable = std::string(content);
  at->entries[name] = at->stable_entries[name] = inode;
  recount();
}

void DiskImage::erase(std::string_view path) {
  auto const [parent, name] = split(path);
  auto const directory = find(parent);
  MR_ASSERT(directory && directory->is_directory);
  directory->entries.erase(std::string(name));
  directory->stable_entries.erase(std::string(name));
  recount();
}

// ---------------------------------------------------------------------------------------------------------------

class SimFile final : public env::File {
 public:
  SimFile(std::shared_ptr<Life> life, std::shared_ptr<Inode> inode, std::string path, bool is_writable)
      : life_(std::move(life)), inode_(std::move(inode)), path_(std::move(path)), is_writable_(is_writable) {
    ++life_->open_count;
    life_->open_paths.insert(path_);
  }
  ~SimFile() override {
    --life_->open_count;
    life_->open_paths.erase(life_->open_paths.find(path_));
  }

  Status write(Position at, std::span<ByteView const> pieces) override;
  Result<size_t> read(Position at, MutableByteView into, env::Wait wait) override;
  bool is_cached(Position at, int64_t bytes) override;
  Result<int64_t> size() override;
  Status truncate(int64_t bytes) override;
  Status allocate(Position at, int64_t bytes) override;
  Status sync() override;

  size_t copy_out(Position at, MutableByteView into) const {
    if (at.value >= inode_->size()) return 0;
    auto const count = std::min(into.size(), static_cast<size_t>(inode_->size() - at.value));
    std::memcpy(into.data(), inode_->cached.data() + at.value, count);
    return count;
  }
  bool is_frozen() const { return life_->frozen; }

 private:
  bool page_evicted(int64_t position) const {
    auto const page = static_cast<size_t>(position / kPageBytes);
    return page < inode_->evicted.size() && inode_->evicted[page];
  }
  void bring_in(int64_t from, int64_t to) {
    for (int64_t page = from / kPageBytes; page * kPageBytes < to; ++page) {
      if (static_cast<size_t>(page) < inode_->evicted.size()) inode_->evicted[static_cast<size_t>(page)] = false;
    }
  }
  void put(int64_t at, ByteView bytes);
  void cut(int64_t bytes);

  std::shared_ptr<Life> life_;
  std::shared_ptr<Inode> inode_;
  std::string path_;
  bool is_writable_;
};

// Shared by SimDisk and SimFile: counts the call, and says whether it goes on, fails, or is the one that crashes.
struct DiskCallGate {
  static Verdict enter(Life& life, std::vector<DiskFault>& faults, DiskCall call, std::string_view path, int64_t detail,
                       ByteView bytes) {
    if (life.frozen) return {Verdict::fail, cancelled(path)};
    ++life.calls;
    life.host->on_disk_call(call, path, detail, bytes);
    if (life.crash_at != 0 && life.calls >= life.crash_at) return {Verdict::crash, cancelled(path)};
    for (auto& fault : faults) {
      if (fault.call != call || fault.times == 0 || path.find(fault.path_part) == std::string_view::npos) continue;
      if (fault.skip > 0) {
        --fault.skip;
        continue;
      }
      if (fault.times > 0) --fault.times;
      return {Verdict::fail, {fault.error, fmt::format("{} {}: injected fault", name_of(call), path)}, fault.forgets_pages};
    }
    return {};
  }
  static Error crash(Life& life, std::string_view path) {
    life.frozen = true;
    life.host->on_crash_point();
    return cancelled(path);
  }
};

namespace {

// Draws a time around `typical`, now and then ten times as long.
Duration draw(Random& random, Duration typical) {
  auto const base = typical.count() / 2 + static_cast<int64_t>(random.below(static_cast<uint64_t>(typical.count()) + 1));
  return Duration(random.chance(0.02) ? base * 10 : base);
}

}  // namespace

void SimFile::put(int64_t at, ByteView bytes) {
  if (bytes.empty()) return;
  auto const end = at + static_cast<int64_t>(bytes.size());
  auto const old_size = inode_->size();
  if (end > old_size) {
    inode_->cached.resize(static_cast<size_t>(end), '\0');
    life_->image->used_bytes_ += end - old_size;
  }
  std::memcpy(inode_->cached.data() + at, bytes.data(), bytes.size());
  inode_->pending.push_back({false, at, std::string(as_text(bytes))});
  inode_->modified_ms = life_->host->disk_time().ms;
  bring_in(at, end);
}

void SimFile::cut(int64_t bytes) {
  life_->image->used_bytes_ += bytes - inode_->size();
  inode_->cached.resize(static_cast<size_t>(bytes), '\0');
  inode_->pending.push_back({true, bytes, {}});
  inode_->modified_ms = life_->host->disk_time().ms;
}

Status SimFile::write(Position at, std::span<ByteView const> pieces) {
  std::string bytes;
  for (auto piece : pieces) bytes.append(as_text(piece));
  auto& image = *life_->image;
  auto verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::write, path_, at.value, as_bytes(bytes));
  if (life_->frozen) return verdict.error;
  MR_ASSERT(at.value >= 0);
  if (!is_writable_) return Error{ErrorKind::io, fmt::format("write {}: opened for reading", path_)};
  auto const prefix = [&] { return as_bytes(bytes).subspan(0, image.random_.below(bytes.size() + 1)); };
  if (verdict.what == Verdict::crash) {
    put(at.value, prefix());
    return DiskCallGate::crash(*life_, path_);
  }
  life_->host->add_latency(draw(image.latency_random_, image.speed_.call) +
                           image.speed_.per_mib * static_cast<int64_t>(bytes.size()) / (1 << 20));
  if (verdict.what == Verdict::fail) {
    put(at.value, prefix());
    return verdict.error;
  }
  auto const growth = at.value + static_cast<int64_t>(bytes.size()) - inode_->size();
  auto const free = image.capacity_bytes_ - image.used_bytes_;
  if (growth > 0 && growth > free) {
    auto const fits = static_cast<int64_t>(bytes.size()) - (growth - std::max<int64_t>(free, 0));
    if (fits > 0) put(at.value, as_bytes(bytes).subspan(0, static_cast<size_t>(fits)));
    return Error{ErrorKind::no_space, fmt::format("write {} bytes to {}: no space left", bytes.size(), path_)};
  }
  put(at.value, as_bytes(bytes));
  return {};
}

Result<size_t> SimFile::read(Position at, MutableByteView into, env::Wait wait) {
  auto& image = *life_->image;
  auto verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::read, path_, at.value, {});
  if (verdict.what == Verdict::crash) return DiskCallGate::crash(*life_, path_);
  if (verdict.what == Verdict::fail) return verdict.error;
  auto const end = std::min(inode_->size(), at.value + static_cast<int64_t>(into.size()));
  if (wait == env::Wait::no) {
    if (image.eviction_ > 0 && image.latency_random_.chance(image.eviction_)) {
      inode_->evicted.assign(static_cast<size_t>((inode_->size() + kPageBytes - 1) / kPageBytes), true);
    }
    int64_t cached_end = at.value;
    while (cached_end < end && !page_evicted(cached_end)) {
      cached_end = std::min(end, (cached_end / kPageBytes + 1) * kPageBytes);
    }
    if (at.value < end && cached_end == at.value) {
      return Error{ErrorKind::would_block, fmt::format("read {} at {}: not in the page cache", path_, at)};
    }
    return copy_out(at, into.subspan(0, static_cast<size_t>(std::max<int64_t>(cached_end - at.value, 0))));
  }
  bool is_cold = false;
  for (int64_t p = at.value; p < end; p = (p / kPageBytes + 1) * kPageBytes) is_cold = is_cold || page_evicted(p);
  life_->host->add_latency(draw(image.latency_random_, is_cold ? image.speed_.cold_read : image.speed_.call));
  bring_in(at.value, end);
  return copy_out(at, into);
}

bool SimFile::is_cached(Position at, int64_t bytes) {
  if (life_->frozen) return false;
  auto& image = *life_->image;
  if (image.eviction_ > 0 && image.latency_random_.chance(image.eviction_)) return false;
  return bytes <= 0 || (!page_evicted(at.value) && !page_evicted(at.value + bytes - 1));
}

Result<int64_t> SimFile::size() {
  auto verdict = DiskCallGate::enter(*life_, life_->image->faults_, DiskCall::size, path_, 0, {});
  if (verdict.what == Verdict::crash) return DiskCallGate::crash(*life_, path_);
  if (verdict.what == Verdict::fail) return verdict.error;
  return inode_->size();
}

Status SimFile::truncate(int64_t bytes) {
  auto& image = *life_->image;
  auto verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::truncate, path_, bytes, {});
  if (verdict.what == Verdict::crash) {
    if (image.random_.chance(0.5)) cut(bytes);
    return DiskCallGate::crash(*life_, path_);
  }
  if (verdict.what == Verdict::fail) return verdict.error;
  life_->host->add_latency(draw(image.latency_random_, image.speed_.call));
  if (bytes != inode_->size()) cut(bytes);
  return {};
}

Status SimFile::allocate(Position at, int64_t bytes) {
  auto& image = *life_->image;
  auto verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::allocate, path_, at.value, {});
  if (verdict.what == Verdict::crash) return DiskCallGate::crash(*life_, path_);
  if (verdict.what == Verdict::fail) return verdict.error;
  if (at.value + bytes - inode_->size() > image.capacity_bytes_ - image.used_bytes_) {
    return Error{ErrorKind::no_space, fmt::format("allocate {} bytes for {}: no space left", bytes, path_)};
  }
  return {};
}

Status SimFile::sync() {
  auto& image = *life_->image;
  auto verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::sync, path_, inode_->size(), {});
  if (verdict.what == Verdict::crash) {
    if (image.random_.chance(0.3)) inode_->make_durable();
    return DiskCallGate::crash(*life_, path_);
  }
  if (life_->frozen) return verdict.error;
  life_->host->add_latency(draw(image.latency_random_, image.speed_.sync));
  if (verdict.what == Verdict::fail) {
    fail_write_back(*inode_, image.random_, verdict.forgets_pages);
    return verdict.error;
  }
  inode_->make_durable();
  return {};
}

// ---------------------------------------------------------------------------------------------------------------

SimDisk::SimDisk(DiskImage& image, DiskHost& host) : life_(std::make_shared<Life>()) {
  life_->image = &image;
  life_->host = &host;
}
SimDisk::~SimDisk() { life_->frozen = true; }

void SimDisk::freeze() { life_->frozen = true; }
bool SimDisk::is_frozen() const { return life_->frozen; }
void SimDisk::crash_at_call(int64_t number) { life_->crash_at = number; }
int64_t SimDisk::calls() const { return life_->calls; }
int64_t SimDisk::open_count() const { return life_->open_count; }
std::string SimDisk::open_paths() const {
  std::string out;
  for (auto const& path : life_->open_paths) out += " " + path;
  return out;
}

// Counts the call; on a crash does `part` of its work with some luck; returns from the calling function unless the
// call goes on.
#define MR_SIM_ENTER(which, path, part)                                                                 \
  auto& image = *life_->image;                                                                          \
  if (auto verdict = DiskCallGate::enter(*life_, image.faults_, which, path, 0, {}); verdict.what != Verdict::go) { \
    if (verdict.what == Verdict::fail) return verdict.error;                                            \
    if (image.random_.chance(0.5)) part;                                                                \
    return DiskCallGate::crash(*life_, path);                                                           \
  }                                                                                                     \
  life_->host->add_latency(draw(image.latency_random_, image.speed_.call))

Result<std::shared_ptr<env::File>> SimDisk::open(std::string const& path, env::OpenMode mode) {
  auto& image = *life_->image;
  auto verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::open, path, static_cast<int64_t>(mode), {});
  if (verdict.what == Verdict::fail) return verdict.error;
  bool const makes = mode == env::OpenMode::create || mode == env::OpenMode::create_empty;
  bool const is_crash = verdict.what == Verdict::crash;
  if (is_crash && (!makes || image.random_.chance(0.5))) return DiskCallGate::crash(*life_, path);
  life_->host->add_latency(draw(image.latency_random_, image.speed_.call));
  auto inode = image.find(path);
  if (inode && inode->is_directory) return Error{ErrorKind::io, fmt::format("open {}: is a directory", path)};
  if (!inode) {
    auto const [parent, name] = split(path);
    auto const directory = image.find(parent);
    if (!makes || !directory || !directory->is_directory) return not_found("open", path);
    inode = image.make_inode(false);
    inode->modified_ms = life_->host->disk_time().ms;
    image.apply({{directory, std::string(name), inode}});
  } else if (mode == env::OpenMode::create_empty && inode->size() > 0) {
    image.used_bytes_ -= inode->size();
    inode->cached.clear();
    inode->pending.push_back({true, 0, {}});
  }
  if (is_crash) return DiskCallGate::crash(*life_, path);
  return std::shared_ptr<env::File>(std::make_shared<SimFile>(life_, inode, path, mode != env::OpenMode::read));
}

Result<std::string> SimDisk::read_file(std::string const& path, int64_t bytes_max) {
  MR_SIM_ENTER(DiskCall::read_file, path, {});
  auto const inode = image.find(path);
  if (!inode) return not_found("read", path);
  if (inode->is_directory) return Error{ErrorKind::io, fmt::format("read {}: is a directory", path)};
  if (inode->size() > bytes_max) {
    return Error{ErrorKind::limit, fmt::format("read {}: {} bytes, more than {}", path, inode->size(), bytes_max)};
  }
  return inode->cached;
}

Result<std::vector<env::DirectoryEntry>> SimDisk::list(std::string const& path) {
  MR_SIM_ENTER(DiskCall::list, path, {});
  auto const directory = image.find(path);
  if (!directory) return not_found("list", path);
  if (!directory->is_directory) return Error{ErrorKind::io, fmt::format("list {}: not a directory", path)};
  std::vector<env::DirectoryEntry> out;
  for (auto const& [name, entry] : directory->entries) {
    out.push_back({name, entry->is_directory, entry->size(), entry->modified_ms});
  }
  return out;
}

bool SimDisk::exists(std::string const& path) {
  auto& image = *life_->image;
  auto const verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::exists, path, 0, {});
  if (verdict.what == Verdict::crash) static_cast<void>(DiskCallGate::crash(*life_, path));
  return verdict.what == Verdict::go && image.find(path) != nullptr;
}

Status SimDisk::rename(std::string const& from, std::string const& to) {
  auto const [from_parent, from_name] = split(from);
  auto const [to_parent, to_name] = split(to);
  auto const act = [&, fp = from_parent, fn = from_name, tp = to_parent, tn = to_name]() -> Status {
    auto& target = *life_->image;
    auto const inode = target.find(from);
    auto const source_directory = target.find(fp);
    auto const target_directory = target.find(tp);
    if (!inode || !source_directory || !target_directory || !target_directory->is_directory) {
      return not_found("rename", from);
    }
    if (auto const old = target.find(to); old && old != inode && old->is_directory && !old->entries.empty()) {
      return Error{ErrorKind::exists, fmt::format("rename {} to {}: target directory is not empty", from, to)};
    }
    if (target.find(to) == inode) return {};
    target.apply({{source_directory, std::string(fn), nullptr}, {target_directory, std::string(tn), inode}});
    return {};
  };
  MR_SIM_ENTER(DiskCall::rename, from, static_cast<void>(act()));
  return act();
}

Status SimDisk::remove_file(std::string const& path) {
  auto const act = [&]() -> Status {
    auto const inode = life_->image->find(path);
    if (!inode) return not_found("remove", path);
    if (inode->is_directory) return Error{ErrorKind::io, fmt::format("remove {}: is a directory", path)};
    auto const [parent, name] = split(path);
    life_->image->apply({{life_->image->find(parent), std::string(name), nullptr}});
    return {};
  };
  MR_SIM_ENTER(DiskCall::remove_file, path, static_cast<void>(act()));
  return act();
}

Status SimDisk::make_directory(std::string const& path) {
  MR_SIM_ENTER(DiskCall::make_directory, path, {});
  auto at = image.root_;
  for (auto part : parts_of(path)) {
    auto const found = at->entries.find(part);
    if (found != at->entries.end()) {
      if (!found->second->is_directory) {
        return Error{ErrorKind::exists, fmt::format("make directory {}: a file is in the way", path)};
      }
      at = found->second;
      continue;
    }
    auto made = image.make_inode(true);
    image.apply({{at, std::string(part), made}});
    at = made;
  }
  return {};
}

Status SimDisk::remove_directory(std::string const& path) {
  auto const act = [&]() -> Status {
    auto const inode = life_->image->find(path);
    if (!inode || !inode->is_directory) return not_found("remove directory", path);
    if (!inode->entries.empty()) return Error{ErrorKind::exists, fmt::format("remove directory {}: not empty", path)};
    auto const [parent, name] = split(path);
    life_->image->apply({{life_->image->find(parent), std::string(name), nullptr}});
    return {};
  };
  MR_SIM_ENTER(DiskCall::remove_directory, path, static_cast<void>(act()));
  return act();
}

Status SimDisk::sync_directory(std::string const& path) {
  auto const act = [&]() -> Status {
    auto& target = *life_->image;
    auto const directory = target.find(path);
    if (!directory || !directory->is_directory) return not_found("sync directory", path);
    std::vector<DiskImage::DirectoryOp> kept;
    for (auto& op : target.pending_) {
      bool const touches =
          std::any_of(op.begin(), op.end(), [&](auto const& change) { return change.directory == directory; });
      if (touches) target.make_durable(op);
      else kept.push_back(std::move(op));
    }
    target.pending_ = std::move(kept);
    return {};
  };
  MR_SIM_ENTER(DiskCall::sync_directory, path, static_cast<void>(act()));
  life_->host->add_latency(draw(image.latency_random_, image.speed_.sync));
  return act();
}

Status SimDisk::sync_file_system(std::string const& directory) {
  auto& image = *life_->image;
  auto const verdict = DiskCallGate::enter(*life_, image.faults_, DiskCall::sync_file_system, directory, 0, {});
  if (verdict.what == Verdict::crash) return DiskCallGate::crash(*life_, directory);
  if (life_->frozen) return verdict.error;
  life_->host->add_latency(draw(image.latency_random_, image.speed_.sync * 2));
  std::map<uint64_t, std::shared_ptr<Inode>> all;
  image.collect(image.root_, all);
  if (verdict.what == Verdict::fail) {
    for (auto const& [number, inode] : all) {
      if (image.random_.chance(0.5)) fail_write_back(*inode, image.random_, verdict.forgets_pages);
      inode->write_back_failed = false;  // it has been told
    }
    return verdict.error;
  }
  bool has_failed = false;
  for (auto const& [number, inode] : all) {
    inode->make_durable();
    has_failed = has_failed || inode->write_back_failed;
    inode->write_back_failed = false;
  }
  for (auto const& op : image.pending_) image.make_durable(op);
  image.pending_.clear();
  if (has_failed) return Error{ErrorKind::io, fmt::format("sync file system of {}: an earlier write-back failed", directory)};
  return {};
}

Result<env::Space> SimDisk::space(std::string const& directory) {
  MR_SIM_ENTER(DiskCall::space, directory, {});
  return env::Space{image.capacity_bytes_, std::max<int64_t>(0, image.capacity_bytes_ - image.used_bytes_)};
}

Result<std::unique_ptr<env::DirectoryLock>> SimDisk::lock(std::string const& path) {
  struct Held final : env::DirectoryLock {
    std::shared_ptr<void> token;
    std::shared_ptr<Life> life;
    ~Held() override { --life->open_count; }
  };
  MR_SIM_ENTER(DiskCall::lock, path, {});
  if (auto const found = image.locks_.find(path); found != image.locks_.end() && !found->second.expired()) {
    return Error{ErrorKind::exists, fmt::format("lock {}: held by another process", path)};
  }
  auto const [parent, name] = split(path);
  auto const directory = image.find(parent);
  if (!directory || !directory->is_directory) return not_found("lock", path);
  if (!image.find(path)) image.apply({{directory, std::string(name), image.make_inode(false)}});
  auto held = std::make_unique<Held>();
  held->token = std::make_shared<int>(0);
  held->life = life_;
  ++life_->open_count;
  image.locks_[path] = held->token;
  return std::unique_ptr<env::DirectoryLock>(std::move(held));
}

#undef MR_SIM_ENTER

Result<size_t> read_for_delivery(env::File& file, Position at, MutableByteView into) {
  if (auto* simulated = dynamic_cast<SimFile*>(&file)) {
    if (simulated->is_frozen()) return cancelled("a file region");
    return simulated->copy_out(at, into);
  }
  return file.read(at, into);
}

}  // namespace millrace::sim
