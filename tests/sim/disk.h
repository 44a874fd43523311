// The simulated disk. A DiskImage belongs to a machine and survives its processes; a SimDisk is one process's view of
// it. Every file keeps what readers see and what would survive a power loss; between the two lies a log of writes,
// and a power loss applies any legal subset of it: sector by sector, re-ordered across files, the last sector torn,
// directory entries lost until their directory was synced. One thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/base/time.h"
#include "millrace/env/disk.h"

namespace millrace::sim {

inline constexpr int64_t kSectorBytes = 512;
inline constexpr int64_t kPageBytes = 4096;

enum class DiskCall {
  open, read_file, list, exists, rename, remove_file, make_directory, remove_directory, sync_directory,
  sync_file_system, space, lock, write, read, size, truncate, allocate, sync,
};
std::string_view name_of(DiskCall call);

// What a process's disk asks of the world around it. The default is a world where calls take no time.
class DiskHost {
 public:
  virtual ~DiskHost() = default;
  // Each call once, before it takes effect. `detail` is a position or size where the call has one.
  virtual void on_disk_call(DiskCall, std::string_view /*path*/, int64_t /*detail*/, ByteView /*bytes*/) {}
  virtual void add_latency(Duration) {}
  virtual Wall disk_time() { return Wall{1'700'000'000'000}; }
  // The crash armed by SimDisk::crash_at_call has come. The disk is frozen already.
  virtual void on_crash_point() {}
};

// A call of `call` on a path that contains `path_part` fails with `error`, after letting `skip` of them pass, `times`
// times. A failing sync drops its dirty pages, so that later syncs succeed and lie, as Linux does. Readers go on seeing
// their content or, as some file systems have it, what is on the platter.
struct DiskFault {
  DiskCall call{};
  std::string path_part{};
  int skip = 0;
  int times = 1;
  ErrorKind error = ErrorKind::io;
  bool forgets_pages = false;
};

struct DiskSpeed {
  Duration call = std::chrono::microseconds(3);
  Duration sync = std::chrono::microseconds(400);
  Duration cold_read = std::chrono::microseconds(150);
  Duration per_mib = std::chrono::microseconds(500);
};

class SimDisk;

namespace detail {
struct Inode;
struct Life;
}  // namespace detail

class DiskImage {
 public:
  explicit DiskImage(Random random, int64_t capacity_bytes = int64_t{1} << 40);
  ~DiskImage();

  // A new process's view. `host` must outlive it and all files opened through it.
  std::unique_ptr<SimDisk> attach(DiskHost& host);

  // The machine lost power: what was not durable is lost, kept or torn, at random. Views must be frozen or gone.
  void power_loss();
  // Nothing is in the page cache any more.
  void drop_cache();

  void add_fault(DiskFault fault) { faults_.push_back(std::move(fault)); }
  void clear_faults() { faults_.clear(); }
  void set_capacity(int64_t bytes) { capacity_bytes_ = bytes; }
  int64_t capacity_bytes() const { return capacity_bytes_; }
  int64_t used_bytes() const { return used_bytes_; }
  DiskSpeed& speed() { return speed_; }
  // Probability that a read without waiting finds its pages evicted.
  void set_eviction(double probability) { eviction_ = probability; }

  // What a reader would see now, what would certainly survive, and every path of a regular file, sorted.
  std::optional<std::string> content(std::string_view path) const;
  std::optional<std::string> durable_content(std::string_view path) const;
  std::vector<std::string> files() const;
  // Bit rot: xors `mask` into one byte of both images.
  void flip(std::string_view path, int64_t position, uint8_t mask);
  // Puts a file there as if it had been written and synced long ago.
  void place(std::string_view path, std::string_view content);
  void erase(std::string_view path);

 private:
  friend class SimDisk;
  friend class SimFile;

  struct Change {
    std::shared_ptr<detail::Inode> directory;
    std::string name;
    std::shared_ptr<detail::Inode> entry;  // null: removed
  };
  // Directory changes that happen together or not at all.
  using DirectoryOp = std::vector<Change>;

  std::shared_ptr<detail::Inode> make_inode(bool is_directory);
  std::shared_ptr<detail::Inode> find(std::string_view path, bool durable = false) const;
  void apply(DirectoryOp op);  // to the cached image, and logs it
  void make_durable(DirectoryOp const& op);
  void collect(std::shared_ptr<detail::Inode> const& inode, std::map<uint64_t, std::shared_ptr<detail::Inode>>& out) const;
  void recount();

  Random random_;
  Random latency_random_;
  int64_t capacity_bytes_;
  int64_t used_bytes_ = 0;
  DiskSpeed speed_;
  double eviction_ = 0;
  uint64_t next_inode_ = 1;
  std::shared_ptr<detail::Inode> root_;
  std::vector<DirectoryOp> pending_;  // not yet durable, in order
  std::vector<DiskFault> faults_;
  std::map<std::string, std::weak_ptr<void>, std::less<>> locks_;
};

class SimDisk final : public env::Disk {
 public:
  SimDisk(DiskImage& image, DiskHost& host);
  ~SimDisk() override;

  // From now on every call answers `cancelled` and changes nothing.
  void freeze();
  bool is_frozen() const;
  // The call with this number (from 1, counted from attach) does a part of its work, freezes the disk and tells the
  // host. 0 disarms.
  void crash_at_call(int64_t number);
  int64_t calls() const;
  // Files, locks that the process has not closed.
  int64_t open_count() const;
  // Their paths, for the message when there are some that should not be.
  std::string open_paths() const;

  Result<std::shared_ptr<env::File>> open(std::string const& path, env::OpenMode mode) override;
  Result<std::string> read_file(std::string const& path, int64_t bytes_max) override;
  Result<std::vector<env::DirectoryEntry>> list(std::string const& directory) override;
  bool exists(std::string const& path) override;
  Status rename(std::string const& from, std::string const& to) override;
  Status remove_file(std::string const& path) override;
  Status make_directory(std::string const& path) override;
  Status remove_directory(std::string const& path) override;
  Status sync_directory(std::string const& directory) override;
  Status sync_file_system(std::string const& directory) override;
  Result<env::Space> space(std::string const& directory) override;
  Result<std::unique_ptr<env::DirectoryLock>> lock(std::string const& path) override;

 private:
  std::shared_ptr<detail::Life> life_;
};

// Reads what the page cache holds, without counting as a call: the network's way of reading a file region that is
// being delivered. Returns the count; a file of another environment is read through its interface.
Result<size_t> read_for_delivery(env::File& file, Position at, MutableByteView into);

}  // namespace millrace::sim
