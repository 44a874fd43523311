// A disk for tests with threads: calls of a simulated disk, one at a time.
#pragma once
#include <functional>
#include <mutex>
#include <utility>

#include "sim/disk.h"

namespace millrace::storage {

class LockedDisk final : public env::Disk {
  template <class Call, class... Args>
  decltype(auto) locked(Call call, Args const&... args) {
    std::lock_guard lock(mutex_);
    return (disk_.*call)(args...);
  }

 public:
  explicit LockedDisk(env::Disk& disk) : disk_(disk) {}

  std::function<void()> after_log_read;  // what another thread does then, once

  Result<std::shared_ptr<env::File>> open(std::string const& path, env::OpenMode mode) override {
    std::lock_guard lock(mutex_);
    auto file = disk_.open(path, mode);
    if (!file) return file;
    return std::shared_ptr<env::File>(std::make_shared<LockedFile>(mutex_, *std::move(file), path.ends_with(".log") ? &after_log_read : nullptr));
  }
  Result<std::string> read_file(std::string const& path, int64_t bytes_max) override {
    return locked(&env::Disk::read_file, path, bytes_max);
  }
  Result<std::vector<env::DirectoryEntry>> list(std::string const& path) override {
    return locked(&env::Disk::list, path);
  }
  bool exists(std::string const& path) override { return locked(&env::Disk::exists, path); }
  Status rename(std::string const& from, std::string const& to) override {
    return locked(&env::Disk::rename, from, to);
  }
  Status remove_file(std::string const& path) override { return locked(&env::Disk::remove_file, path); }
  Status make_directory(std::string const& path) override { return locked(&env::Disk::make_directory, path); }
  Status remove_directory(std::string const& path) override { return locked(&env::Disk::remove_directory, path); }
  Status sync_directory(std::string const& path) override { return locked(&env::Disk::sync_directory, path); }
  Status sync_file_system(std::string const& path) override { return locked(&env::Disk::sync_file_system, path); }
  Result<env::Space> space(std::string const& path) override { return locked(&env::Disk::space, path); }
  Result<std::unique_ptr<env::DirectoryLock>> lock(std::string const& path) override {
    return locked(&env::Disk::lock, path);
  }

 private:
  class LockedFile final : public env::File {
   public:
    LockedFile(std::mutex& mutex, std::shared_ptr<env::File> file, std::function<void()>* after_read)
        : mutex_(mutex), file_(std::move(file)), after_read_(after_read) {}
    ~LockedFile() override {
      std::lock_guard lock(mutex_);
      file_.reset();
    }
    Status write(Position at, std::span<ByteView const> pieces) override {
      std::lock_guard lock(mutex_);
      return file_->write(at, pieces);
    }
    Result<size_t> read(Position at, MutableByteView into, env::Wait wait) override {
      auto got = [&] {
        std::lock_guard lock(mutex_);
        return file_->read(at, into, wait);
      }();
      if (after_read_ != nullptr && *after_read_) std::exchange(*after_read_, nullptr)();
      return got;
    }
    bool is_cached(Position at, int64_t bytes) override {
      std::lock_guard lock(mutex_);
      return file_->is_cached(at, bytes);
    }
    Result<int64_t> size() override {
      std::lock_guard lock(mutex_);
      return file_->size();
    }
    Status truncate(int64_t bytes) override {
      std::lock_guard lock(mutex_);
      return file_->truncate(bytes);
    }
    Status allocate(Position at, int64_t bytes) override {
      std::lock_guard lock(mutex_);
      return file_->allocate(at, bytes);
    }
    Status sync() override {
      std::lock_guard lock(mutex_);
      return file_->sync();
    }

   private:
    std::mutex& mutex_;
    std::shared_ptr<env::File> file_;
    std::function<void()>* after_read_;
  };

  std::mutex mutex_;
  env::Disk& disk_;
};

}  // namespace millrace::storage
