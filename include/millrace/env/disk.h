// Files at the level of crash semantics. All calls block and are thread-safe; who may not wait calls them from a
// pool job (Pool::run) or asks for Wait::no. In simulation a crash makes every later call of that node fail with
// ErrorKind::cancelled, and un-synced bytes and directory entries may be lost, torn or re-ordered.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/bytes/view.h"

namespace millrace::env {

enum class Wait { yes, no };
enum class OpenMode {
  read,           // must exist
  read_write,     // must exist
  create,         // made if missing; existing content stays
  create_empty,   // made if missing; truncated if there
};

class File {
 public:
  virtual ~File() = default;

  // Writes all of `pieces` at `at`, or fails; after a failure any prefix may have been written.
  virtual Status write(Position at, std::span<ByteView const> pieces) = 0;
  // Reads until `into` is full or the file ends; returns the count. With Wait::no: ErrorKind::would_block when
  // the first byte is not in the page cache, a short count when only a part is.
  virtual Result<size_t> read(Position at, MutableByteView into, Wait wait = Wait::yes) = 0;
  // True when the whole range is probably in the page cache (checks its ends). Never blocks.
  virtual bool is_cached(Position at, int64_t bytes) = 0;
  virtual Result<int64_t> size() = 0;
  virtual Status truncate(int64_t bytes) = 0;
  // Reserves blocks without changing the size; a file system that cannot do it answers ok.
  virtual Status allocate(Position at, int64_t bytes) = 0;
  // fdatasync. After a failure nothing covered by it counts as durable and it is never tried again.
  virtual Status sync() = 0;
};

struct DirectoryEntry {
  std::string name;
  bool is_directory{};
  int64_t bytes{};
  int64_t modified_ms{};
};

struct Space {
  int64_t total_bytes{};
  int64_t free_bytes{};
};

// Held for life by its owner; the lock goes with the process.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<std::shared_ptr<File>> open(std::string const& path, OpenMode mode) = 0;
  // Whole-file read of at most `bytes_max`; ErrorKind::not_found when there is none, limit when it is larger.
  virtual Result<std::string> read_file(std::string const& path, int64_t bytes_max) = 0;
  virtual Result<std::vector<DirectoryEntry>> list(std::string const& directory) = 0;  // sorted by name
  virtual bool exists(std::string const& path) = 0;
  virtual Status rename(std::string const& from, std::string const& to) = 0;  // replaces
  virtual Status remove_file(std::string const& path) = 0;
  virtual Status make_directory(std::string const& path) = 0;    // with parents; ok when there
  virtual Status remove_directory(std::string const& path) = 0;  // must be empty
  // Makes creations, renames and removals inside `directory` durable.
  virtual Status sync_directory(std::string const& directory) = 0;
  // syncfs on a descriptor opened once per log directory: reports write-back errors forgotten with an evicted inode.
  virtual Status sync_file_system(std::string const& directory) = 0;
  virtual Result<Space> space(std::string const& directory) = 0;
  virtual Result<std::unique_ptr<DirectoryLock>> lock(std::string const& path) = 0;
};

// Replaces `path` by `content` so that a crash leaves the old or the new content: write `path`.tmp, sync, rename,
// sync the directory.
Status replace_file(Disk& disk, std::string const& path, std::string_view content);

}  // namespace millrace::env
