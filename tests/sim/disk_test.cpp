// Proves that the simulated disk loses, keeps and tears exactly what a real one may: synced bytes and entries always
// survive, un-synced ones in any legal subset (whole sectors, re-ordered, entries apart from content), a failed sync
// never makes its bytes durable afterwards, and a crash in the middle of a call does a part of it.
#include <gtest/gtest.h>

#include <set>

#include "sim/disk.h"

namespace millrace::sim {
namespace {

std::shared_ptr<env::File> open(env::Disk& disk, std::string const& path, env::OpenMode mode = env::OpenMode::create) {
  auto file = disk.open(path, mode);
  EXPECT_TRUE(file.ok());
  return *file;
}

Status put(env::File& file, int64_t at, std::string_view text) {
  ByteView const pieces[] = {as_bytes(text)};
  return file.write(Position(at), pieces);
}

struct SimDiskTest : testing::Test {
  DiskHost host;
};

TEST_F(SimDiskTest, a_process_crash_loses_nothing) {
  DiskImage image(Random(1));
  auto disk = image.attach(host);
  ASSERT_TRUE(disk->make_directory("/data").ok());
  ASSERT_TRUE(put(*open(*disk, "/data/a"), 0, "hello").ok());
  disk->freeze();
  EXPECT_FALSE(disk->open("/data/a", env::OpenMode::read).ok());
  auto next = image.attach(host);
  EXPECT_EQ(*next->read_file("/data/a", 100), "hello");
}

TEST_F(SimDiskTest, synced_bytes_and_entries_survive_power_loss) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    DiskImage image{Random(seed)};
    auto disk = image.attach(host);
    ASSERT_TRUE(disk->make_directory("/data").ok());
    ASSERT_TRUE(disk->sync_directory("/").ok());
    auto file = open(*disk, "/data/a");
    ASSERT_TRUE(put(*file, 0, "hello").ok());
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(disk->sync_directory("/data").ok());
    ASSERT_TRUE(put(*file, 5, std::string(5000, 'x')).ok());
    disk->freeze();
    image.power_loss();
    ASSERT_TRUE(image.content("/data/a").has_value());
    EXPECT_EQ(image.content("/data/a")->substr(0, 5), "hello");
  }
}

TEST_F(SimDiskTest, unsynced_writes_are_lost_in_many_ways) {
  int entry_lost = 0, hole = 0, whole = 0, shorter = 0, torn_inside_a_sector = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    DiskImage image{Random(seed)};
    auto disk = image.attach(host);
    auto file = open(*disk, "/a");
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(put(*file, i * 700, std::string(700, static_cast<char>('a' + i))).ok());
    disk->freeze();
    image.power_loss();
    auto const content = image.content("/a");
    if (!content) {
      ++entry_lost;
      continue;
    }
    ASSERT_LE(content->size(), 5600u);
    if (content->size() < 5600) ++shorter;
    bool const has_zero = content->find('\0') != std::string::npos;
    if (has_zero && content->back() != '\0') ++hole;
    if (content->size() == 5600 && !has_zero) ++whole;
    for (size_t i = 0; i < content->size(); ++i) {
      ASSERT_TRUE((*content)[i] == '\0' || (*content)[i] == static_cast<char>('a' + i / 700));
    }
    auto const zero = content->find('\0');
    if (zero != std::string::npos && zero % kSectorBytes != 0 && zero % 700 != 0) ++torn_inside_a_sector;
  }
  EXPECT_GT(entry_lost, 20);
  EXPECT_GT(hole, 20);
  EXPECT_GT(whole, 20);
  EXPECT_GT(shorter, 20);
  EXPECT_GT(torn_inside_a_sector, 0);
}

TEST_F(SimDiskTest, replace_file_leaves_old_or_new_content_after_a_crash_at_any_call) {
  std::set<std::string> seen;
  for (int64_t call = 1; call <= 8; ++call) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      DiskImage image{Random(seed * 100 + static_cast<uint64_t>(call))};
      image.place("/data/checkpoint", "old");
      auto disk = image.attach(host);
      disk->crash_at_call(call);
      bool const done = env::replace_file(*disk, "/data/checkpoint", "newer").ok();
      disk->freeze();
      image.power_loss();
      auto const content = image.content("/data/checkpoint");
      ASSERT_TRUE(content.has_value());
      ASSERT_TRUE(*content == "old" || *content == "newer") << *content;
      ASSERT_TRUE(!done || *content == "newer");
      seen.insert(*content);
    }
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(SimDiskTest, without_its_syncs_a_replaced_file_can_come_back_empty) {
  int broken = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    DiskImage image{Random(seed)};
    image.place("/data/checkpoint", "old");
    auto disk = image.attach(host);
    ASSERT_TRUE(put(*open(*disk, "/data/tmp"), 0, "newer").ok());
    ASSERT_TRUE(disk->rename("/data/tmp", "/data/checkpoint").ok());
    ASSERT_TRUE(disk->sync_directory("/data").ok());
    disk->freeze();
    image.power_loss();
    if (*image.content("/data/checkpoint") != "newer") ++broken;
  }
  EXPECT_GT(broken, 10);
}

TEST_F(SimDiskTest, a_failed_sync_lies_afterwards) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    DiskImage image{Random(seed)};
    auto disk = image.attach(host);
    auto file = open(*disk, "/a");
    ASSERT_TRUE(disk->sync_directory("/").ok());
    ASSERT_TRUE(put(*file, 0, std::string(4096, 'x')).ok());
    image.add_fault({.call = DiskCall::sync, .path_part = "/a"});
    ASSERT_FALSE(file->sync().ok());
    ASSERT_TRUE(file->sync().ok());
    EXPECT_EQ(image.content("/a"), std::string(4096, 'x'));  // readers still see it
    disk->freeze();
    image.power_loss();
    if (image.content("/a") != std::string(4096, 'x')) ++lost;
  }
  EXPECT_GT(lost, 20);
}

TEST_F(SimDiskTest, a_full_disk_takes_a_prefix) {
  DiskImage image(Random(1), 1000);
  auto disk = image.attach(host);
  auto file = open(*disk, "/a");
  ASSERT_TRUE(put(*file, 0, std::string(600, 'a')).ok());
  auto const status = put(*file, 600, std::string(600, 'b'));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::no_space);
  EXPECT_EQ(image.content("/a")->size(), 1000u);
  ASSERT_TRUE(file->truncate(600).ok());
  EXPECT_EQ(disk->space("/")->free_bytes, 400);
  ASSERT_TRUE(disk->remove_file("/a").ok());
  EXPECT_EQ(disk->space("/")->free_bytes, 1000);
}

TEST_F(SimDiskTest, a_read_without_waiting_stops_at_evicted_pages) {
  DiskImage image(Random(1));
  image.place("/a", std::string(10'000, 'x'));
  image.drop_cache();
  auto disk = image.attach(host);
  auto file = open(*disk, "/a", env::OpenMode::read);
  std::vector<std::byte> into(100);
  auto const cold = file->read(Position(0), into, env::Wait::no);
  ASSERT_FALSE(cold.ok());
  EXPECT_EQ(cold.error().kind, ErrorKind::would_block);
  EXPECT_FALSE(file->is_cached(Position(0), 10));
  EXPECT_EQ(*file->read(Position(0), into, env::Wait::yes), 100u);
  EXPECT_EQ(*file->read(Position(4090), into, env::Wait::no), 6u);
}

TEST_F(SimDiskTest, a_renamed_directory_moves_or_stays_whole) {
  int moved = 0, stayed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    DiskImage image{Random(seed)};
    image.place("/data/t-0/log", "records");
    auto disk = image.attach(host);
    ASSERT_TRUE(disk->rename("/data/t-0", "/data/t-0.gone-delete").ok());
    disk->freeze();
    image.power_loss();
    bool const is_old = image.content("/data/t-0/log").has_value();
    bool const is_new = image.content("/data/t-0.gone-delete/log").has_value();
    ASSERT_NE(is_old, is_new);
    ++(is_new ? moved : stayed);
  }
  EXPECT_GT(moved, 0);
  EXPECT_GT(stayed, 0);
}

TEST_F(SimDiskTest, a_lock_goes_with_its_holder) {
  DiskImage image(Random(1));
  auto disk = image.attach(host);
  auto held = disk->lock("/.lock");
  ASSERT_TRUE(held.ok());
  EXPECT_FALSE(disk->lock("/.lock").ok());
  EXPECT_EQ(disk->open_count(), 1);
  held->reset();
  EXPECT_TRUE(disk->lock("/.lock").ok());
}

}  // namespace
}  // namespace millrace::sim
