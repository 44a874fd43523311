// What a LogDirectory is made of.
#pragma once
#include <deque>

#include "checkpoint_text.h"
#include "millrace/storage/log_directory.h"
#include "millrace/storage/partition_log.h"
#include "recovery_file.h"

namespace millrace::storage {

struct LogDirectory::Body {
  // What the checkpoint files say of partitions that are not open, and of open ones as of the last write.
  struct Known {
    Offset recovery_point;
    Offset log_start;
    Offset high_watermark;
    bool is_plain = false;          // not in Kafka's checkpoint files
    bool has_no_producers = false;  // as of the recovery point, as are the indexes
    std::optional<Offset> first_dirty;  // it was compacted, by us or by Kafka: offsets may be missing anywhere
    SavedIndexes indexes;
    std::weak_ptr<PartitionLog> log;
  };

  void add_dirty(std::weak_ptr<PartitionLog> log);
  // Under `mutex`.
  void forget(TopicPartition const& partition);
  void not_stale(std::map<TopicPartition, uint8_t> const& written_without, uint8_t file);

  std::unique_ptr<env::DirectoryLock> lock;
  mutable std::mutex mutex;
  std::map<TopicPartition, Known> known;
  std::vector<std::weak_ptr<PartitionLog>> dirty;
  Mono dirty_since{};
  Mono last_now{};
  Mono next_checkpoint{};
  // Partitions that are gone although a checkpoint file may still speak of them, and which files may. A new log of the
  // same name must find nothing there after a crash: an old log start above its end would empty it.
  static constexpr uint8_t kStaleRecoveryPoint = 1, kStaleLogStart = 2, kStaleHighWatermark = 4,
                           kStaleCleaned = 8;
  std::map<TopicPartition, uint8_t> stale;
  std::deque<std::string> deleted_names;   // directories that wait for their removal
  std::string offline_reason;
  std::function<void(std::string const&)> on_offline;

  std::mutex flush_mutex;       // one flush pass at a time
  std::mutex promise_mutex;
  std::mutex write_back_mutex;
  bool is_write_back_checked = false;  // write_back_mutex
  std::mutex checkpoint_mutex;  // one writer of checkpoint files at a time; taken before `mutex`
  std::string last_log_starts, last_high_watermarks, last_recovery_points, last_recovery,
      last_cleaned;
};

}  // namespace millrace::storage
