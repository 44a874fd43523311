// The disk of the real environment: vectored writes, short reads, errors by kind, directories, locks.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "../../src/env_os/disk.h"
#include "../../src/env_os/logger.h"
#include "millrace/env_os/os_env.h"

namespace millrace::env_os {
namespace {

class Disk : public testing::Test {
 protected:
  Disk() {
    char name[] = "/tmp/millrace-disk-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~Disk() override { std::filesystem::remove_all(root_); }
  std::string path(std::string_view name) const { return fmt::format("{}/{}", root_, name); }

  std::string root_;
  OsDisk disk_;
};

TEST_F(Disk, writes_many_pieces_and_reads_to_the_end) {
  auto file = disk_.open(path("log"), env::OpenMode::create);
  ASSERT_TRUE(file.ok());
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back(std::string(static_cast<size_t>(i % 7), static_cast<char>('a' + i % 26)));
  std::vector<ByteView> pieces;
  for (auto const& text : texts) {
    pieces.push_back(as_bytes(text));
    expected += text;
  }
  ASSERT_TRUE((*file)->write(Position(3), pieces).ok());
  EXPECT_EQ((*file)->size().value(), static_cast<int64_t>(expected.size()) + 3);
  std::string read(expected.size() + 100, '?');
  MutableByteView const into{reinterpret_cast<std::byte*>(read.data()), read.size()};
  auto count = (*file)->read(Position(3), into);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(read.substr(0, *count), expected);
  EXPECT_EQ((*file)->read(Position(1'000'000), into).value(), 0u);
  EXPECT_TRUE((*file)->is_cached(Position(0), 100));
  ASSERT_TRUE((*file)->allocate(Position(0), 1 << 20).ok());
  EXPECT_EQ((*file)->size().value(), static_cast<int64_t>(expected.size()) + 3);
  ASSERT_TRUE((*file)->truncate(5).ok());
  EXPECT_EQ((*file)->size().value(), 5);
  EXPECT_TRUE((*file)->sync().ok());
}

TEST_F(Disk, tells_errors_apart) {
  EXPECT_EQ(disk_.open(path("none"), env::OpenMode::read).error().kind, ErrorKind::not_found);
  EXPECT_EQ(disk_.read_file(path("none"), 10).error().kind, ErrorKind::not_found);
  ASSERT_TRUE(env::replace_file(disk_, path("file"), "hello world").ok());
  EXPECT_EQ(disk_.read_file(path("file"), 11).value(), "hello world");
  EXPECT_EQ(disk_.read_file(path("file"), 10).error().kind, ErrorKind::limit);
  EXPECT_EQ(disk_.make_directory(path("file")).error().kind, ErrorKind::exists);
  ASSERT_TRUE(disk_.make_directory(path("a/b/c")).ok());
  EXPECT_EQ(disk_.remove_directory(path("a")).error().kind, ErrorKind::exists);
  auto const entries = disk_.list(root_);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_TRUE((*entries)[0].is_directory);
  EXPECT_EQ((*entries)[1].bytes, 11);
  EXPECT_TRUE(disk_.sync_directory(root_).ok());
  EXPECT_TRUE(disk_.sync_file_system(root_).ok());
  EXPECT_GT(disk_.space(root_)->free_bytes, 0);
}

TEST_F(Disk, a_lock_excludes_the_second_opener_until_it_goes) {
  auto first = disk_.lock(path(".lock"));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(disk_.lock(path(".lock")).error().kind, ErrorKind::exists);
  first->reset();
  EXPECT_TRUE(disk_.lock(path(".lock")).ok());
}

TEST(Log, a_peer_cannot_forge_lines) {
  EXPECT_EQ(safe_text("a\nb\x1b[2J", 100), "a\\x0ab\\x1b[2J");
  EXPECT_EQ(safe_text("gr\xc3\xbcn \xff \xc2\x9b \xe2\x82", 100), "gr\xc3\xbcn \\xff \\xc2\\x9b \\xe2\\x82");
  EXPECT_EQ(safe_text("0123456789abc", 10), "0123456789... (3 more bytes)");
}

}  // namespace
}  // namespace millrace::env_os
