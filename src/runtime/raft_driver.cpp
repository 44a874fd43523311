#include "millrace/runtime/raft_driver.h"

#include "millrace/metadata/snapshot.h"
#include "millrace/raft/quorum_state.h"

namespace millrace::runtime {

// What one pool job does, in this order. Elections come first: nothing of an epoch is appended before it is durable,
// because the machine appends only after ElectionPersisted.
struct RaftDriver::Work {
  std::vector<raft::ElectionState> elections;
  std::vector<Bytes> batches;
  Offset end{0};
  std::optional<metadata::Image> snapshot;
  bool is_close = false;
  Status status;
};

RaftDriver::RaftDriver(env::Env& env, storage::LogDirectory& directory, RaftEvents& events)
    : env_(env), reactor_(env.control_reactor()), pool_(env.pool(directory.path())), directory_(directory), events_(events) {}

RaftDriver::~RaftDriver() = default;

Status RaftDriver::start(raft::MachineConfig config, LoadedMetadata loaded) {
  MR_ASSERT(machine_ == nullptr);
  MR_TRY_ASSIGN(auto machine, raft::Machine::create(config, std::move(loaded.raft), env_.hooks()));
  machine_ = std::make_unique<raft::Machine>(std::move(machine));
  log_ = std::move(loaded.log);
  bytes_since_snapshot_ = loaded.bytes_since_snapshot;
  feed(raft::event::Started{});
  return {};
}

std::optional<Offset> RaftDriver::append(LeaderEpoch epoch, metadata::RecordList const& records, Wall now) {
  MR_ASSERT(!records.empty());
  if (has_failed_ || closing_) return std::nullopt;
  appending_ = &records;
  append_time_ = now;
  appended_at_.reset();
  feed(raft::event::AppendRequested{0, epoch, static_cast<int32_t>(records.size())});
  appending_ = nullptr;
  return appended_at_;
}

void RaftDriver::feed(raft::Event const& event) {
  raft::Effects effects;
  machine_->on_event(event, reactor_.now(), effects);
  perform(effects);
}

void RaftDriver::perform(raft::Effects const& effects) {
  for (auto const& effect : effects) {
    std::visit(
        [&]<class E>(E const& e) {
          if constexpr (std::is_same_v<E, raft::effect::PersistElection>) {
            enqueue_election(e.state);
          } else if constexpr (std::is_same_v<E, raft::effect::AppendLeaderChange>) {
            append_time_ = env_.wall_now();
            enqueue_batch(build_leader_change_batch(e, machine_->kraft_version(), machine_->voters(), append_time_),
                          machine_->log_end().offset);
          } else if constexpr (std::is_same_v<E, raft::effect::Append>) {
            MR_ASSERT(appending_ != nullptr);
            appended_at_ = e.base;
            enqueue_batch(build_record_batch(e.base, e.epoch, *appending_, append_time_),
                          e.base + static_cast<int64_t>(appending_->size()));
          } else if constexpr (std::is_same_v<E, raft::effect::BecameLeader>) {
            events_.on_leader(e.epoch, machine_->log_end().offset, append_time_);
          } else if constexpr (std::is_same_v<E, raft::effect::Committed>) {
            events_.on_committed(e.high_watermark);
          } else {
            static_assert(std::is_same_v<E, raft::effect::RefuseAppend>);  // append() answers none
          }
        },
        effect);
  }
}

void RaftDriver::enqueue_election(raft::ElectionState const& state) {
  if (next_ == nullptr) next_ = std::make_unique<Work>();
  next_->elections.push_back(state);
  start_work();
}

void RaftDriver::enqueue_batch(Bytes batch, Offset end) {
  if (next_ == nullptr) next_ = std::make_unique<Work>();
  bytes_since_snapshot_ += static_cast<int64_t>(batch.size());
  next_->batches.push_back(std::move(batch));
  next_->end = end;
  start_work();
}

void RaftDriver::write_snapshot(metadata::Image image) {
  MR_ASSERT(!is_writing_snapshot_);
  MR_ASSERT(image.offset < machine_->high_watermark());
  is_writing_snapshot_ = true;
  bytes_since_snapshot_ = 0;
  if (next_ == nullptr) next_ = std::make_unique<Work>();
  next_->snapshot = std::move(image);
  start_work();
}

void RaftDriver::close(Callback<void(Status)> done) {
  closing_ = std::move(done);
  if (next_ == nullptr) next_ = std::make_unique<Work>();
  next_->is_close = true;
  start_work();
}

// What one turn of the loop gathers goes out together.
void RaftDriver::start_work() {
  if (is_working_ || has_failed_) return;
  is_working_ = true;
  reactor_.post([this] {
    auto work = std::move(next_);
    MR_ASSERT(work != nullptr);
    auto* const raw = work.get();
    pool_.run(reactor_, [this, raw] { raw->status = do_work(*raw); },
              [this, work = std::move(work)]() mutable { on_work_done(std::move(work)); });
  });
}

// A disk that failed has failed the directory: the next start must not trust its page cache.
Status RaftDriver::do_work(Work& work) {
  auto status = work_through(work);
  if (!status && status.error().kind == ErrorKind::io) directory_.mark_offline(status.error().message);
  return status;
}

Status RaftDriver::work_through(Work& work) {
  for (auto const& state : work.elections) {
    MR_TRY(env::replace_file(env_.disk(), quorum_state_path(directory_),
                             raft::format_quorum_state(state, machine_->kraft_version() > 0 ? int16_t{1} : int16_t{0},
                                                       machine_->voters())));
  }
  if (!work.batches.empty()) {
    std::vector<ByteView> views(work.batches.begin(), work.batches.end());
    MR_TRY(log_->append(views, env_.wall_now()));
  }
  if (work.snapshot) {
    // Without it the log only stays longer.
    auto status = do_snapshot(*work.snapshot);
    if (!status && status.error().kind == ErrorKind::io) return status;
    if (!status) {
      env_.log().warn("raft", "metadata snapshot at {}: {}", work.snapshot->offset + 1, status.error().message);
    }
  }
  if (work.is_close) MR_TRY(log_->close_cleanly());
  return {};
}

Status RaftDriver::do_snapshot(metadata::Image const& image) {
  storage::SnapshotId const id{image.offset + 1, image.epoch};
  auto const bytes = build_snapshot(metadata::snapshot_records(image), image.epoch, image.timestamp_ms, machine_->kraft_version(),
                                    machine_->voters(), env_.wall_now());
  ByteView const content(bytes);
  MR_TRY(log_->write_snapshot(id, std::span(&content, 1)));
  auto const kept = log_->snapshots();
  if (kept.size() > kSnapshotsKept) MR_TRY(log_->delete_before_snapshot(kept[kept.size() - kSnapshotsKept]));
  return {};
}

void RaftDriver::on_work_done(WorkPtr work) {
  is_working_ = false;
  if (work->snapshot) is_writing_snapshot_ = false;
  if (work->is_close) return std::move(closing_)(std::move(work->status));
  if (!work->status) {
    has_failed_ = true;
    events_.on_failed(work->status.error());
    if (closing_) std::move(closing_)(std::move(work->status));
    return;
  }
  if (!work->elections.empty()) feed(raft::event::ElectionPersisted{work->elections.back().epoch});
  if (!work->batches.empty()) feed(raft::event::AppendDurable{work->end});
  if (next_ != nullptr) start_work();
}

}  // namespace millrace::runtime
