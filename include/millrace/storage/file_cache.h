// A bounded cache of open descriptors, one per node. A file may be evicted while it has unsynced bytes and is
// reopened for its sync; that is why a recovery point advances only after a sync of the whole file system.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "millrace/base/result.h"
#include "millrace/env/disk.h"

namespace millrace::storage {

class FileCache;

// One file that the cache may hold open. Owned by a segment; outlived by the cache and by the disk.
class CachedFile {
 public:
  CachedFile(FileCache& cache, std::string path);
  ~CachedFile();
  CachedFile(CachedFile const&) = delete;
  CachedFile& operator=(CachedFile const&) = delete;

  // Opens the file if it is not open and returns it; it stays open as long as the pointer is held. Any thread;
  // blocks when it must be opened.
  Result<std::shared_ptr<env::File>> acquire();
  // The file if it is open already, else null. Never blocks for the disk.
  std::shared_ptr<env::File> acquire_if_open();
  // Gives the cache a file that was just created.
  void adopt(std::shared_ptr<env::File> file);
  // The same for a writer: from here on there are bytes that no sync covers yet.
  Result<std::shared_ptr<env::File>> acquire_for_write();
  // Call before a sync. True: the file was evicted while dirty, so a write-back error may have been forgotten with its
  // inode, and only a sync of the whole file system tells.
  bool begin_sync();
  // The file leaves its path, which another may take: every later acquire answers not_found.
  void retire();
  // *blocks* The file leaves its path, but what it holds stays readable here for as long as this object lives. Its
  // descriptor no longer counts among the cache's.
  Status detach();
  // The file was renamed.
  void move_to(std::string path);
  std::string path() const;

 private:
  friend class FileCache;
  void drop();
  FileCache& cache_;
  std::string path_;  // the cache's mutex guards all of this
  std::shared_ptr<env::File> file_;
  std::shared_ptr<env::File> detached_;
  std::list<CachedFile*>::iterator place_{};
  bool is_retired_ = false;
  bool is_dirty_ = false;
  bool was_evicted_dirty_ = false;
};

class FileCache {
 public:
  static constexpr size_t kDescriptorsMin = 16;
  // `descriptors_max`: most files open through this cache at once, regions in flight included.
  FileCache(env::Disk& disk, size_t descriptors_max);
  FileCache(FileCache const&) = delete;
  FileCache& operator=(FileCache const&) = delete;

  env::Disk& disk() { return disk_; }
  size_t descriptors_max() const { return descriptors_max_; }
  size_t open_count() const;

  // Regions of all responses may hold at most half of the descriptors. False: none is left.
  bool take_lease();
  void return_lease();
  size_t lease_count() const;

 private:
  friend class CachedFile;
  void insert_locked(CachedFile& file, std::shared_ptr<env::File> opened);
  std::shared_ptr<env::File> evict_locked();

  env::Disk& disk_;
  size_t const descriptors_max_;
  mutable std::mutex mutex_;
  std::list<CachedFile*> recent_;  // most recently used first
  size_t lease_count_ = 0;
};

}  // namespace millrace::storage
