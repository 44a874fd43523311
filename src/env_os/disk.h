// Files and directories over Linux.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "millrace/env/disk.h"

namespace millrace::env_os {

// The error that a failed system call left in errno: "<what> <path>: <reason>".
Error system_error(std::string_view what, std::string_view path, int error_number);

class OsFile final : public env::File {
 public:
  OsFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~OsFile() override;
  OsFile(OsFile const&) = delete;
  OsFile& operator=(OsFile const&) = delete;

  Status write(Position at, std::span<ByteView const> pieces) override;
  Result<size_t> read(Position at, MutableByteView into, env::Wait wait) override;
  bool is_cached(Position at, int64_t bytes) override;
  Result<int64_t> size() override;
  Status truncate(int64_t bytes) override;
  Status allocate(Position at, int64_t bytes) override;
  Status sync() override;

  int descriptor() const { return descriptor_; }
  std::string const& path() const { return path_; }

 private:
  bool is_byte_cached(int64_t at);

  int const descriptor_;
  std::string const path_;
  // The kernel reports a write-back error once; a second fdatasync would claim success for bytes that are lost.
  std::atomic<bool> sync_failed_{false};
};

class OsDisk final : public env::Disk {
 public:
  OsDisk() = default;
  ~OsDisk() override;

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
  std::mutex mutex_;
  // Opened once and kept: an error of write-back is reported to descriptors that were open when it happened.
  std::map<std::string, int> file_system_descriptors_;  // guarded by mutex_
};

}  // namespace millrace::env_os
