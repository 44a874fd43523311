#include "millrace/env/disk.h"

#include "millrace/env/response.h"

namespace millrace::env {

Status replace_file(Disk& disk, std::string const& path, std::string_view content) {
  auto const temporary = path + ".tmp";
  {
    MR_TRY_ASSIGN(auto file, disk.open(temporary, OpenMode::create_empty));
    ByteView const pieces[] = {as_bytes(content)};
    MR_TRY(file->write(Position(0), pieces));
    MR_TRY(file->sync());
  }
  MR_TRY(disk.rename(temporary, path));
  auto const slash = path.rfind('/');
  return disk.sync_directory(slash == std::string::npos ? "." : path.substr(0, slash));
}

int64_t Response::bytes() const {
  int64_t total = 0;
  for (auto const& chunk : chunks) {
    total += std::visit(
        [](auto const& c) -> int64_t {
          if constexpr (std::is_same_v<std::decay_t<decltype(c)>, FileRegion>) return c.bytes;
          else return static_cast<int64_t>(c.size());
        },
        chunk);
  }
  return total;
}

}  // namespace millrace::env
