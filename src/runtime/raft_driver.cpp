#include "millrace/runtime/raft_driver.h"

#include "millrace/metadata/snapshot.h"
#include "millrace/raft/quorum_state.h"
#include "millrace/record/batch.h"
#include "raft_peers.h"

namespace millrace::runtime {
namespace {

SharedBytes share(Bytes bytes) {
  auto owner = std::make_shared<Bytes>(std::move(bytes));
  auto const view = MutableByteView(*owner);
  return {std::shared_ptr<void>(std::move(owner)), view};
}

}  // namespace

// One thing to do to the disk.
struct RaftDriver::Step {
  enum class Kind { election, batch, truncate, piece, snapshot, read, read_snapshot, reload, close } kind{};
  raft::ElectionWrite write = 0;
  raft::LogOp op = 0;
  std::string election;  // the file's text
  SharedBytes bytes;     // a batch, or a piece of a snapshot
  Offset at;             // to truncate to, or to read from
  raft::SnapshotId id;
  int64_t position = 0;
  bool is_last = false;
  int32_t bytes_max = 0;
  std::optional<metadata::Image> snapshot;
  int16_t kraft_version = 0;
  raft::VoterSet voters;
  raft::Ticket ticket = 0;
  raft::effect::Reply reply;
  LeaderEpoch epoch;
  std::vector<SharedBytes> read;  // what was read
  int64_t file_bytes = -1;        // of the snapshot that was read; -1: there is none
};

// What one pool job does, in this order.
struct RaftDriver::Work {
  std::vector<Step> steps;
  Status status;
  std::optional<raft::event::SnapshotTaken> taken;
  struct Installed {
    raft::LogOp op{};
    std::optional<LoadedSnapshot> loaded;  // none: it was refused
  };
  std::optional<Installed> installed;
  std::optional<metadata::Replayer> reloaded;
};

RaftDriver::RaftDriver(env::Env& env, storage::LogDirectory& directory, RaftEvents& events)
    : env_(env),
      reactor_(env.control_reactor()),
      pool_(env.pool(directory.path())),
      directory_(directory),
      events_(events) {}

RaftDriver::~RaftDriver() = default;

Status RaftDriver::start(raft::MachineConfig config, LoadedMetadata loaded, RaftNetworkOptions network) {
  MR_ASSERT(machine_ == nullptr);
  network_ = std::move(network);
  if (auto const& election = loaded.raft.election; election && election->epoch < loaded.raft.log_end.epoch) {
    env_.log().warn("raft", "quorum-state is of epoch {}, the log ends in epoch {}; the log counts", election->epoch,
                    loaded.raft.log_end.epoch);
  }
  for (auto const& server : network_.bootstrap) config.bootstrap.push_back(server.id);
  config.seed = env_.random("raft").next();
  MR_TRY_ASSIGN(auto machine, raft::Machine::create(std::move(config), std::move(loaded.raft), env_.hooks()));
  machine_ = std::make_unique<raft::Machine>(std::move(machine));
  peers_ = std::make_unique<RaftPeers>(env_, *this);
  log_ = std::move(loaded.log);
  bytes_since_snapshot_ = loaded.bytes_since_snapshot;
  feed(raft::event::Started{});
  drain_callbacks();
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

// ---- the machine

void RaftDriver::feed(raft::Event const& event) {
  raft::Effects effects;
  machine_->on_event(event, reactor_.now(), effects);
  perform(effects);
}

// Effects first, then who listens: a listener may append, and its effects must not overtake those before.
void RaftDriver::drain_callbacks() {
  if (is_draining_) return;
  is_draining_ = true;
  while (!callbacks_.empty()) {
    auto callback = std::move(callbacks_.front());
    callbacks_.pop_front();
    std::move(callback)();
  }
  is_draining_ = false;
}

void RaftDriver::perform(raft::Effects const& effects) {
  for (auto const& effect : effects) {
    std::visit(
        [&]<class E>(E const& e) {
          if constexpr (std::is_same_v<E, raft::effect::PersistElection>) {
            Step step;
            step.kind = Step::Kind::election;
            step.write = e.write;
            step.election = raft::format_quorum_state(e.state, machine_->kraft_version() > 0 ? int16_t{1} : int16_t{0},
                                                      machine_->voters());
            enqueue(std::move(step));
          } else if constexpr (std::is_same_v<E, raft::effect::AppendLeaderChange>) {
            append_time_ = env_.wall_now();
            auto batch = build_leader_change_batch(e, machine_->kraft_version(), machine_->voters(), append_time_);
            enqueue_batch(e.op, share(std::move(batch)), e.base, machine_->log_end().offset);
          } else if constexpr (std::is_same_v<E, raft::effect::Append>) {
            MR_ASSERT(appending_ != nullptr);
            appended_at_ = e.base;
            enqueue_batch(e.op, share(build_record_batch(e.base, e.epoch, *appending_, append_time_)), e.base,
                          e.base + static_cast<int64_t>(appending_->size()));
          } else if constexpr (std::is_same_v<E, raft::effect::AppendFetched>) {
            MR_ASSERT(fetched_ != nullptr);
            std::vector<SharedBytes> const batches(fetched_->begin(),
                                                   fetched_->begin() + static_cast<ptrdiff_t>(e.batch_count));
            for (auto const& batch : batches) {
              record::BatchView const view(batch.view());
              enqueue_batch(e.op, batch, view.base_offset(), view.next_offset());
            }
            callbacks_.emplace_back([this, batches] { events_.on_replicated(batches); });
          } else if constexpr (std::is_same_v<E, raft::effect::Truncate>) {
            while (!tail_.empty() && tail_.back().next > e.to) {
              tail_bytes_ -= tail_.back().bytes.size();
              tail_.pop_back();
            }
            Step step;
            step.kind = Step::Kind::truncate;
            step.op = e.op;
            step.at = e.to;
            enqueue(std::move(step));
            callbacks_.emplace_back([this, to = e.to] { events_.on_truncated(to); });
          } else if constexpr (std::is_same_v<E, raft::effect::WriteSnapshotPiece>) {
            MR_ASSERT(fetched_ != nullptr && fetched_->size() == 1);
            Step step;
            step.kind = Step::Kind::piece;
            step.op = e.op;
            step.id = e.id;
            step.position = e.position;
            step.is_last = e.is_last;
            step.bytes = fetched_->front();
            enqueue(std::move(step));
          } else if constexpr (std::is_same_v<E, raft::effect::Send>) {
            if (std::holds_alternative<raft::FetchRequest>(e.request)) {
              fetch_sent_ = e.id;
              fetch_sent_at_ = reactor_.now();
            }
            if (!is_closing_log_) say(e.after, [this, send = e] { peers_->send(send); });
          } else if constexpr (std::is_same_v<E, raft::effect::Reply>) {
            perform(e);
          } else if constexpr (std::is_same_v<E, raft::effect::SetTimer>) {
            set_timer(e);
          } else if constexpr (std::is_same_v<E, raft::effect::CancelTimer>) {
            reactor_.cancel(std::exchange(timers_[static_cast<size_t>(e.kind)], env::kNoTimer));
          } else if constexpr (std::is_same_v<E, raft::effect::BecameLeader>) {
            if (has_peers()) env_.log().info("raft", "leads epoch {} from offset {}", e.epoch, e.start);
            callbacks_.emplace_back([this, epoch = e.epoch, end = machine_->log_end().offset, now = append_time_] {
              events_.on_leader(epoch, end, now);
            });
          } else if constexpr (std::is_same_v<E, raft::effect::LostLeadership>) {
            callbacks_.emplace_back([this, epoch = e.epoch] { events_.on_lost_leadership(epoch); });
          } else if constexpr (std::is_same_v<E, raft::effect::LeaderKnown>) {
            if (e.leader != kNoBroker && has_peers()) env_.log().info("raft", "node {} leads epoch {}", e.leader, e.epoch);
            callbacks_.emplace_back([this, e] {
              events_.on_leader_known(e.leader, e.epoch);
              if (e.leader != kNoBroker && e.leader != machine_->self().id) finish_resign();
            });
          } else if constexpr (std::is_same_v<E, raft::effect::Committed>) {
            callbacks_.emplace_back([this, mark = e.high_watermark] { events_.on_committed(mark); });
          } else if constexpr (std::is_same_v<E, raft::effect::VoteWithheld>) {
            env_.log().warn("raft",
                            "node {} asks for a vote, and this node has no memory of votes and not the whole metadata log; "
                            "it votes again when it has caught up with a leader",
                            e.candidate);
          } else if constexpr (std::is_same_v<E, raft::effect::Complaint>) {
            env_.log().warn("raft", "node {} {} {}", e.peer, e.what, e.offset);
          } else {
            static_assert(std::is_same_v<E, raft::effect::RefuseAppend>);  // append() answers none
          }
        },
        effect);
  }
}

void RaftDriver::say(raft::ElectionWrite after, Task task) {
  if (after <= written_) return std::move(task)();
  held_.emplace_back(after, std::move(task));
}

void RaftDriver::set_timer(raft::effect::SetTimer const& timer) {
  auto& id = timers_[static_cast<size_t>(timer.kind)];
  reactor_.cancel(id);
  id = reactor_.call_at(timer.at, [this, kind = timer.kind] {
    timers_[static_cast<size_t>(kind)] = env::kNoTimer;
    if (has_failed_ || is_closing_log_) return;
    feed(raft::event::TimerFired{kind});
    drain_callbacks();
  });
}

// ---- requests of others

void RaftDriver::receive(raft::Request request, Callback<void(RaftAnswer)> done) {
  if (machine_ == nullptr || has_failed_ || is_closing_log_ || received_.size() >= kReceivedMax) return;
  auto const ticket = ++tickets_issued_;
  received_.emplace(ticket, std::move(done));
  feed(raft::event::Received{ticket, std::move(request)});
  drain_callbacks();
}

void RaftDriver::perform(raft::effect::Reply const& reply) {
  say(reply.after, [this, reply, epoch = machine_->epoch()] {
    if (answer_from_tail(reply.ticket, reply)) return;
    answer_from_log(reply.ticket, reply, epoch);
  });
}

void RaftDriver::answer(raft::Ticket ticket, RaftAnswer out) {
  auto const found = received_.find(ticket);
  if (found == received_.end()) return;
  auto done = std::move(found->second);
  received_.erase(found);
  auto const& verdict =
      std::visit([](auto const& response) -> raft::Verdict const& { return response.verdict; }, out.response);
  if (verdict.leader != kNoBroker) out.leader = address_of(verdict.leader);
  std::move(done)(std::move(out));
}

bool RaftDriver::answer_from_tail(raft::Ticket ticket, raft::effect::Reply const& reply) {
  RaftAnswer out;
  out.response = reply.response;
  if (auto const* piece = std::get_if<raft::FetchSnapshotResponse>(&reply.response);
      piece != nullptr && piece->verdict.error == ErrorCode::none && piece->verdict.top == ErrorCode::none) {
    return false;
  }
  if (reply.records_from >= Offset{0}) {
    if (tail_.empty() || tail_.front().base > reply.records_from) return false;
    int64_t bytes = 0;
    for (auto const& batch : tail_) {
      if (batch.next <= reply.records_from) continue;
      bytes += static_cast<int64_t>(batch.bytes.size());
      if (!out.records.empty() && bytes > reply.bytes_max) break;
      out.records.push_back(batch.bytes);
    }
  }
  answer(ticket, std::move(out));
  return true;
}

void RaftDriver::answer_from_log(raft::Ticket ticket, raft::effect::Reply const& reply, LeaderEpoch epoch) {
  Step step;
  step.kind = reply.records_from >= Offset{0} ? Step::Kind::read : Step::Kind::read_snapshot;
  step.ticket = ticket;
  step.reply = reply;
  step.at = reply.records_from;
  step.bytes_max = reply.bytes_max;
  step.epoch = epoch;
  if (auto const* piece = std::get_if<raft::FetchSnapshotResponse>(&reply.response)) {
    step.id = piece->id;
    step.position = piece->position;
  }
  enqueue(std::move(step));
}

void RaftDriver::learn_address(RaftAddress address) {
  static constexpr size_t kLearnedMax = 64;
  std::erase_if(learned_, [&](RaftAddress const& known) { return known.id == address.id; });
  if (learned_.size() >= kLearnedMax) learned_.erase(learned_.begin());
  learned_.push_back(std::move(address));
}

std::optional<RaftAddress> RaftDriver::address_of(BrokerId id) const {
  auto const on_listener = [&](std::vector<raft::VoterEndpoint> const& endpoints) -> std::optional<RaftAddress> {
    for (auto const& e : endpoints) {
      if (e.listener == network_.listener) return RaftAddress{id, e.host, e.port};
    }
    return std::nullopt;
  };
  if (id == machine_->self().id) return on_listener(network_.endpoints);
  for (auto const& known : learned_) {
    if (known.id == id) return known;
  }
  for (auto const& server : network_.bootstrap) {
    if (server.id == id) return server;
  }
  auto const* voter = machine_->voters().find(id);
  return voter == nullptr ? std::nullopt : on_listener(voter->endpoints);
}

void RaftDriver::on_response(BrokerId from, raft::RequestId id, raft::Response response,
                             std::vector<SharedBytes> records) {
  if (has_failed_ || is_closing_log_) return;
  // A leader tells its mark once that is of its own epoch.
  Offset mark{-1};
  auto const epoch = machine_->epoch();
  auto const asked_at = fetch_sent_at_;
  auto const* fetch = std::get_if<raft::FetchResponse>(&response);
  if (fetch != nullptr && id == fetch_sent_ && machine_->is_waiting_for(from, id) &&
      fetch->verdict.top == ErrorCode::none && fetch->verdict.error == ErrorCode::none) {
    mark = fetch->high_watermark;
  }
  fetched_ = &records;
  feed(raft::event::Answered{from, id, std::move(response)});
  fetched_ = nullptr;
  if (mark >= Offset{0} && machine_->role() == raft::Role::follower && machine_->epoch() == epoch) {
    callbacks_.emplace_back([this, asked_at, mark] { events_.on_leader_answered(asked_at, mark); });
  }
  drain_callbacks();
}

// ---- the disk

void RaftDriver::enqueue(Step step) {
  if (next_ == nullptr) next_ = std::make_unique<Work>();
  next_->steps.push_back(std::move(step));
  start_work();
}

void RaftDriver::enqueue_batch(raft::LogOp op, SharedBytes batch, Offset base, Offset next) {
  bytes_since_snapshot_ += static_cast<int64_t>(batch.size());
  tail_bytes_ += batch.size();
  tail_.push_back({base, next, batch});
  while (tail_bytes_ > kTailBytesMax && tail_.size() > 1) {
    tail_bytes_ -= tail_.front().bytes.size();
    tail_.pop_front();
  }
  Step step;
  step.kind = Step::Kind::batch;
  step.op = op;
  step.bytes = std::move(batch);
  enqueue(std::move(step));
}

void RaftDriver::write_snapshot(metadata::Image image) {
  MR_ASSERT(!is_writing_snapshot_);
  MR_ASSERT(image.offset < machine_->high_watermark());
  is_writing_snapshot_ = true;
  bytes_since_snapshot_ = 0;
  Step step;
  step.kind = Step::Kind::snapshot;
  step.snapshot = std::move(image);
  step.kraft_version = machine_->kraft_version();
  step.voters = machine_->voters();
  enqueue(std::move(step));
}

void RaftDriver::reload(Callback<void(metadata::Replayer)> done) {
  MR_ASSERT(!reloading_);
  reloading_ = std::move(done);
  Step step;
  step.kind = Step::Kind::reload;
  enqueue(std::move(step));
}

void RaftDriver::resign(Task done) {
  if (machine_ == nullptr || machine_->role() != raft::Role::leader || !has_peers() || has_failed_) return std::move(done)();
  resigned_ = std::move(done);
  resign_timer_ = reactor_.call_at(reactor_.now() + kResignWaitMax, [this] {
    resign_timer_ = env::kNoTimer;
    finish_resign();
  });
  feed(raft::event::ResignRequested{});
  drain_callbacks();
}

void RaftDriver::resign_at_once() {
  if (machine_ == nullptr || machine_->role() != raft::Role::leader || has_failed_ || is_closing_log_) return;
  feed(raft::event::ResignRequested{});
  drain_callbacks();
}

void RaftDriver::finish_resign() {
  if (!resigned_) return;
  reactor_.cancel(std::exchange(resign_timer_, env::kNoTimer));
  std::move(resigned_)();
}

void RaftDriver::leave() {
  is_closing_log_ = true;
  for (auto& timer : timers_) reactor_.cancel(std::exchange(timer, env::kNoTimer));
  peers_->stop();
}

void RaftDriver::close(Callback<void(Status)> done) {
  closing_ = std::move(done);
  leave();
  Step step;
  step.kind = Step::Kind::close;
  enqueue(std::move(step));
}

// What one turn of the loop gathers goes out together.
void RaftDriver::start_work() {
  if (is_working_ || has_failed_) return;
  is_working_ = true;
  reactor_.post([this] {
    auto work = std::move(next_);
    MR_ASSERT(work != nullptr);
    auto* const raw = work.get();
    pool_.run(
        reactor_, [this, raw] { raw->status = do_work(*raw); },
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
  auto& steps = work.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    auto& step = steps[i];
    switch (step.kind) {
      case Step::Kind::election:
        MR_TRY(env::replace_file(env_.disk(), quorum_state_path(directory_), step.election));
        break;
      case Step::Kind::batch: {
        std::vector<ByteView> views{step.bytes.view()};
        while (i + 1 < steps.size() && steps[i + 1].kind == Step::Kind::batch) views.push_back(steps[++i].bytes.view());
        MR_TRY(log_->append(views, env_.wall_now()));
        break;
      }
      case Step::Kind::truncate: MR_TRY(log_->truncate_to(step.at)); break;
      case Step::Kind::piece: MR_TRY(do_piece(step, work)); break;
      case Step::Kind::snapshot: {
        // Without it the log only stays longer.
        auto status = do_snapshot(*step.snapshot, work);
        if (!status && status.error().kind == ErrorKind::io) return status;
        if (!status)
          env_.log().warn("raft", "metadata snapshot at {}: {}", step.snapshot->offset + 1, status.error().message);
        break;
      }
      case Step::Kind::read:
      case Step::Kind::read_snapshot:
        // Who asked gets nothing and asks again; a disk that fails says so to the next append.
        if (auto status = do_read(step); !status)
          env_.log().warn("raft", "read for a follower: {}", status.error().message);
        break;
      case Step::Kind::reload: {
        MR_TRY_ASSIGN(work.reloaded, replay_log(*log_));
        break;
      }
      case Step::Kind::close: MR_TRY(log_->close_cleanly()); break;
    }
  }
  return {};
}

Status RaftDriver::do_snapshot(metadata::Image const& image, Work& work) {
  storage::SnapshotId const id{image.offset + 1, image.epoch};
  auto const& step =
      *std::find_if(work.steps.begin(), work.steps.end(), [](Step const& s) { return s.kind == Step::Kind::snapshot; });
  auto const bytes = build_snapshot(metadata::snapshot_records(image), image.epoch, image.timestamp_ms,
                                    step.kraft_version, step.voters, env_.wall_now());
  ByteView const content(bytes);
  MR_TRY(log_->write_snapshot(id, std::span(&content, 1)));
  auto const kept = log_->snapshots();
  if (kept.size() > kSnapshotsKept) MR_TRY(log_->delete_before_snapshot(kept[kept.size() - kSnapshotsKept]));
  auto const first = log_->snapshots().front();
  raft::event::SnapshotTaken taken;
  taken.id = {id.end_offset, id.epoch};
  taken.log_start =
      log_->log_start() == first.end_offset ? raft::LogEnd{first.end_offset, first.epoch} : raft::LogEnd{};
  work.taken = taken;
  return {};
}

Status RaftDriver::do_read(Step& step) {
  if (step.kind == Step::Kind::read) {
    MR_TRY_ASSIGN(step.read, read_batches(*log_, step.at, step.bytes_max));
    return {};
  }
  storage::SnapshotId const id{step.id.end_offset, step.id.epoch};
  auto const kept = log_->snapshots();
  // The one that bootstraps an empty log is nobody else's.
  if (step.id == raft::SnapshotId{} || std::find(kept.begin(), kept.end(), id) == kept.end()) return {};
  MR_TRY_ASSIGN(step.file_bytes, log_->snapshot_bytes(id));
  if (step.position < 0 || step.position >= step.file_bytes) return {};
  auto const wanted = std::min<int64_t>(step.file_bytes - step.position, std::max(step.bytes_max, 1));
  auto piece = SharedBytes::allocate(static_cast<size_t>(wanted));
  MR_TRY_ASSIGN(auto const count, log_->read_snapshot(id, Position{step.position}, piece.mutable_view()));
  if (count > 0) step.read.push_back(piece.slice(0, count));
  return {};
}

Status RaftDriver::do_piece(Step& step, Work& work) {
  storage::SnapshotId const id{step.id.end_offset, step.id.epoch};
  if (step.position == 0) {
    download_.reset();
    MR_TRY_ASSIGN(download_, log_->begin_download(id));
  }
  MR_TRY(download_->append(step.bytes.view()));
  if (!step.is_last) return {};
  Work::Installed installed;
  installed.op = step.op;
  MR_TRY(download_->finish());
  download_.reset();
  // What does not read as a snapshot must not take the log's place.
  if (auto loaded = load_snapshot_content(*log_, id)) {
    MR_TRY(log_->reset_to_latest_snapshot());
    installed.loaded = *std::move(loaded);
  } else {
    env_.log().warn("raft", "metadata snapshot {}-{} of the leader: {}", id.end_offset, id.epoch,
                    loaded.error().message);
    MR_TRY(log_->forget_snapshot(id));
  }
  work.installed = std::move(installed);
  return {};
}

void RaftDriver::on_work_done(WorkPtr work) {
  is_working_ = false;
  auto const last = [&](Step::Kind kind) {
    return std::any_of(work->steps.begin(), work->steps.end(), [&](Step const& s) { return s.kind == kind; });
  };
  if (last(Step::Kind::snapshot)) is_writing_snapshot_ = false;
  if (last(Step::Kind::close)) return std::move(closing_)(std::move(work->status));
  if (!work->status) {
    has_failed_ = true;
    peers_->stop();
    events_.on_failed(work->status.error());
    if (closing_) std::move(closing_)(std::move(work->status));
    return;
  }
  if (work->reloaded) {
    callbacks_.emplace_back([done = std::move(reloading_), replayer = *std::move(work->reloaded)]() mutable {
      std::move(done)(std::move(replayer));
    });
  }
  raft::ElectionWrite write = 0;
  raft::LogOp op = 0;
  for (auto const& step : work->steps) {
    write = std::max(write, step.write);
    if (step.kind != Step::Kind::piece || !step.is_last) op = std::max(op, step.op);
  }
  if (write > 0) {
    written_ = write;
    while (!held_.empty() && held_.front().first <= written_) {
      auto task = std::move(held_.front().second);
      held_.pop_front();
      std::move(task)();
    }
    feed(raft::event::ElectionPersisted{write});
  }
  if (op > 0) feed(raft::event::LogOpDone{op});
  if (work->taken) {
    if (work->taken->log_start.offset == Offset{0}) work->taken->log_start = machine_->log_start();
    feed(*work->taken);
  }
  if (work->installed) {
    if (work->installed->loaded) {
      auto& loaded = *work->installed->loaded;
      tail_.clear();
      tail_bytes_ = 0;
      callbacks_.emplace_back(
          [this, replayer = std::move(loaded.replayer)]() mutable { events_.on_snapshot(std::move(replayer)); });
      auto voters = loaded.voters ? std::make_shared<raft::VoterSet const>(*loaded.voters) : nullptr;
      feed(raft::event::SnapshotInstalled{work->installed->op, std::move(voters),
                                          loaded.kraft_version.value_or(machine_->kraft_version())});
    } else {
      feed(raft::event::SnapshotRefused{work->installed->op});
    }
  }
  for (auto& step : work->steps) {
    if (step.kind != Step::Kind::read && step.kind != Step::Kind::read_snapshot) continue;
    RaftAnswer out;
    out.response = step.reply.response;
    out.records = std::move(step.read);
    if (auto* piece = std::get_if<raft::FetchSnapshotResponse>(&out.response)) {
      piece->snapshot_bytes = std::max<int64_t>(step.file_bytes, 0);
      if (step.file_bytes < 0)
        piece->verdict.error = ErrorCode::snapshot_not_found;
      else if (out.records.empty())
        piece->verdict.error = ErrorCode::position_out_of_range;
    }
    if (auto* fetch = std::get_if<raft::FetchResponse>(&out.response);
        fetch != nullptr && (machine_->role() != raft::Role::leader || machine_->epoch() != step.epoch)) {
      // What was read is not this leader's log any more.
      fetch->verdict = {ErrorCode::none, ErrorCode::not_leader_or_follower, machine_->leader(), machine_->epoch()};
      out.records.clear();
    }
    answer(step.ticket, std::move(out));
  }
  drain_callbacks();
  if (next_ != nullptr) start_work();
}

}  // namespace millrace::runtime
