#include "millrace/storage/file_cache.h"

#include <algorithm>

#include "millrace/base/assert.h"

namespace millrace::storage {

CachedFile::CachedFile(FileCache& cache, std::string path) : cache_(cache), path_(std::move(path)) {}

CachedFile::~CachedFile() { drop(); }

Result<std::shared_ptr<env::File>> CachedFile::acquire() {
  std::string path;
  {
    std::lock_guard lock(cache_.mutex_);
    if (detached_) return detached_;
    if (is_retired_) return Error{ErrorKind::not_found, fmt::format("{} was removed", path_)};
    if (file_) {
      cache_.recent_.splice(cache_.recent_.begin(), cache_.recent_, place_);
      return file_;
    }
    path = path_;
  }
  // Opened without the lock, which others need for files that are open. Two threads may both open; one is dropped.
  MR_TRY_ASSIGN(auto opened, cache_.disk_.open(path, env::OpenMode::read_write));
  std::shared_ptr<env::File> evicted;  // closed after the lock is given back
  std::lock_guard lock(cache_.mutex_);
  if (is_retired_) return Error{ErrorKind::not_found, fmt::format("{} was removed", path_)};
  if (file_) return file_;
  evicted = cache_.evict_locked();
  cache_.insert_locked(*this, opened);
  return opened;
}

std::shared_ptr<env::File> CachedFile::acquire_if_open() {
  std::lock_guard lock(cache_.mutex_);
  if (detached_) return detached_;
  if (!file_) return nullptr;
  cache_.recent_.splice(cache_.recent_.begin(), cache_.recent_, place_);
  return file_;
}

void CachedFile::adopt(std::shared_ptr<env::File> file) {
  std::shared_ptr<env::File> evicted;
  std::lock_guard lock(cache_.mutex_);
  MR_ASSERT(!file_);
  evicted = cache_.evict_locked();
  cache_.insert_locked(*this, std::move(file));
}

Result<std::shared_ptr<env::File>> CachedFile::acquire_for_write() {
  {
    std::lock_guard lock(cache_.mutex_);
    is_dirty_ = true;
    if (file_) {
      cache_.recent_.splice(cache_.recent_.begin(), cache_.recent_, place_);
      return file_;
    }
  }
  return acquire();
}

void CachedFile::drop() {
  std::shared_ptr<env::File> closing;
  std::lock_guard lock(cache_.mutex_);
  if (!file_) return;
  cache_.recent_.erase(place_);
  closing = std::move(file_);
}

void CachedFile::retire() {
  {
    std::lock_guard lock(cache_.mutex_);
    is_retired_ = true;
  }
  drop();
}

Status CachedFile::detach() {
  MR_TRY_ASSIGN(auto file, acquire());
  {
    std::lock_guard lock(cache_.mutex_);
    detached_ = std::move(file);
    is_retired_ = true;
  }
  drop();
  return {};
}

void CachedFile::move_to(std::string path) {
  std::lock_guard lock(cache_.mutex_);
  path_ = std::move(path);
}

std::string CachedFile::path() const {
  std::lock_guard lock(cache_.mutex_);
  return path_;
}

bool CachedFile::begin_sync() {
  std::lock_guard lock(cache_.mutex_);
  is_dirty_ = false;
  return std::exchange(was_evicted_dirty_, false);
}

FileCache::FileCache(env::Disk& disk, size_t descriptors_max)
    : disk_(disk), descriptors_max_(std::max<size_t>(descriptors_max, kDescriptorsMin)) {}

size_t FileCache::open_count() const {
  std::lock_guard lock(mutex_);
  return recent_.size();
}

size_t FileCache::lease_count() const {
  std::lock_guard lock(mutex_);
  return lease_count_;
}

bool FileCache::take_lease() {
  std::lock_guard lock(mutex_);
  if (lease_count_ >= descriptors_max_ / 2) return false;
  ++lease_count_;
  return true;
}

void FileCache::return_lease() {
  std::lock_guard lock(mutex_);
  MR_ASSERT(lease_count_ > 0);
  --lease_count_;
}

void FileCache::insert_locked(CachedFile& file, std::shared_ptr<env::File> opened) {
  file.file_ = std::move(opened);
  recent_.push_front(&file);
  file.place_ = recent_.begin();
}

// Files that somebody holds are skipped: closing our pointer to them would free no descriptor.
std::shared_ptr<env::File> FileCache::evict_locked() {
  if (recent_.size() < descriptors_max_) return nullptr;
  for (auto i = recent_.end(); i != recent_.begin();) {
    --i;
    auto& file = **i;
    if (file.file_.use_count() > 1) continue;
    if (file.is_dirty_) file.was_evicted_dirty_ = true;
    recent_.erase(i);
    return std::move(file.file_);
  }
  return nullptr;
}

}  // namespace millrace::storage
