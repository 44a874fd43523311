// One segment: the log file, its offset, time and transaction index, and the regions of it that are being sent.
// The runner appends and cuts; any thread reads. `mutex_` guards the indexes and is held for memory work only, except
// while an index is read from its file for the first time.
#pragma once
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/record/batch.h"
#include "millrace/storage/file_cache.h"
#include "millrace/storage/read_view.h"
#include "recovery_file.h"

namespace millrace::storage {

// `<base offset, 20 digits>`, the stem of a segment's files.
std::string offset_file_stem(Offset base);

// The first bytes of a batch that all formats share, and what only newer ones have.
struct BatchHead {
  Offset base_offset;
  Offset last_offset;
  int64_t size_bytes{};
  int8_t magic{};
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  int64_t max_timestamp_ms = record::kNoTimestamp;
};
// From the bytes at a batch's start, at least record::kBatchHeaderBytes of them (fewer for an older format's short
// message: then kBatchPrefixBytes). corrupt: this is no batch.
Result<BatchHead> read_batch_head(ByteView bytes);

// Reads a file's batch heads one after the other, in blocks. For scans.
class BatchScanner {
 public:
  static constexpr size_t kBlockBytes = 64 * 1024;
  // Large batches are hopped over with small reads, small ones come in blocks.
  static constexpr int64_t kHopBytes = 8 * 1024;

  BatchScanner(env::File& file, Position from, Position end, size_t first_read = kBlockBytes,
               env::Wait wait = env::Wait::yes)
      : file_(file), next_(from), end_(end), read_ahead_(first_read), wait_(wait) {}

  // False: the end was reached exactly. corrupt: no whole plausible batch is at position().
  Result<bool> next(BatchHead& head);
  // The whole batch that next() gave; valid until the next call.
  Result<ByteView> bytes();
  // The first `count` bytes of it.
  Result<ByteView> prefix(size_t count);
  Position position() const { return at_; }  // of the batch that next() gave, or where it failed
  Position next_position() const { return next_; }

 private:
  Result<ByteView> window(Position from, size_t count, size_t read_ahead);

  env::File& file_;
  Position at_;
  Position next_;
  Position end_;
  size_t read_ahead_;
  env::Wait wait_;
  int64_t size_ = 0;
  std::vector<std::byte> buffer_;
  Position buffer_from_;
  size_t buffer_bytes_ = 0;
};

class Segment;

class Lease final : public env::RegionLease {
 public:
  Lease(FileCache& cache, std::shared_ptr<Segment> segment, std::shared_ptr<env::File> file, Position end);
  ~Lease() override;
  env::File& file() override { return *file_; }
  bool register_sender(void const* sender, Callback<void()> reset) override;
  void unregister_sender(void const* sender) override;
  // Resets all senders; later registrations fail.
  void revoke();
  Position end() const { return end_; }

 private:
  FileCache& cache_;
  std::shared_ptr<Segment> segment_;
  std::shared_ptr<env::File> file_;
  Position end_;
  std::recursive_mutex mutex_;  // a reset may unregister its sender at once; other threads wait for it
  bool is_revoked_ = false;
  std::vector<std::pair<void const*, Callback<void()>>> senders_;
};

struct OffsetEntry {
  int32_t relative_offset{};  // of the batch's last offset
  int32_t position{};         // of the batch
};

struct TimeEntry {
  int64_t timestamp_ms{};
  int32_t relative_offset{};
};

inline constexpr size_t kOffsetEntryBytes = 8;
inline constexpr size_t kTimeEntryBytes = 12;
inline constexpr size_t kTransactionEntryBytes = 34;
// Closed segments keep an entry for this much log in memory.
inline constexpr int32_t kClosedIndexStepBytes = 64 * 1024;
// Blocks are reserved ahead only for segments that have grown this large.
inline constexpr int64_t kPreallocateFromBytes = 256 * 1024;

// The valid entries at the front of an index file: Kafka preallocates them, so zeros may follow.
std::vector<OffsetEntry> parse_offset_index(std::string_view bytes);
std::vector<TimeEntry> parse_time_index(std::string_view bytes);
// Stops at the first entry that is none.
std::vector<AbortedTransaction> parse_transaction_index(std::string_view bytes);
std::string offset_index_bytes(std::span<OffsetEntry const> entries);
std::string time_index_bytes(std::span<TimeEntry const> entries);
std::string transaction_index_bytes(std::span<AbortedTransaction const> entries);

// Checksums of a closed segment's index files, kept in a side file (docs/log-format.md).
struct IndexChecks {
  int64_t log_bytes{};
  uint32_t offsets{};
  uint32_t times{};
  uint32_t transactions{};
  friend bool operator==(IndexChecks const&, IndexChecks const&) = default;
};

struct IndexRules {
  int64_t interval_bytes = 4096;
  int64_t bytes_max = 10 << 20;
};

class Segment : public std::enable_shared_from_this<Segment> {
 public:
  struct Found {  // on disk when the log was opened; sizes of missing files are -1
    int64_t log_bytes{};
    int64_t modified_ms{};
    int64_t index_bytes = -1;
    int64_t time_index_bytes = -1;
    int64_t transaction_index_bytes = -1;
  };

  // A segment of an existing log.
  Segment(FileCache& cache, std::string directory, Offset base, LogPosition start, Found const& found,
          IndexRules const& rules, std::string file_suffix = {});
  // *blocks* Makes the log file. The indexes come with the first save.
  static Result<std::shared_ptr<Segment>> create(FileCache& cache, std::string directory, Offset base,
                                                 LogPosition start, IndexRules const& rules, Wall now);

  // *blocks* The same under names that end in `.cleaned`: what compaction writes.
  static Result<std::shared_ptr<Segment>> create_cleaned(FileCache& cache, std::string directory, Offset base,
                                                         LogPosition start, IndexRules const& rules, Wall now);

  Offset base() const { return base_; }
  LogPosition start() const { return start_; }
  int64_t size() const { return size_.load(std::memory_order_acquire); }
  LogPosition log_end() const { return start_ + size(); }
  CachedFile& file() { return file_; }
  int64_t touched_ms() const { return touched_ms_.load(std::memory_order_relaxed); }  // last append, by the clock
  int64_t created_ms() const { return created_ms_; }
  std::string path(std::string_view suffix) const;
  std::vector<std::string> index_paths() const;
  // *blocks* Before anybody else knows this segment: its files get names with another ending, the log first.
  Status move_to(std::string suffix);

  // ---- Runner

  void set_rules(IndexRules const& rules);
  bool can_hold(Offset last) const { return last - base_ <= std::numeric_limits<int32_t>::max() && last >= base_; }
  bool are_indexes_full() const;
  // One vectored write at the end of the file; size() stays. On failure the file is cut back; `second` tells if even
  // that failed.
  std::pair<Status, Status> write(std::span<ByteView const> batches, int64_t bytes, int64_t preallocate_step);
  // Takes batches that write() put behind size() into the indexes, and then into the size.
  void account(Position at, BatchHead const& head);
  void commit(int64_t bytes, Wall now);
  void add_aborted(AbortedTransaction const& aborted);
  // The same for one that a replay finds; ignored if the index has it.
  void restore_aborted(AbortedTransaction const& aborted);
  // Of the first batch; *blocks* the first time. none: empty.
  Result<std::optional<int64_t>> first_timestamp_ms();
  bool is_first_timestamp_known() const { return first_timestamp_ms_.has_value() || size() == 0; }
  // *blocks* Readies the segment for a scan of its tail: keeps the index entries of batches that end below `offset` (of
  // others nothing is known) and returns the position of the last one (0: none). The caller accounts for the batches from
  // there on and commits; size() is that position until then.
  // `saved`: what the index files hold for certain, if that is known.
  Result<Position> begin_rescan(Offset offset, std::optional<SavedIndexes> const& saved = std::nullopt);
  // *blocks* As begin_rescan, from the front.
  void begin_full_rescan();
  void commit_found(int64_t bytes);
  // *blocks* No more appends for now: the last time index entry is made and everything saved.
  Status close_indexes();
  // Known of an index written before; ignored if the segment has another size.
  void set_checks(IndexChecks const& checks);
  // *blocks* Of the files as they are now.
  Result<IndexChecks> make_checks() const;
  // *blocks* Compares the offset and time index with what is known of them; a damaged one is made again on first use.
  Status apply_checks();
  // *blocks* False: the transaction index is damaged or lost, and replace_aborted() must follow.
  Result<bool> is_transaction_index_good(std::optional<Offset> next_base, std::optional<SavedIndexes> const& saved);
  SavedIndexes saved_indexes() const;
  void replace_aborted(std::vector<AbortedTransaction> aborted);
  // A newer segment follows: fewer index entries stay in memory, those that are saved.
  void mark_sealed();
  void mark_active();  // and no other follows any more
  // *blocks* Cuts log and indexes: nothing at or past `position` and `offset` stays. Regions past it are revoked first.
  Status truncate(Position position, Offset offset);
  Status trim_preallocation();
  // The last owner may have reserved blocks behind the end and not lived to give them back.
  void expect_preallocation() { allocated_bytes_ = size() + 1; }

  // ---- Any thread

  // *blocks* Writes index entries that no file holds yet.
  Status save_indexes();
  struct Located {
    Position position;
    bool is_past_end = false;  // no batch ends at or after the offset below the limit
    int64_t batch_bytes = 0;   // of the batch found
  };
  Result<Located> locate(Offset offset, Position limit, env::Wait wait);
  // *blocks* The first batch that ends at or past `offset`; none: there is no such batch.
  Result<std::optional<BatchHead>> head_at(Offset offset);
  // none: no batch at or past request.from below the limit.
  Result<std::optional<ReadResult>> read(ReadRequest const& request, Position limit);
  // *blocks* The largest timestamp and the last offset of its batch; -1 none.
  Result<TimestampOffset> largest_timestamp();
  // *blocks*
  Result<std::optional<TimestampOffset>> offset_for_timestamp(int64_t timestamp_ms, Offset from, Position limit);
  Result<std::optional<TimestampOffset>> offset_of_largest_timestamp(Offset from, Position limit);
  // Appends transactions that overlap [from, to); true when no later segment can add one.
  Result<bool> collect_aborted(Offset from, Offset to, env::Wait wait, std::vector<AbortedTransaction>& out);
  // First indexed offset whose batch begins at or past `position`.
  Result<std::optional<Offset>> indexed_offset_at(Position position, env::Wait wait);
  void revoke_leases_past(Position position);
  void revoke_all();  // and reads that are under way fail
  // The files are about to be removed or to leave their names, which others may take. What has been opened stays
  // readable; later calls answer not_found.
  void retire();
  // *blocks* As retire(), but reads through older views go on as before.
  Status detach();
  bool has_unsaved_indexes() const;
  size_t index_memory_bytes() const;

 private:
  friend class Lease;
  struct Hint {
    Position position;
    std::optional<Offset> last_offset;  // of the batch there, as the index says
  };
  struct Recent {
    int32_t first{};
    int32_t last{};
    int32_t position{};
    int32_t bytes{};
  };
  static constexpr size_t kRecentCount = 16;

  Result<Hint> hint_locked(Offset offset, env::Wait wait);
  Status load_offsets_locked(env::Wait wait);
  Status load_aborted_locked(env::Wait wait);
  // All entries of the time index; the first time it is compared with the log.
  Result<std::vector<TimeEntry>> times_locked();
  Status learn_times_locked();
  Status verify_times_locked(std::span<TimeEntry const> entries);
  Status rebuild_locked();
  void account_locked(Position at, BatchHead const& head);
  void append_time_locked(int64_t timestamp_ms, int32_t relative_offset);
  void thin_locked();
  void forget_loaded_locked();
  struct Tail {
    std::optional<OffsetEntry> offset;
    std::optional<TimeEntry> time;
    int64_t offset_count{};
    int64_t time_count{};
  };
  Result<std::optional<Tail>> read_tail(env::File& log, Offset offset, std::optional<SavedIndexes> const& saved);
  std::optional<Located> recent_locked(Offset offset) const;
  Position before_cut_batch(Position end) const;
  Result<Located> walk(env::File& file, Hint const& hint, Offset offset, Position limit, env::Wait wait);
  Result<std::shared_ptr<env::File>> acquire(env::Wait wait);
  struct Piece {
    Located located;
    SharedBytes bytes;  // from the located batch on; empty when only the place is known
  };
  Result<Piece> read_from_hint(env::File& file, Hint const& hint, ReadRequest const& request, Position limit);
  Result<env::Chunk> region(std::shared_ptr<env::File> file, Position at, int64_t bytes, env::Wait wait, uint32_t cuts);
  Result<std::optional<TimestampOffset>> search_batch(BatchScanner& scanner, BatchHead const& head,
                                                      int64_t timestamp_ms, Offset from);
  Error was_cut() const;
  // Content of one of the index files; a missing one is empty.
  Result<std::string> read_index_locked(std::string_view suffix) const;

  FileCache& cache_;
  Offset const base_;
  LogPosition const start_;
  std::string const directory_;
  std::string file_suffix_;  // behind all names, until the segment joins a log
  CachedFile file_;
  std::atomic<int64_t> size_{0};
  std::atomic<uint32_t> cuts_{0};  // grows with every truncation
  std::atomic<int64_t> touched_ms_{0};
  int64_t created_ms_ = 0;
  int64_t allocated_bytes_ = 0;
  std::optional<int64_t> first_timestamp_ms_;

  mutable std::mutex mutex_;
  IndexRules rules_;
  std::optional<IndexChecks> checks_;
  bool is_rebuild_due_ = false;  // an index file is missing or was found broken
  bool is_retired_ = false;
  bool is_sealed_ = false;
  bool is_scanned_ = false;        // the saved counts were found by a scan and may be less than the files hold
  bool is_files_scanned_ = false;  // the same for offset and time index, after a rebuild
  bool are_files_longer_ = true;   // index files may hold more than the saved entries
  // Offset index: the saved entries if loaded, then the unsaved ones.
  std::vector<OffsetEntry> offsets_;
  size_t offsets_unsaved_ = 0;
  int64_t offsets_saved_ = 0;
  bool are_offsets_loaded_ = false;
  // Time index: the saved entries while a lookup needs them, then the unsaved ones.
  std::vector<TimeEntry> times_unsaved_;
  int64_t times_saved_ = 0;
  std::optional<TimeEntry> last_time_;  // of both
  bool are_times_known_ = false;        // times_saved_, last_time_ and the maximum were read from the file
  bool are_times_verified_ = false;
  int64_t max_timestamp_ms_ = record::kNoTimestamp;
  int32_t max_timestamp_relative_ = 0;
  int64_t bytes_since_entry_ = 0;
  std::vector<Recent> recent_;  // the last batches appended, a ring
  size_t recent_next_ = 0;
  // Transaction index.
  std::vector<AbortedTransaction> aborted_;
  size_t aborted_unsaved_ = 0;
  bool are_aborted_loaded_ = false;

  std::mutex save_mutex_;  // one save at a time; taken before mutex_
  std::mutex leases_mutex_;
  std::vector<std::weak_ptr<Lease>> leases_;
};

class SegmentList {
 public:
  explicit SegmentList(std::vector<std::shared_ptr<Segment>> segments) : segments_(std::move(segments)) {}
  std::vector<std::shared_ptr<Segment>> const& all() const { return segments_; }
  // Index of the segment that would hold `offset`; none below the first.
  std::optional<size_t> find(Offset offset) const;

 private:
  std::vector<std::shared_ptr<Segment>> segments_;
};

}  // namespace millrace::storage
