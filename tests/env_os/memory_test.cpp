// The memory that a process may use: its control groups of either kind, each with those above it, as a container shows
// them or does not; and when what is free goes back to the system.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "../../src/env_os/memory.h"

namespace millrace::env_os {
namespace {

class Memory : public testing::Test {
 protected:
  Memory() {
    char name[] = "/tmp/millrace-memory-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~Memory() override { std::filesystem::remove_all(root_); }
  void file(std::string const& path, std::string const& content) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << content << '\n';
  }
  int64_t found() const { return memory_bytes_max(root_); }

  std::string root_;
};

TEST_F(Memory, without_control_groups_it_is_the_machines) {
  auto const machine = found();
  EXPECT_GT(machine, 64 << 20);
  file("/proc/self/cgroup", "0::/a/b");
  file("/sys/fs/cgroup/a/b/memory.max", "max");
  EXPECT_EQ(found(), machine);
  file("/sys/fs/cgroup/a/b/memory.max", "9223372036854771712");
  EXPECT_EQ(found(), machine);
  file("/sys/fs/cgroup/a/b/memory.max", "nonsense");
  EXPECT_EQ(found(), machine);
}

TEST_F(Memory, the_smallest_limit_on_the_way_up_counts) {
  file("/proc/self/cgroup", "0::/a/b");
  file("/sys/fs/cgroup/a/b/memory.max", "50000000");
  file("/sys/fs/cgroup/a/memory.max", "40000000");
  EXPECT_EQ(found(), 40'000'000);
  file("/sys/fs/cgroup/memory.max", "30000000");
  EXPECT_EQ(found(), 30'000'000);
}

TEST_F(Memory, a_path_of_the_host_leads_to_the_containers_own_root) {
  file("/proc/self/cgroup", "0::/system.slice/docker-1234.scope");
  file("/sys/fs/cgroup/memory.max", "60000000");
  EXPECT_EQ(found(), 60'000'000);
}

TEST_F(Memory, the_older_hierarchy_counts_too) {
  file("/proc/self/cgroup", "12:cpu,cpuacct:/c\n4:memory:/docker/1\n0::/");
  file("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "70000000");
  file("/sys/fs/cgroup/docker/1/memory.max", "10000000");  // not this hierarchy's
  EXPECT_EQ(found(), 70'000'000);
}

TEST(FreeMemoryWatch, gives_back_what_was_free_all_the_time) {
  constexpr auto kKept = FreeMemoryWatch::kKeptBytes;
  FreeMemoryWatch watch;
  EXPECT_FALSE(watch.look(kKept + 1));
  EXPECT_FALSE(watch.look(kKept + 1));
  EXPECT_FALSE(watch.look(kKept));  // was in use meanwhile
  EXPECT_FALSE(watch.look(10 * kKept));
  EXPECT_FALSE(watch.look(10 * kKept));
  EXPECT_TRUE(watch.look(kKept + 1));
  EXPECT_FALSE(watch.look(10 * kKept));  // counts anew
  EXPECT_FALSE(watch.look(10 * kKept));
  EXPECT_TRUE(watch.look(10 * kKept));
}

}  // namespace
}  // namespace millrace::env_os
