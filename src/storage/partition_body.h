// What a PartitionLog is made of.
#pragma once
#include <atomic>
#include <mutex>
#include <set>

#include "append_times.h"
#include "millrace/storage/log_directory.h"
#include "millrace/storage/partition_log.h"
#include "recovery_file.h"
#include "segment.h"

namespace millrace::storage {

inline constexpr std::string_view kEpochsFile = "leader-epoch-checkpoint";
inline constexpr std::string_view kIndexChecksFile = "millrace-index-checks";
inline constexpr int64_t kIndexChecksBytesMax = 64 << 20;
inline constexpr int64_t kIndexChecksBytesTrimmed = 64 << 10;
inline constexpr std::string_view kPartitionMetadataFile = "partition.metadata";

struct DeletedSegments {
  env::Disk* disk{};
  std::vector<std::string> paths;
};

enum class LogKind : uint8_t { partition, plain };

// A flush pass over one log: what it makes durable once the file system is synced.
struct FlushTarget {
  Offset end;
  Offset first_base;
  uint64_t cut_count{};
  bool has_new_epochs = false;
  bool has_no_producers = false;
  bool is_lost = false;  // something could not be written: the recovery point stays
  SavedIndexes indexes;
};

class PartitionLog::Body {
 public:
  Body(LogDirectory& directory, std::string name, TopicPartition partition, TopicId topic_id, LogConfig const& config,
       LogKind kind);

  // ---- Opening (partition_open.cpp)
  Status create(Offset start, Wall now);
  struct Start {
    PreviousStop stop{};
    Offset log_start;
    Offset recovery_point;
    Offset high_watermark;
    bool has_no_producers = false;  // at the recovery point
    SavedIndexes indexes;           // as of the recovery point
    std::optional<Offset> first_dirty;  // it was compacted: offsets may be missing between segments
    bool is_cache_suspect = false;      // what is read may not be on the disk
    bool kept_flush_promise = false;    // what was committed had been synced
    // Below it nothing may be missing, whatever was lost.
    Offset certain() const { return kept_flush_promise ? std::max(recovery_point, high_watermark) : recovery_point; }
  };
  Status open(Start const& start, Wall now);

  // ---- Appending (partition_log.cpp)
  Result<Appended> append(std::span<ByteView const> batches, Wall now);
  bool is_append_short(std::span<ByteView const> batches, Wall now);
  Status roll(Offset base, Wall now);
  void publish();
  void mark_dirty();
  // Appends to the side file what the index files of a closed segment hold.
  Status save_index_checks(Segment const& segment);
  // The side file is a hint: that there is no room for it is no error.
  Status save_append_times();
  std::optional<int64_t> append_time_ms(Offset offset);
  struct ProducerFiles {
    std::string snapshot;
    std::string batches;  // of the side file, which is a hint too
  };
  ProducerFiles producer_files(Offset at) const;  // with state_mutex held where others may run
  Status write_producer_files(Offset at, ProducerFiles const& files);
  Result<Offset> sync();
  // Three steps, each with io_mutex held; between them the file system is synced, without it.
  Result<FlushTarget> begin_flush();
  Status finish_flush(FlushTarget const& target);
  void complete_flush(FlushTarget const& target);
  void flush_failed();  // in one of them, for want of room: all of it is tried again
  FlushTarget flushed() const;  // the last one that was completed
  Status close_cleanly();

  // ---- Cutting (partition_cut.cpp)
  Status truncate_to(Offset offset);
  Status truncate_fully_and_start_at(Offset offset, Wall now);
  Result<RetentionResult> delete_records(Offset before, Offset high_watermark);
  Result<RetentionResult> apply_retention(Wall now, Offset high_watermark);
  void advance_log_start(Offset to);

  // ---- Compacting (compaction.cpp)
  // What lies below may be compacted.
  Result<Offset> compaction_end(Offset first, Wall now, Offset stable) const;
  Result<std::shared_ptr<DeletedSegments>> replace_segments(std::span<std::shared_ptr<Segment> const> old,
                                                            std::shared_ptr<Segment> const& fresh, uint64_t cuts);
  Status remove_files(Segment& segment);
  // The partition's directory is about to get another name, and its own may be given to a new partition.
  void retire();

  Segment& active() { return *segments.back(); }
  Segment const& active() const { return *segments.back(); }
  std::string path() const { return directory.path() + "/" + name; }
  std::string path(std::string_view file) const { return fmt::format("{}/{}/{}", directory.path(), name, file); }
  IndexRules rules() const { return {config.index_interval_bytes, config.index_bytes_max}; }
  int64_t unflushed_bytes() const;
  Offset end() const { return Offset(end_offset.load(std::memory_order_acquire)); }
  LogMark end_mark() const { return {end(), segments.back()->log_end()}; }
  Error offline_error() const;
  Status usable() const;  // io: the directory is offline; not_found: the partition was deleted
  // Takes an error of the disk: io takes the directory offline.
  Error failed(Error error, std::string_view doing);
  Status checked(Status status, std::string_view doing);

  LogDirectory& directory;
  std::string const name;  // of the partition's directory
  TopicPartition const partition;
  TopicId const topic_id;
  LogKind const kind;
  LogConfig config;
  RecoveryReport recovery;
  Offset high_watermark_at_start;
  std::weak_ptr<PartitionLog> self;

  // A step of compaction, and the end of this log. Taken before io_mutex.
  std::mutex compaction_mutex;
  // Rolls, truncations, deletions, syncs and flushes exclude each other. Taken before state_mutex.
  std::mutex io_mutex;
  // Short; between the runner and a flush, for what the flush must see as of one moment.
  mutable std::mutex state_mutex;

  std::vector<std::shared_ptr<Segment>> segments;  // runner
  std::shared_ptr<SegmentList const> published;    // state_mutex
  LeaderEpochs epochs;                             // runner writes under state_mutex
  ProducerState producers;                         // runner writes under state_mutex
  std::set<Offset> snapshots;                      // io_mutex
  AppendTimes append_times;
  std::optional<FlushTarget> closing;              // io_mutex; of close_cleanly()
  uint64_t cut_count = 0;                          // io_mutex; truncations so far
  std::atomic<int64_t> end_offset{0};
  std::atomic<int64_t> log_start{0};
  std::atomic<int64_t> log_start_wanted{0};  // by a deletion that is being made durable
  std::atomic<int64_t> durable_first_base{0};  // segments below it will not come back
  std::atomic<int64_t> recovery_point{0};
  std::atomic<int64_t> high_watermark{0};  // for the checkpoint
  std::atomic<int64_t> synced_end{0};
  std::atomic<int64_t> first_dirty{-1};  // below it compaction has been; -1: it never has
  std::atomic<bool> is_dirty{false};  // listed with the directory for the next flush
  std::atomic<int64_t> flushed_position{0};
  std::atomic<bool> is_deleted{false};
  std::atomic<bool> is_directory_unsynced{false};  // entries were made that no sync covers
  FlushTarget last_flushed;                        // state_mutex
  bool are_epochs_dirty = false;                   // state_mutex
  int64_t index_checks_bytes = 0;                  // of the side file; io_mutex
  int64_t index_checks_bytes_max = kIndexChecksBytesTrimmed;  // it is written anew at this size; io_mutex
  int64_t snapshot_position = 0;                   // log position of the newest producer snapshot; state_mutex

 private:
  bool covers(AppendTimes::Covered const& covered) const;
  bool is_roll_due(BatchHead const& head, int64_t gathered_bytes, std::optional<int64_t> first_timestamp,
                   Wall now) const;
  int64_t jitter_ms() const;
  Status sync_entries();

  // partition_open.cpp
  struct Files;
  Result<Files> list_files();
  Status finish_swaps(std::vector<env::DirectoryEntry>& entries);
  Status recover_tail(Start const& start);
  Status write_again(Segment& segment, Position from);
  Status cut_tail(size_t index, Position position, Offset end, PreviousStop stop);
  Status load_epochs();
  Status rebuild_epochs();
  Status load_index_checks();
  Status check_transaction_indexes(Start const& start);
  Status mend_transaction_indexes();
  Result<std::vector<AbortedTransaction>> find_aborted(size_t index);
  template <class OnAborted>
  Status replay(Segment& segment, Offset from, ProducerState& state, OnAborted&& on_aborted);

 public:
  // The newest usable snapshot at or below `newest`, then the batches from there on. `empty_at`: nobody had produced
  // then.
  Status load_producers(Wall now, Offset newest, std::optional<Offset> empty_at);

 private:
  // compaction.cpp
  Status trim_index_checks();

  // partition_cut.cpp
  Status lower_promises(int64_t point, int64_t mark);
  Status lower_first_dirty(Offset to);
  Status remove_snapshots_past(Offset offset);
  Status remove_producer_batches();
  Result<std::shared_ptr<DeletedSegments>> take_front(size_t count, RetentionResult& result);
  Result<size_t> count_expired(Wall now, Offset high_watermark);

  bool has_epochs_ = false;                   // a batch with an epoch was seen at the end of the log
  std::vector<size_t> damaged_transactions_;  // segments whose transaction index must be made again
  std::vector<BatchHead> heads_;              // of the append that runs; kept to save allocations
};

}  // namespace millrace::storage
