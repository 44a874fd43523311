// What the tests of storage share: a simulated machine with one log directory, batches, and a reader of whole logs.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/record/builder.h"
#include "millrace/storage/log_directory.h"
#include "millrace/storage/partition_log.h"
#include "sim/disk.h"

namespace millrace::storage {

inline constexpr Wall kNow{1'700'000'000'000};
inline TopicId const kTopicId = *Uuid::parse("HJyrfyP_TYmKP4bVugTTsg");
inline TopicPartition const kPartition{"orders", 0};

// ASSERT for a Result or Status, with its message.
#define MR_ASSERT_OK(...)                                     \
  do {                                                        \
    auto const& mr_status = (__VA_ARGS__);                    \
    ASSERT_TRUE(mr_status.ok()) << mr_status.error().message; \
  } while (false)
#define MR_EXPECT_OK(...)                                     \
  do {                                                        \
    auto const& mr_status = (__VA_ARGS__);                    \
    EXPECT_TRUE(mr_status.ok()) << mr_status.error().message; \
  } while (false)

struct BatchSpec {
  int64_t base = 0;
  int count = 1;
  int64_t timestamp_ms = kNow.ms;  // of the first record, the others follow by 1 ms
  size_t value_bytes = 10;
  int32_t epoch = 0;
  int64_t producer_id = -1;
  int16_t producer_epoch = -1;
  int32_t sequence = -1;
  bool is_transactional = false;
};

inline std::vector<std::byte> make_batch(BatchSpec const& spec) {
  record::BatchBuilder builder({.base_offset = Offset(spec.base),
                                .leader_epoch = LeaderEpoch(spec.epoch),
                                .producer_id = ProducerId(spec.producer_id),
                                .producer_epoch = ProducerEpoch(spec.producer_epoch),
                                .base_sequence = spec.sequence,
                                .is_transactional = spec.is_transactional});
  for (int i = 0; i < spec.count; ++i) {
    std::string value(spec.value_bytes, static_cast<char>('a' + (spec.base + i) % 26));
    builder.append({.timestamp = spec.timestamp_ms + i, .key = {}, .value = as_bytes(value), .headers = {}});
  }
  return builder.build();
}

inline std::vector<std::byte> make_marker(int64_t base, int64_t producer_id, int16_t producer_epoch, bool is_commit,
                                          int32_t leader_epoch = 0) {
  return record::build_end_transaction({.base_offset = Offset(base),
                                        .leader_epoch = LeaderEpoch(leader_epoch),
                                        .producer_id = ProducerId(producer_id),
                                        .producer_epoch = ProducerEpoch(producer_epoch),
                                        .is_transactional = true},
                                       is_commit ? record::ControlType::commit : record::ControlType::abort, kNow.ms,
                                       0);
}

inline Result<Appended> append_all(PartitionLog& log, std::vector<std::vector<std::byte>> const& batches,
                                   Wall now = kNow) {
  std::vector<ByteView> views(batches.begin(), batches.end());
  return log.append(views, now);
}

inline Result<Appended> append_one(PartitionLog& log, std::vector<std::byte> const& batch, Wall now = kNow) {
  ByteView const view(batch);
  return log.append({&view, 1}, now);
}

inline Result<Appended> append_next(PartitionLog& log, BatchSpec spec, Wall now = kNow) {
  spec.base = log.end().offset.value;
  return append_one(log, make_batch(spec), now);
}

inline std::string bytes_of(env::Chunk const& chunk) {
  if (auto const* bytes = std::get_if<SharedBytes>(&chunk)) return std::string(as_text(bytes->view()));
  auto const& region = std::get<env::FileRegion>(chunk);
  std::string out(static_cast<size_t>(region.bytes), '\0');
  auto const got = region.lease->file().read(region.position, {reinterpret_cast<std::byte*>(out.data()), out.size()});
  EXPECT_TRUE(got.ok() && *got == out.size());
  return out;
}

// All bytes from `from` to the log's end, read as a follower reads them.
inline std::string read_all(PartitionLog& log, Offset from, int64_t bytes_max = 1 << 20,
                            int64_t region_bytes_min = 1 << 30) {
  std::string out;
  auto const view = log.view();
  while (from < log.end().offset) {
    auto result =
        view.read({.from = from, .bytes_max = bytes_max, .upper = log.end(), .region_bytes_min = region_bytes_min});
    if (!result) {
      ADD_FAILURE() << result.error().message;
      return out;
    }
    if (!result->records) return out;
    auto const bytes = bytes_of(*result->records);
    record::BatchReader reader(as_bytes(bytes));
    record::BatchView batch;
    size_t count = 0;
    while (reader.next(batch)) {
      from = batch.next_offset();
      ++count;
    }
    if (count == 0) {
      ADD_FAILURE() << "no whole batch at " << from.value;
      return out;
    }
    out += bytes.substr(0, reader.position());
  }
  return out;
}

inline std::string text_of(std::vector<std::byte> const& bytes) { return std::string(as_text(bytes)); }

inline constexpr std::string_view kLogPath = "/data/orders-0/00000000000000000000.log";

struct Built {
  std::string whole;
  std::vector<size_t> places;  // where each batch begins, and the end
};

// Appends `count` batches of two records each.
inline Built build(PartitionLog& log, int count, size_t value_bytes = 100) {
  Built out;
  for (int i = 0; i < count; ++i) {
    auto const batch = make_batch({.base = log.end().offset.value, .count = 2, .value_bytes = value_bytes});
    out.places.push_back(out.whole.size());
    out.whole += text_of(batch);
    auto const appended = append_one(log, batch);
    EXPECT_TRUE(appended.ok());
  }
  out.places.push_back(out.whole.size());
  return out;
}

class Machine {
 public:
  explicit Machine(uint64_t seed = 1, int64_t capacity_bytes = int64_t{1} << 40) : image(Random(seed), capacity_bytes) {
    image.place("/data/.exists", "");
  }
  ~Machine() { leave(); }

  // A process starts on the directory.
  Status start() {
    disk = image.attach(host);
    files = std::make_unique<FileCache>(*disk, descriptors_max);
    auto opened = LogDirectory::open(*disk, *files, options());
    if (!opened) return std::move(opened).error();
    directory = *std::move(opened);
    return {};
  }
  LogDirectoryOptions options() const {
    return {.path = "/data",
            .cluster_id = "AAAAAAAAAAAAAAAAAAAAAQ",
            .node_id = BrokerId(1),
            .fresh_directory_id = *Uuid::parse("Ns9nb6OaQTOLpgZjiXIx6A"),
            .boot_id = boot_id,
            .now = kNow,
            .low_space_bytes = low_space_bytes,
            .ballast_bytes = ballast_bytes,
            .preallocate_bytes = preallocate_bytes,
            .is_flush_promised = is_flush_promised};
  }
  Result<std::shared_ptr<PartitionLog>> create(LogConfig const& config = {}) {
    return directory->create_log(kPartition, kTopicId, config, kNow);
  }
  Result<std::shared_ptr<PartitionLog>> open(LogConfig const& config = {}, std::string const& name = "orders-0") {
    auto found = directory->partitions();
    if (!found) return std::move(found).error();
    for (auto const& entry : *found) {
      if (entry.name == name) return directory->open_log(entry, config, kNow);
    }
    return Error{ErrorKind::not_found, name};
  }
  // The process is killed, the machine goes on.
  void kill() {
    if (disk) disk->freeze();
    leave();
  }
  void lose_power() {
    kill();
    image.power_loss();
    boot_id = "boot-" + std::to_string(++boots_);
  }
  Status stop(PartitionLog& log) {
    auto closed = log.close_cleanly();
    if (!closed) return closed;
    return directory->stop_cleanly(7);
  }
  Status flush(Mono now = Mono{100s}) {
    auto first = directory->flush_step(now);
    if (!first) return std::move(first).error();
    auto second = directory->flush_step(now + 2s);
    if (!second) return std::move(second).error();
    return {};
  }
  void leave() {
    directory.reset();
    files.reset();
    disk.reset();
  }
  std::string content(std::string const& file) const {
    return image.content("/data/orders-0/" + file).value_or("<missing>");
  }

  sim::DiskHost host;
  sim::DiskImage image;
  std::unique_ptr<sim::SimDisk> disk;
  std::unique_ptr<FileCache> files;
  std::unique_ptr<LogDirectory> directory;
  std::string boot_id = "boot-0";
  size_t descriptors_max = 64;
  int64_t low_space_bytes = 0;
  int64_t ballast_bytes = 0;
  int64_t preallocate_bytes = 0;
  bool is_flush_promised = false;

 private:
  int boots_ = 0;
};

}  // namespace millrace::storage
