#include "disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "descriptor.h"

namespace millrace::env_os {

namespace {

constexpr size_t kPiecesPerCallMax = 256;
static_assert(kPiecesPerCallMax <= IOV_MAX);

struct OsLock final : env::DirectoryLock {
  explicit OsLock(Descriptor d) : descriptor(std::move(d)) {}
  Descriptor descriptor;
};

template <class Call>
auto retried(Call call) {
  while (true) {
    auto const result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace

Error system_error(std::string_view what, std::string_view path, int error_number) {
  auto kind = ErrorKind::io;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: kind = ErrorKind::not_found; break;
    case EEXIST:
    case ENOTEMPTY: kind = ErrorKind::exists; break;
    case ENOSPC:
    case EDQUOT: kind = ErrorKind::no_space; break;
    case EMFILE:
    case ENFILE: kind = ErrorKind::limit; break;
    case EINVAL: kind = ErrorKind::invalid; break;
    case EAGAIN: kind = ErrorKind::would_block; break;
    default: break;
  }
  char buffer[128];
  return {kind, fmt::format("{} {}: {}", what, path, ::strerror_r(error_number, buffer, sizeof buffer))};
}

OsFile::~OsFile() { ::close(descriptor_); }

Status OsFile::write(Position at, std::span<ByteView const> pieces) {
  iovec vectors[kPiecesPerCallMax];
  auto position = at.value;
  size_t skip = 0;  // bytes of the first piece that a short write has taken already
  while (!pieces.empty()) {
    size_t count = 0;
    while (count < kPiecesPerCallMax && count < pieces.size()) {
      auto const piece = count == 0 ? pieces[0].subspan(skip) : pieces[count];
      vectors[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    auto const written = retried([&] { return ::pwritev(descriptor_, vectors, static_cast<int>(count), position); });
    if (written < 0) return system_error("write to", path_, errno);
    position += written;
    skip += static_cast<size_t>(written);
    bool finished_piece = false;
    while (!pieces.empty() && skip >= pieces[0].size()) {
      skip -= pieces[0].size();
      pieces = pieces.subspan(1);
      finished_piece = true;
    }
    if (written == 0 && !finished_piece) return Error{ErrorKind::io, "write to " + path_ + ": nothing was written"};
  }
  return {};
}

Result<size_t> OsFile::read(Position at, MutableByteView into, env::Wait wait) {
  size_t total = 0;
  bool may_wait = wait == env::Wait::yes;
  while (total < into.size()) {
    iovec const vector{into.data() + total, into.size() - total};
    auto const position = at.value + static_cast<int64_t>(total);
    auto const count =
        retried([&] { return ::preadv2(descriptor_, &vector, 1, position, may_wait ? 0 : RWF_NOWAIT); });
    if (count == 0) break;
    if (count > 0) {
      total += static_cast<size_t>(count);
    } else if (errno == EAGAIN && !may_wait) {
      if (total > 0) break;
      return Error{ErrorKind::would_block, "read of " + path_ + ": not in the page cache"};
    } else if (errno == EOPNOTSUPP && !may_wait) {
      may_wait = true;  // a file system without RWF_NOWAIT, where no answer would ever come otherwise
    } else {
      return system_error("read of", path_, errno);
    }
  }
  return total;
}

bool OsFile::is_byte_cached(int64_t at) {
  std::byte byte;
  iovec const vector{&byte, 1};
  auto const count = retried([&] { return ::preadv2(descriptor_, &vector, 1, at, RWF_NOWAIT); });
  return count >= 0 || errno != EAGAIN;
}

bool OsFile::is_cached(Position at, int64_t bytes) {
  return bytes <= 0 || (is_byte_cached(at.value) && is_byte_cached(at.value + bytes - 1));
}

Result<int64_t> OsFile::size() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return system_error("stat of", path_, errno);
  return static_cast<int64_t>(status.st_size);
}

Status OsFile::truncate(int64_t bytes) {
  if (retried([&] { return ::ftruncate(descriptor_, bytes); }) != 0) return system_error("truncate", path_, errno);
  return {};
}

Status OsFile::allocate(Position at, int64_t bytes) {
  if (bytes <= 0) return {};
  auto const result = retried([&] { return ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, at.value, bytes); });
  if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return system_error("allocate in", path_, errno);
  return {};
}

Status OsFile::sync() {
  if (sync_failed_) return Error{ErrorKind::io, "sync of " + path_ + ": an earlier sync has failed"};
  if (retried([&] { return ::fdatasync(descriptor_); }) == 0) return {};
  auto error = system_error("sync of", path_, errno);
  sync_failed_ = true;
  return error;
}

OsDisk::~OsDisk() {
  for (auto const& [path, descriptor] : file_system_descriptors_) ::close(descriptor);
}

Result<std::shared_ptr<env::File>> OsDisk::open(std::string const& path, env::OpenMode mode) {
  int flags = O_CLOEXEC | O_NOFOLLOW;
  switch (mode) {
    case env::OpenMode::read: flags |= O_RDONLY; break;
    case env::OpenMode::read_write: flags |= O_RDWR; break;
    case env::OpenMode::create: flags |= O_RDWR | O_CREAT; break;
    case env::OpenMode::create_empty: flags |= O_RDWR | O_CREAT | O_TRUNC; break;
  }
  // Kafka follows links to files that are only read, so a hand-made layout keeps working.
  if (mode == env::OpenMode::read) flags &= ~O_NOFOLLOW;
  auto const descriptor = retried([&] { return ::open(path.c_str(), flags, 0644); });
  if (descriptor < 0) return system_error("open", path, errno);
  return std::shared_ptr<env::File>(std::make_shared<OsFile>(descriptor, path));
}

Result<std::string> OsDisk::read_file(std::string const& path, int64_t bytes_max) {
  MR_TRY_ASSIGN(auto file, open(path, env::OpenMode::read));
  MR_TRY_ASSIGN(auto const size, file->size());
  if (size > bytes_max) {
    return Error{ErrorKind::limit, fmt::format("read of {}: {} bytes are more than {}", path, size, bytes_max)};
  }
  std::string content;
  while (true) {  // to the end, since the reported size may be 0 (as in /proc) or change meanwhile
    auto const before = content.size();
    auto const room = std::max<size_t>(static_cast<size_t>(size) + 1, before + 512) - before;
    content.resize(before + room);
    MutableByteView const into{reinterpret_cast<std::byte*>(content.data()) + before, room};
    MR_TRY_ASSIGN(auto const count, file->read(Position(static_cast<int64_t>(before)), into));
    content.resize(before + count);
    if (static_cast<int64_t>(content.size()) > bytes_max) {
      return Error{ErrorKind::limit, fmt::format("read of {}: more than {} bytes", path, bytes_max)};
    }
    if (count < room) return content;
  }
}

Result<std::vector<env::DirectoryEntry>> OsDisk::list(std::string const& directory) {
  auto* const stream = ::opendir(directory.c_str());
  if (stream == nullptr) return system_error("list", directory, errno);
  std::unique_ptr<DIR, int (*)(DIR*)> const closing(stream, ::closedir);
  std::vector<env::DirectoryEntry> entries;
  while (true) {
    errno = 0;
    auto const* const entry = ::readdir(stream);
    if (entry == nullptr) {
      if (errno != 0) return system_error("list", directory, errno);
      break;
    }
    std::string_view const name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat status {};
    if (::fstatat(::dirfd(stream), entry->d_name, &status, 0) != 0) {
      if (errno == ENOENT) continue;  // removed meanwhile, or a link to nothing
      return system_error("stat of", fmt::format("{}/{}", directory, name), errno);
    }
    entries.push_back({std::string(name), S_ISDIR(status.st_mode), static_cast<int64_t>(status.st_size),
                       status.st_mtim.tv_sec * int64_t{1000} + status.st_mtim.tv_nsec / 1'000'000});
  }
  std::ranges::sort(entries, {}, &env::DirectoryEntry::name);
  return entries;
}

bool OsDisk::exists(std::string const& path) { return ::access(path.c_str(), F_OK) == 0; }

Status OsDisk::rename(std::string const& from, std::string const& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return system_error("rename", from + " to " + to, errno);
  return {};
}

Status OsDisk::remove_file(std::string const& path) {
  if (::unlink(path.c_str()) != 0) return system_error("remove", path, errno);
  return {};
}

Status OsDisk::make_directory(std::string const& path) {
  for (size_t end = 1; end != std::string::npos && end <= path.size();) {
    end = path.find('/', end);
    auto const parent = path.substr(0, end);
    if (::mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) return system_error("make directory", parent, errno);
    if (end != std::string::npos) ++end;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_error("make directory", path, errno);
  if (!S_ISDIR(status.st_mode)) return system_error("make directory", path, EEXIST);
  return {};
}

Status OsDisk::remove_directory(std::string const& path) {
  if (::rmdir(path.c_str()) != 0) return system_error("remove directory", path, errno);
  return {};
}

Status OsDisk::sync_directory(std::string const& directory) {
  Descriptor const descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return system_error("open directory", directory, errno);
  if (retried([&] { return ::fsync(descriptor.get()); }) != 0) return system_error("sync directory", directory, errno);
  return {};
}

Status OsDisk::sync_file_system(std::string const& directory) {
  int descriptor = -1;
  {
    std::lock_guard const lock(mutex_);
    auto const found = file_system_descriptors_.find(directory);
    if (found != file_system_descriptors_.end()) {
      descriptor = found->second;
    } else {
      descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (descriptor < 0) return system_error("open directory", directory, errno);
      file_system_descriptors_.emplace(directory, descriptor);
    }
  }
  if (retried([&] { return ::syncfs(descriptor); }) != 0) {
    return system_error("sync the file system of", directory, errno);
  }
  return {};
}

Result<env::Space> OsDisk::space(std::string const& directory) {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0) return system_error("free space of", directory, errno);
  auto const block = static_cast<int64_t>(status.f_frsize);
  return env::Space{.total_bytes = static_cast<int64_t>(status.f_blocks) * block,
                    .free_bytes = static_cast<int64_t>(status.f_bavail) * block};
}

Result<std::unique_ptr<env::DirectoryLock>> OsDisk::lock(std::string const& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!descriptor) return system_error("open", path, errno);
  // A record lock of the open file: it also excludes Kafka, which takes a POSIX record lock on the same file, and a
  // second opening within this process.
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (retried([&] { return ::fcntl(descriptor.get(), F_OFD_SETLK, &whole); }) != 0) {
    if (errno == EAGAIN || errno == EACCES) {
      return Error{ErrorKind::exists, "lock " + path + ": another process holds it"};
    }
    return system_error("lock", path, errno);
  }
  return std::unique_ptr<env::DirectoryLock>(std::make_unique<OsLock>(std::move(descriptor)));
}

}  // namespace millrace::env_os
