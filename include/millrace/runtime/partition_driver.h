// The driver of one partition replica: runs the replication machine against its log. Appends that gather are checked
// against producer state and written together; replies wait for the marks; readers use what it publishes.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "millrace/base/fifo.h"
#include "millrace/base/ids.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/protocol/errors.h"
#include "millrace/replication/partition.h"
#include "millrace/runtime/driver.h"
#include "millrace/runtime/fetch_wait.h"
#include "millrace/runtime/pause_watch.h"
#include "millrace/runtime/topic_config.h"
#include "millrace/storage/compaction.h"
#include "millrace/storage/log_directory.h"
#include "millrace/storage/partition_log.h"

namespace millrace::runtime {

enum class PartitionStatus : uint8_t {
  opening,   // its log is being opened or recovered; requests wait
  leader,
  follower,  // or without a leader
  offline,   // its log directory failed
  deleted,
};

struct AppendAnswer {
  ErrorCode error = ErrorCode::none;
  Offset base_offset{-1};
  int64_t append_time_ms = -1;   // of a duplicate: the timestamp of what it repeats
  Offset log_start_offset{-1};
};

// Who asked for appends. Called by whichever thread runs the partition's driver.
class AppendSink {
 public:
  virtual ~AppendSink() = default;
  // The batch is in the log at that offset, committed or not. Comes before on_answer; never for a refused one.
  virtual void on_written(uint32_t index, Offset base_offset) { static_cast<void>(index), static_cast<void>(base_offset); }
  // The batch is in the log, or repeats one that is, but its answer has to wait: what follows it may start.
  virtual void on_appended(uint32_t index) = 0;
  // Exactly once.
  virtual void on_answer(uint32_t index, AppendAnswer const& answer) = 0;
};

struct AppendRequest {
  std::shared_ptr<AppendSink> sink;  // keeps the batch's bytes alive until it is answered
  uint32_t index = 0;                // the sink's number for this part
  MutableByteView batch;             // one valid magic 2 batch; its offset and epoch are written in place
  int64_t append_time_ms = -1;       // what the answer says of it; -1 for create time
  bool wants_all_replicas = false;   // acks=all
  storage::ClaimOrigin origin = storage::ClaimOrigin::client;
};

// A Fetch that another replica has sent.
struct ReplicaFetch {
  BrokerId replica;
  int64_t broker_epoch = -1;  // -1: it does not say
  LeaderEpoch leader_epoch{-1};
  Offset offset;
  LeaderEpoch last_fetched_epoch{-1};
  Offset log_start{-1};
};

// Where this replica, a follower, goes on fetching.
struct FetchPosition {
  LeaderEpoch leader_epoch;
  Offset offset;
  LeaderEpoch last_epoch;  // of the record before it
  Offset log_start;
  friend bool operator==(FetchPosition const&, FetchPosition const&) = default;
};

// What the leader answered to this replica's Fetch at `asked`.
struct FetchedPart {
  FetchPosition asked;
  Offset high_watermark;
  Offset log_start;
  std::optional<replication::EpochEnd> diverging;
  SharedBytes records;  // whole batches, perhaps with a piece of another behind them
};

struct FollowAnswer {
  enum class What : uint8_t {
    fetch,  // go on from `next`
    retry,  // from `next`, after a while: something is wrong
    leave,  // this replica follows nobody in the epoch that was asked about
  };
  What what = What::leave;
  FetchPosition next;
};
using FollowDone = Callback<void(FollowAnswer)>;

// Where a leader's wish for another ISR goes. Called by whichever thread runs the partition's driver.
class IsrChangeSink {
 public:
  virtual ~IsrChangeSink() = default;
  virtual void change_isr(std::shared_ptr<class PartitionDriver> partition, replication::IsrChange change) = 0;
};

// How a partition does as its leader sees it, for figures.
struct ReplicationFigures {
  int32_t replicas = 0;  // 0: not a leader
  int32_t in_sync = 0;
  bool is_under_min_in_sync = false;
  int64_t lag_max = 0;  // records that the slowest live follower has not
};

// What does not change while the log is open.
struct PartitionIdentity {
  TopicIdPartition id;
  TopicPartition name;
  std::string text;  // "orders-3"
};

class PartitionDriver final : public Driver {
 public:
  static constexpr size_t kQueuedAppendsMax = 16'384;
  static constexpr int64_t kQueuedAppendBytesMax = 256LL << 20;
  static constexpr int64_t kGatheredBytesMax = 16LL << 20;    // one write
  static constexpr int64_t kRunAtOnceBytes = 256LL << 10;     // more than this does not wait for the turn's end
  static constexpr size_t kBatchEndsMax = 4096;               // remembered between mark and end

  static constexpr size_t kDeletionsWaitingMax = 1024;        // record deletions that wait for other replicas
  static constexpr auto kGapMax = 10s;                        // for batches that were refused for now to come again
  static constexpr auto kRefusalLogEvery = 1s;                // a client may send thousands of wrong sequences a second

  PartitionDriver(env::Env& env, PartitionIdentity identity, TopicConfigPtr config);
  ~PartitionDriver() override;

  PartitionIdentity const& identity() const { return identity_; }

  // ---- Any thread, without the driver

  PartitionStatus status() const { return status_.load(std::memory_order_acquire); }
  storage::Marks marks() const { return marks_.read(); }
  // Only once the status has left `opening`.
  storage::ReadView view() const { return log_->view(); }
  storage::LogDirectory& directory() const { return log_->directory(); }
  std::shared_ptr<storage::LeaderEpochs const> epochs() const;
  TopicConfigPtr config() const;
  // Where a reader of that kind must stop.
  storage::LogMark read_limit(ReadLimit limit, storage::Marks const& marks);
  // What a request that names a leader epoch (-1: none) is answered when it is not served.
  ErrorCode check_leader(LeaderEpoch request_epoch) const;
  // The same for a consumer that may read from a follower.
  ErrorCode check_replica(LeaderEpoch request_epoch) const;
  // It leads, but this process did not run for a while: another replica may lead, and its marks may be old.
  bool may_be_superseded(Mono now) const;
  ReplicationFigures replication_figures() const;
  // Who follows, and how far it is; empty unless this replica leads.
  std::vector<replication::FollowerView> followers() const;
  // *blocks* As PartitionLog::append_time_ms.
  std::optional<int64_t> append_time_ms(Offset offset) const {
    return status() == PartitionStatus::opening ? std::nullopt : log_->append_time_ms(offset);
  }
  // What this opening of the log has seen, for figures.
  storage::LogMark opened_at() const { return opened_at_; }  // where the log ended; once the status has left `opening`
  int64_t fetched_bytes() const { return fetched_bytes_.load(std::memory_order_relaxed); }  // by clients
  void count_fetched(int64_t bytes) { fetched_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  // Null until it is open, and when it could not be opened.
  storage::LogDirectory const* directory_or_null() const {
    return status() == PartitionStatus::opening || log_ == nullptr ? nullptr : &log_->directory();
  }
  int64_t size_bytes() const { return status() == PartitionStatus::opening || log_ == nullptr ? 0 : log_->size_bytes(); }

  void register_wait(WaitRegistration& registration);
  void unregister_wait(WaitRegistration& registration);

  // ---- Requests; `here` is the calling thread's list

  void append(AppendRequest request, RunList& here);
  // Answers a part that still waits for its mark with request_timed_out.
  void give_up(std::shared_ptr<AppendSink> sink, uint32_t index, RunList& here);
  void follower_fetched(ReplicaFetch const& fetch, Callback<void(replication::Outcome)> done, RunList& here);
  // Raises the log start to `before` (-1: the high watermark); answers the smallest log start of the live replicas once
  // that is not below it. `waits` runs before, where that is not so as soon as the own log is through.
  void delete_records(Offset before, Task waits, Callback<void(ErrorCode, Offset)> done, RunList& here);
  // The producers that the log knows, by id; `done` runs where the driver does.
  using Producers = std::vector<std::pair<ProducerId, storage::ProducerEntry>>;
  void describe_producers(Callback<void(ErrorCode, Producers)> done, RunList& here);
  // Runs once the status is no longer `opening`: at once, or posted to `reactor`.
  void when_open(env::Reactor& reactor, Task task);

  // ---- By the fetcher of this replica, which follows; one question at a time. `done` runs where the driver does.

  // Where to begin in that epoch, once the log is open and cut as it must be.
  void begin_following(LeaderEpoch epoch, FollowDone done, RunList& here);
  // Appends or truncates. Where acknowledgements wait for a sync, so does the answer.
  void fetched(FetchedPart part, FollowDone done, RunList& here);
  // The leader has not what was asked for; its log holds `leader_start` up to `leader_end`.
  void fetched_out_of_range(FetchPosition asked, Offset leader_start, Offset leader_end, FollowDone done, RunList& here);

  // ---- By the partition manager

  // Outlives the driver's work.
  void set_isr_changes(IsrChangeSink* sink) { isr_changes_.store(sink); }
  void set_standing(LeaderStanding const* standing) { standing_.store(standing); }
  void check_in_sync(RunList& here);
  void brokers_changed(std::vector<replication::BrokerFact> brokers, RunList& here);
  void isr_answered(replication::IsrAnswered answer, RunList& here);
  void open(std::shared_ptr<storage::PartitionLog> log, RunList& here);
  // Offsets are filled in here. `takes_over` is told when it leads that has not led; where the driver runs.
  void lead(replication::BecomeLeader event, RunList& here, Callback<void(Mono now)> takes_over = {});
  void follow(replication::BecomeFollower event, RunList& here);  // likewise
  void set_config(TopicConfigPtr config, RunList& here);
  void fail(std::string reason, RunList& here);                   // the directory is offline
  void remove(Uuid suffix, Task done, RunList& here);             // deleted: the log is renamed away
  void close(Callback<void(Status)> done, RunList& here);         // clean stop; done runs on `here`'s thread
  void apply_retention(Wall now, RunList& here);
  void expire_producers(Wall now, RunList& here);

  // ---- By the cleaner; the answers run where the driver does

  // Any thread: it is compacted, and there are closed segments that never were.
  bool may_need_compaction() const;
  void compaction_need(Wall now, Callback<void(Result<storage::CompactionNeed>)> done, RunList& here);
  void begin_compaction(storage::CompactionRules const& rules, Wall now,
                        Callback<void(Result<std::unique_ptr<storage::Compaction>>)> done, RunList& here);
  void install_compaction(std::shared_ptr<storage::Compaction> compaction, Callback<void(Status)> done, RunList& here);
  // The node is gone and nothing runs any more: forgets everybody who waits. Who waits holds the driver, and the
  // driver must not hold him for ever.
  void abandon();

 protected:
  bool take_requests_locked() override;
  size_t run_requests() override;
  void finish_round() override;

 private:
  // A request whose batch goes into the write that is being made, or repeats a batch that does.
  struct Accepted {
    AppendRequest request;
    Offset base_offset;
    Offset last_offset;
    int64_t duplicate_time_ms = -1;
    bool is_duplicate = false;
  };
  struct Pending {
    std::shared_ptr<AppendSink> sink;  // null once answered
    uint32_t index{};
    AppendAnswer answer;
    bool is_told = false;              // on_appended was called
  };
  struct Answered {
    std::shared_ptr<AppendSink> sink;
    uint32_t index{};
    AppendAnswer answer;
  };
  static constexpr replication::Ticket kImmediateTicket = 0;
  static constexpr replication::Ticket kFirstDeletionTicket = replication::Ticket{1} << 62;
  struct Deletion {
    Offset before;
    Task waits;
    Callback<void(ErrorCode, Offset)> done;
    Result<storage::RetentionResult> result = Error{};
    ErrorCode error = ErrorCode::none;
  };

  // By the runner:
  void accept(AppendRequest& request, LeaderEpoch epoch, Offset& next_offset);
  void write_gathered();
  void on_written();
  void refuse(AppendRequest& request, ErrorCode error);
  void remember_refusal(Offset end) { refused_for_now_ = {end, now() + kGapMax}; }
  bool may_gap_close(storage::ClaimAnswer const& answer);
  bool is_unsure_alone();
  void log_refusal(storage::ProducerClaim const& claim, storage::ClaimAnswer const& answer, ErrorCode error);
  void tell_appended();
  void await(Accepted& accepted, AppendAnswer const& answer);
  void apply_effects();
  void on_synced(Result<Offset> result);
  void forget_syncs_past_end();
  void maybe_sync();
  void sync_now();
  // partition_follower.cpp
  void append_fetched(FetchedPart part, FollowDone done);
  void adopt_leader_marks(FetchedPart const& part);
  using CutDone = Callback<void(FollowAnswer::What)>;
  void truncate(Offset to, CutDone then);
  void start_log_at(Offset start, CutDone then);
  FollowAnswer::What cut_done(Status const& status);
  void on_truncated();
  void answer_follower(FollowAnswer::What what, FollowDone done);
  void release_follower();
  FetchPosition fetch_position() const;
  bool is_following(LeaderEpoch epoch) const;
  replication::LeaderCountsAt counts_at() const;
  static ErrorCode storage_error(Error const& error);
  void finish_deletion(std::shared_ptr<Deletion> const& deletion);
  void publish_figures();
  void go_offline(std::string const& reason);
  void apply_config(TopicConfigPtr const& config);
  void run_log_job(Task job, Task done);
  void unlink_later(std::shared_ptr<storage::DeletedSegments> files);
  void with_log(Task task);
  void log_is_free();
  void set_status(PartitionStatus status);
  void publish_epochs();
  void publish_marks();
  void notify_waiters(storage::Marks const& marks);
  void wake_all_waiters();
  storage::LogMark mark_at(Offset offset);
  Mono now() { return here().reactor().now(); }
  ErrorCode refusal_of(replication::Outcome outcome) const;
  void evaluate(WaitRegistration& registration, storage::Marks const& marks);

  env::Env& env_;
  PartitionIdentity const identity_;
  env::Pool* pool_ = nullptr;

  // Published.
  std::atomic<PartitionStatus> status_{PartitionStatus::opening};
  std::shared_ptr<storage::PartitionLog> log_;  // set before the status leaves `opening`
  storage::PublishedMarks marks_;
  storage::LogMark opened_at_;  // set before the status leaves `opening`
  std::atomic<int64_t> fetched_bytes_{0};
  std::atomic<int32_t> replica_count_{0}, in_sync_count_{0};
  std::atomic<bool> is_under_min_in_sync_{false};
  std::atomic<int64_t> follower_lag_{0};
  mutable std::mutex published_mutex_;
  std::shared_ptr<storage::LeaderEpochs const> epochs_;
  TopicConfigPtr config_;
  std::vector<replication::FollowerView> followers_;
  std::vector<std::pair<env::Reactor*, Task>> when_open_;

  std::mutex waiters_mutex_;
  WaitRegistration* first_waiter_ = nullptr;

  // Guarded by mutex_.
  std::vector<AppendRequest> queued_;
  int64_t queued_bytes_ = 0;
  bool is_written_ = false;  // the write in flight has completed

  // The runner's.
  std::atomic<bool> is_log_busy_{true};  // a write or a job has the log; opening counts
  replication::PartitionMachine machine_;
  replication::Effects effects_;
  replication::Outcome immediate_outcome_{};
  storage::ProducerOverlay overlay_;
  // Batches were refused for now, by this leader or the one before it, when the log ended at `end`.
  struct Refusal {
    Offset end;
    Mono forgotten_at;
  } refused_for_now_;
  Mono next_refusal_log_{};
  int64_t unlogged_refusals_ = 0;
  std::vector<AppendRequest> gathered_;
  std::vector<Accepted> accepted_;
  std::vector<ByteView> pieces_;
  Result<storage::Appended> write_result_ = Error{};
  Fifo<Pending> pending_;
  replication::Ticket first_pending_ticket_ = 1;
  std::vector<Answered> answered_;
  std::vector<Answered> answering_;
  Fifo<Task> log_tasks_;      // wait for the log to be free
  Fifo<storage::LogMark> batch_ends_;  // between the high watermark and the end
  storage::LogMark end_;
  storage::LogMark high_watermark_;
  storage::LogMark last_stable_;
  bool is_marks_dirty_ = false;
  bool is_sync_in_flight_ = false;
  bool is_flush_timer_armed_ = false;
  Offset synced_{0};
  Offset sync_cut_{std::numeric_limits<int64_t>::max()};  // the lowest cut since the sync in flight began
  LeaderEpoch published_epoch_ = kNoLeaderEpoch;
  FollowDone follower_waits_;  // for a sync, before its next Fetch
  std::map<replication::Ticket, std::shared_ptr<Deletion>> deletions_;  // wait for other replicas
  replication::Ticket next_deletion_ticket_ = kFirstDeletionTicket;
  std::atomic<IsrChangeSink*> isr_changes_{nullptr};
  std::atomic<LeaderStanding const*> standing_{nullptr};
  TopicConfigPtr runner_config_;
};

}  // namespace millrace::runtime
