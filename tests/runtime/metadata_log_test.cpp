// Proves that a damaged snapshot of the metadata never becomes an image: one with flipped bytes, one that was cut short
// and an empty one make way for an older one or for the log; where neither is there, the start is refused. (RQ-10)
#include "millrace/runtime/metadata_log.h"

#include <gtest/gtest.h>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/snapshot.h"
#include "millrace/protocol/records/metadata.h"
#include "sim/disk.h"

namespace millrace::runtime {
namespace {

constexpr Wall kNow{1'700'000'000'000};
constexpr LeaderEpoch kEpoch{3};
constexpr int16_t kKraftVersion = 0;
constexpr std::string_view kDirectory = "/data/__cluster_metadata-0";

// A node of three, its disk, and what its metadata log is to hold.
class MetadataSnapshots : public testing::Test {
 protected:
  void SetUp() override {
    image_.place("/data/.exists", "");
    for (int32_t id = 1; id <= 3; ++id) {
      options_.static_voters.voters.push_back({.key = {BrokerId{id}, {}}, .endpoints = {}});
    }
    start();
  }
  void TearDown() override { leave(); }

  void leave() {
    if (disk_) disk_->freeze();
    loaded_.reset();
    directory_.reset();
    files_.reset();
    disk_.reset();
  }
  Status try_start() {
    leave();
    disk_ = image_.attach(host_);
    files_ = std::make_unique<storage::FileCache>(*disk_, 64);
    storage::LogDirectoryOptions options{.path = "/data",
                                         .cluster_id = "AAAAAAAAAAAAAAAAAAAAAQ",
                                         .node_id = BrokerId(1),
                                         .fresh_directory_id = *Uuid::parse("Ns9nb6OaQTOLpgZjiXIx6A"),
                                         .boot_id = "boot",
                                         .now = kNow,
                                         .low_space_bytes = 0,
                                         .preallocate_bytes = 0};
    MR_TRY_ASSIGN(directory_, storage::LogDirectory::open(*disk_, *files_, options));
    options_.self = {BrokerId{1}, directory_->directory_id()};
    MR_TRY_ASSIGN(auto loaded, load_metadata_log(*directory_, options_, kNow));
    loaded_ = std::move(loaded);
    return {};
  }
  void start() {
    auto const status = try_start();
    ASSERT_TRUE(status) << status.error().message;
  }

  // One batch.
  void append(metadata::RecordList const& records) {
    auto const base = loaded_->log->end().offset;
    auto const batch = build_record_batch(base, kEpoch, records, kNow);
    ByteView const view(batch);
    ASSERT_TRUE(loaded_->log->append({&view, 1}, kNow).ok());
    for (size_t i = 0; i < records.size(); ++i) {
      auto const status = told_.apply(records.values()[i].view(), base + static_cast<int64_t>(i), kEpoch, kNow.ms);
      ASSERT_TRUE(status) << status.error().message;
    }
  }
  void append_topics(int count) {
    if (loaded_->log->end().offset == Offset(0)) append(loaded_->formatted);
    for (int i = 0; i < count; ++i) {
      auto const name = fmt::format("topic-{}", topics_);
      protocol::TopicRecord r;
      r.name = name;
      r.topic_id.bytes[0] = 1;
      r.topic_id.bytes[15] = static_cast<uint8_t>(topics_++);
      metadata::RecordList records;
      records.add(r, 0);
      append(records);
    }
  }
  storage::SnapshotId take_snapshot() {
    auto const& image = told_.visible();
    storage::SnapshotId const id{image.offset + 1, image.epoch};
    auto const bytes = content_of(image);
    ByteView const view(bytes);
    EXPECT_TRUE(loaded_->log->write_snapshot(id, {&view, 1}).ok());
    return id;
  }
  Bytes content_of(metadata::Image const& image) const {
    return build_snapshot(metadata::snapshot_records(image), image.epoch, image.timestamp_ms, kKraftVersion,
                          options_.static_voters, kNow);
  }
  static std::string path(storage::SnapshotId id) {
    return fmt::format("{}/{:020}-{:010}.checkpoint", kDirectory, id.end_offset.value, id.epoch.value);
  }

  // What a damage leaves of a file: nothing, each beginning of it, and itself with one byte wrong.
  static void for_each_damage(std::string const& whole,
                              std::function<void(std::string const&, bool is_seen)> const& damage) {
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) damage(whole.substr(0, bytes), true);
    for (size_t at = 0; at < whole.size(); ++at) {
      for (auto const mask : {0x01, 0x80}) {
        auto wrong = whole;
        wrong[at] = static_cast<char>(wrong[at] ^ mask);
        damage(wrong, false);  // a batch's checksum does not cover its base offset and its leader epoch
      }
    }
  }
  void expect_image(metadata::Image const& wanted) {
    auto const& found = loaded_->replayer.visible();
    ASSERT_EQ(metadata::fingerprint(found), metadata::fingerprint(wanted));
    ASSERT_EQ(found.offset, wanted.offset);
    ASSERT_EQ(found.epoch, wanted.epoch);
  }

  sim::DiskHost host_;
  sim::DiskImage image_{Random(1)};
  std::unique_ptr<sim::SimDisk> disk_;
  std::unique_ptr<storage::FileCache> files_;
  std::unique_ptr<storage::LogDirectory> directory_;
  MetadataLogOptions options_;
  std::optional<LoadedMetadata> loaded_;
  metadata::Replayer told_;
  int topics_ = 0;
};

TEST_F(MetadataSnapshots, that_are_damaged_make_way_for_the_one_before) {
  append_topics(4);
  auto const older = take_snapshot();
  ASSERT_TRUE(loaded_->log->delete_before_snapshot(older).ok());
  append_topics(4);
  auto const newer = take_snapshot();
  append_topics(4);
  auto const whole = *image_.content(path(newer));
  int given_up = 0;
  for_each_damage(whole, [&](std::string const& bytes, bool is_seen) {
    image_.place(path(newer), bytes);
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_NO_FATAL_FAILURE(expect_image(told_.visible()));
    ASSERT_EQ(loaded_->raft.log_start.offset, older.end_offset);
    ASSERT_EQ(loaded_->raft.log_end.offset, told_.visible().offset + 1);
    if (loaded_->given_up.empty()) {
      ASSERT_FALSE(is_seen);
      ASSERT_EQ(loaded_->snapshot, newer);
      return;
    }
    ++given_up;
    ASSERT_EQ(loaded_->snapshot, older);
    ASSERT_EQ(loaded_->raft.high_watermark, older.end_offset);
    ASSERT_EQ(loaded_->given_up.size(), 1U);
    ASSERT_NE(loaded_->given_up[0].find(path(newer)), std::string::npos) << loaded_->given_up[0];
    ASSERT_FALSE(image_.content(path(newer)).has_value());  // the next start does not meet it again
  });
  EXPECT_GT(given_up, static_cast<int>(whole.size() * 2));
}

TEST_F(MetadataSnapshots, that_are_damaged_make_way_for_a_log_that_begins_at_0) {
  append_topics(4);
  auto const only = take_snapshot();
  append_topics(4);
  auto const whole = *image_.content(path(only));
  for_each_damage(whole, [&](std::string const& bytes, bool is_seen) {
    image_.place(path(only), bytes);
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_NO_FATAL_FAILURE(expect_image(told_.visible()));
    ASSERT_TRUE(!is_seen || !loaded_->given_up.empty());
    if (loaded_->given_up.empty()) return;
    ASSERT_EQ(loaded_->snapshot, std::nullopt);
    ASSERT_EQ(loaded_->raft.log_start.offset, Offset(0));
  });
}

TEST_F(MetadataSnapshots, that_are_damaged_and_have_no_stand_in_refuse_the_start) {
  append_topics(4);
  auto const older = take_snapshot();
  append_topics(4);
  auto const newer = take_snapshot();
  ASSERT_TRUE(loaded_->log->delete_before_snapshot(newer).ok());
  append_topics(2);
  ASSERT_FALSE(image_.content(path(older)).has_value());
  auto const whole = *image_.content(path(newer));
  auto const files = [&] {
    std::string out;
    for (auto const& file : image_.files()) {
      if (file.starts_with(kDirectory)) out += file + "=" + *image_.content(file) + "\n";
    }
    return out;
  };
  for_each_damage(whole, [&](std::string const& bytes, bool is_seen) {
    image_.place(path(newer), bytes);
    auto const before = files();
    auto const status = try_start();
    if (status) {
      ASSERT_FALSE(is_seen);
      ASSERT_NO_FATAL_FAILURE(expect_image(told_.visible()));
      return;
    }
    ASSERT_EQ(status.error().kind, ErrorKind::corrupt);
    ASSERT_NE(status.error().message.find(path(newer)), std::string::npos) << status.error().message;
    ASSERT_NE(status.error().message.find("fetches them anew"), std::string::npos) << status.error().message;
    ASSERT_EQ(files(), before);  // for whoever looks into it, or puts a copy back
  });
  image_.place(path(newer), whole);
  start();
  expect_image(told_.visible());
}

TEST_F(MetadataSnapshots, all_of_which_are_damaged_are_kept_and_the_newest_is_named) {
  append_topics(4);
  auto const older = take_snapshot();
  ASSERT_TRUE(loaded_->log->delete_before_snapshot(older).ok());
  append_topics(4);
  auto const newer = take_snapshot();
  image_.place(path(older), "");
  image_.place(path(newer), "");
  auto const status = try_start();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(path(newer)), std::string::npos) << status.error().message;
  EXPECT_TRUE(image_.content(path(older)).has_value());
  EXPECT_TRUE(image_.content(path(newer)).has_value());
}

// A snapshot of the leader's has its name, and the process ends before the log is reset to it.
TEST_F(MetadataSnapshots, that_arrive_damaged_do_not_take_the_logs_place) {
  append_topics(4);
  auto const before = told_.visible();
  auto const log_end = loaded_->log->end().offset;
  auto leaders = told_;
  for (int i = 0; i < 20; ++i) leaders.skip(log_end + i, kEpoch, kNow.ms);
  storage::SnapshotId const id{leaders.visible().offset + 1, kEpoch};
  auto const built = content_of(leaders.visible());
  std::string const whole(as_text(ByteView(built)));
  for_each_damage(whole, [&](std::string const& bytes, bool is_seen) {
    if (!is_seen) return;
    image_.place(path(id), bytes);
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_NO_FATAL_FAILURE(expect_image(before));
    ASSERT_EQ(loaded_->log->end().offset, log_end);
    ASSERT_EQ(loaded_->log->log_start(), Offset(0));
    ASSERT_EQ(loaded_->given_up.size(), 1U);
    ASSERT_FALSE(image_.content(path(id)).has_value());
  });
  image_.place(path(id), whole);
  start();
  EXPECT_EQ(loaded_->log->log_start(), id.end_offset);
  EXPECT_EQ(loaded_->snapshot, id);
  expect_image(leaders.visible());
}

// Before the first batch: what formats the log is in the snapshot alone.
TEST_F(MetadataSnapshots, that_bootstrap_an_empty_log_and_are_damaged_refuse_the_start) {
  auto const bootstrap = path({Offset(0), LeaderEpoch(0)});
  auto const whole = *image_.content(bootstrap);
  for (auto const& bytes : {std::string(), whole.substr(0, whole.size() - 1), std::string(whole.size(), '\0')}) {
    image_.place(bootstrap, bytes);
    auto const status = try_start();
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find(bootstrap), std::string::npos) << status.error().message;
  }
}

}  // namespace
}  // namespace millrace::runtime
