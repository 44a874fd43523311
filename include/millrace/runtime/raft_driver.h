// Runs the quorum machine: its effects on the metadata log and `quorum-state`, completions back as events. Belongs to
// the control reactor; disk work goes to the pool, one job at a time, and what gathers meanwhile goes out together
// with one sync.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "millrace/env/env.h"
#include "millrace/metadata/records.h"
#include "millrace/raft/machine.h"
#include "millrace/runtime/metadata_log.h"

namespace millrace::runtime {

// Called on the control reactor, never from inside a call of ours to append().
class RaftEvents {
 public:
  virtual ~RaftEvents() = default;
  // This node leads from now on; control records went up to, not including, `log_end`.
  virtual void on_leader(LeaderEpoch epoch, Offset log_end, Wall now) = 0;
  virtual void on_committed(Offset high_watermark) = 0;
  // The metadata log cannot be written: the process must stop before it acknowledges anything more.
  virtual void on_failed(Error const& error) = 0;
};

class RaftDriver {
 public:
  static constexpr size_t kSnapshotsKept = 2;

  // `directory` and `events` outlive the driver.
  RaftDriver(env::Env& env, storage::LogDirectory& directory, RaftEvents& events);
  ~RaftDriver();

  // Takes what was loaded and starts the machine. Errors as Machine::create; nothing runs then.
  Status start(raft::MachineConfig config, LoadedMetadata loaded);

  // Appends one atomic batch, decided under `epoch`. The offset of its first record; none: this node does not lead
  // that epoch any more.
  std::optional<Offset> append(LeaderEpoch epoch, metadata::RecordList const& records, Wall now);

  // Writes a snapshot of `image`, all of whose records are committed, then drops older ones but kSnapshotsKept.
  void write_snapshot(metadata::Image image);
  bool is_writing_snapshot() const { return is_writing_snapshot_; }
  int64_t bytes_since_snapshot() const { return bytes_since_snapshot_; }

  // Waits for the work under way, then closes the log cleanly.
  void close(Callback<void(Status)> done);

  raft::Machine const& machine() const { return *machine_; }

 private:
  struct Work;
  using WorkPtr = std::unique_ptr<Work>;

  void feed(raft::Event const& event);
  void perform(raft::Effects const& effects);
  void enqueue_election(raft::ElectionState const& state);
  void enqueue_batch(Bytes batch, Offset end);
  void start_work();
  void on_work_done(WorkPtr work);
  Status do_work(Work& work);
  Status work_through(Work& work);
  Status do_snapshot(metadata::Image const& image);

  env::Env& env_;
  env::Reactor& reactor_;
  env::Pool& pool_;
  storage::LogDirectory& directory_;
  RaftEvents& events_;
  std::unique_ptr<storage::PlainLog> log_;  // touched by start(), and by one job at a time
  std::unique_ptr<raft::Machine> machine_;
  WorkPtr next_;
  bool is_working_ = false;
  bool has_failed_ = false;
  bool is_writing_snapshot_ = false;
  int64_t bytes_since_snapshot_ = 0;
  Callback<void(Status)> closing_;
  metadata::RecordList const* appending_ = nullptr;  // during append(): what effect::Append stands for
  std::optional<Offset> appended_at_;
  Wall append_time_{};
};

}  // namespace millrace::runtime
