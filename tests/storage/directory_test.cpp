// The metadata log with its snapshots, and what a log directory does with partitions that are deleted.
#include "fixture.h"
#include "millrace/storage/plain_log.h"

namespace millrace::storage {
namespace {

TEST(MetadataLog, appends_are_durable_and_snapshots_appear_whole) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *PlainLog::open(*machine.directory, {}, {}, kNow);
    Offset acknowledged(0);
    bool has_snapshot = false;
    machine.disk->crash_at_call(machine.disk->calls() + 1 + static_cast<int64_t>(seed));
    std::string const content(3000, 's');
    [&] {
      for (int i = 0; i < 10; ++i) {
        auto const batch = make_batch({.base = i * 2, .count = 2, .epoch = 1 + i / 4});
        ByteView const view(batch);
        if (!log->append({&view, 1}, kNow)) return;
        acknowledged = Offset(i * 2 + 2);
        if (i != 5) continue;
        ByteView const piece = as_bytes(content);
        if (!log->write_snapshot({Offset(8), LeaderEpoch(1)}, {&piece, 1})) return;
        has_snapshot = true;
      }
    }();
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    auto opened = PlainLog::open(*machine.directory, {}, {}, kNow);
    MR_ASSERT_OK(opened);
    log = *std::move(opened);
    EXPECT_GE(log->end().offset, acknowledged) << seed;
    if (has_snapshot) {
      ASSERT_EQ(log->snapshots().size(), 1u);
    }
    for (auto const& id : log->snapshots()) {
      std::string got(4000, '\0');
      auto const size = log->read_snapshot(id, Position(0), {reinterpret_cast<std::byte*>(got.data()), got.size()});
      MR_ASSERT_OK(size);
      EXPECT_EQ(got.substr(0, *size), content);
    }
    if (acknowledged >= Offset(10)) {
      EXPECT_EQ(log->end_of_epoch(LeaderEpoch(1)).end, Offset(8));
    }
  }
}

// A snapshot of the leader's arrives, and the process is killed before the log is reset to it.
void restart_after_arrival(Machine& machine, std::unique_ptr<PlainLog>& log, SnapshotId const& id) {
  auto download = *log->begin_download(id);
  MR_ASSERT_OK(download->append(as_bytes("whole")));
  MR_ASSERT_OK(download->finish());
  download.reset();
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  log = *PlainLog::open(*machine.directory, {}, {}, kNow);
}

TEST(MetadataLog, is_truncated_reset_to_a_snapshot_and_shortened) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *PlainLog::open(*machine.directory, {}, {.segment_bytes = 400}, kNow);
  for (int i = 0; i < 10; ++i) {
    auto const batch = make_batch({.base = i * 2, .count = 2, .epoch = 1});
    ByteView const view(batch);
    MR_ASSERT_OK(log->append({&view, 1}, kNow));
  }
  MR_ASSERT_OK(log->truncate_to(Offset(12)));
  EXPECT_EQ(log->end().offset, Offset(12));
  ByteView const piece = as_bytes("snapshot");
  MR_ASSERT_OK(log->write_snapshot({Offset(6), LeaderEpoch(1)}, {&piece, 1}));
  MR_ASSERT_OK(log->write_snapshot({Offset(10), LeaderEpoch(1)}, {&piece, 1}));
  MR_ASSERT_OK(log->delete_before_snapshot({Offset(10), LeaderEpoch(1)}));
  EXPECT_EQ(log->log_start(), Offset(10));
  EXPECT_EQ(log->snapshots(), (std::vector<SnapshotId>{{Offset(10), LeaderEpoch(1)}}));
  auto download = *log->begin_download({Offset(100), LeaderEpoch(7)});
  MR_ASSERT_OK(download->append(as_bytes("half")));
  download.reset();
  EXPECT_EQ(log->snapshots().size(), 1u);
  restart_after_arrival(machine, log, {Offset(100), LeaderEpoch(7)});
  EXPECT_EQ(log->log_start(), Offset(100));
  EXPECT_EQ(log->end().offset, Offset(100));
  EXPECT_EQ(log->epochs().latest(), (EpochStart{LeaderEpoch(7), Offset(100)}));
  EXPECT_EQ(log->snapshots(), (std::vector<SnapshotId>{{Offset(100), LeaderEpoch(7)}}));
}

// The same where the log ends past the snapshot: what was never committed lies in the place of what was.
TEST(MetadataLog, that_parts_from_a_snapshot_is_reset_when_it_opens) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *PlainLog::open(*machine.directory, {}, {}, kNow);
  auto const batch = make_batch({.count = 12, .epoch = 7});
  ByteView const view(batch);
  MR_ASSERT_OK(log->append({&view, 1}, kNow));
  restart_after_arrival(machine, log, {Offset(8), LeaderEpoch(7)});
  EXPECT_EQ(log->end().offset, Offset(12));
  restart_after_arrival(machine, log, {Offset(10), LeaderEpoch(8)});
  EXPECT_EQ(log->log_start(), Offset(10));
  EXPECT_EQ(log->end().offset, Offset(10));
  EXPECT_EQ(log->epochs().latest(), (EpochStart{LeaderEpoch(8), Offset(10)}));
}

TEST(Directory, deleted_partitions_are_gone_at_once_and_removed_later) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  auto const built = build(*log, 3);
  auto const suffix = *Uuid::parse("HJyrfyP_TYmKP4bVugTTsg");
  MR_ASSERT_OK(machine.directory->delete_log(*log, suffix));
  EXPECT_TRUE(machine.directory->partitions()->empty());
  // The name may be used again at once, and the old log neither writes nor reads there.
  auto again = machine.create();
  MR_ASSERT_OK(again);
  EXPECT_EQ((*again)->end().offset, Offset(0));
  MR_ASSERT_OK(append_next(**again, {.count = 1, .epoch = 9}));
  EXPECT_EQ(append_next(*log, {}).error().kind, ErrorKind::not_found);
  EXPECT_EQ(log->sync().error().kind, ErrorKind::not_found);
  EXPECT_EQ(log->view().read({.from = Offset(0), .bytes_max = 100, .upper = log->end()}).error().kind,
            ErrorKind::out_of_range);
  MR_EXPECT_OK(machine.flush());
  EXPECT_EQ(machine.content("leader-epoch-checkpoint"), "0\n1\n9 0\n");
  again = Error{};
  log.reset();
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->partitions()->size(), 1u);
  for (int i = 0; i < 5 && *machine.directory->remove_deleted_step(); ++i) {
  }
  for (auto const& path : machine.image.files()) EXPECT_EQ(path.find("-delete"), std::string::npos) << path;
}

TEST(Directory, names_of_partitions) {
  EXPECT_EQ(parse_partition_directory_name("a-b-3"), (TopicPartition{"a-b", 3}));
  EXPECT_FALSE(parse_partition_directory_name("a"));
  EXPECT_FALSE(parse_partition_directory_name("-1"));
  EXPECT_FALSE(parse_partition_directory_name("a-x"));
  Machine machine;
  MR_ASSERT_OK(machine.start());
  MR_ASSERT_OK(machine.disk->make_directory("/data/stranger"));
  EXPECT_EQ(machine.directory->partitions().error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace millrace::storage
