#include "millrace/runtime/controller_driver.h"

#include "millrace/metadata/features.h"
#include "millrace/record/batch.h"

namespace millrace::runtime {
namespace {

constexpr size_t kRecordsPerBatchMax = 4000;  // some 400 KB of partition changes: what a follower fetches at a time

// An answer of the same kind that carries an error alone.
metadata::ControllerAnswer error_like(metadata::ControllerAnswer const& answer, metadata::ApiError error) {
  return std::visit(
      [&]<class A>(A const&) -> metadata::ControllerAnswer {
        A out;
        out.error = std::move(error);
        return out;
      },
      answer);
}

metadata::ControllerConfig with_hooks(metadata::ControllerConfig config, Hooks& hooks) {
  config.hooks = &hooks;
  return config;
}

metadata::ApiError timed_out() { return {ErrorCode::request_timed_out, std::nullopt}; }

}  // namespace

ControllerDriver::ControllerDriver(env::Env& env, storage::LogDirectory& directory, ControllerDriverOptions options,
                                   std::function<void(Error const&)> on_failed)
    : env_(env),
      reactor_(env.control_reactor()),
      directory_(directory),
      options_(std::move(options)),
      failed_(std::move(on_failed)),
      controller_(with_hooks(options_.controller, env.hooks()), [&env] { return env.random_uuid(); }),
      raft_(env, directory, *this),
      channel_(env, {options_.controller.node_id, options_.network.request_timeout}, [this] { return active_address(); }),
      pauses_(options_.controller.broker_session) {
  publisher_.set_on_published([this](metadata::ImagePtr const& image) { on_published(image); });
}

ControllerDriver::~ControllerDriver() = default;

// ---- start

void ControllerDriver::start(LocalBroker broker, Callback<void(Result<int64_t>)> ready) {
  reactor_.post([this, broker = std::move(broker), ready = std::move(ready)]() mutable {
    local_broker_ = std::move(broker);
    ready_ = std::move(ready);
    auto loaded = std::make_shared<std::optional<Result<LoadedMetadata>>>();
    env_.pool(directory_.path())
        .run(reactor_,
             [this, loaded] { loaded->emplace(load_metadata_log(directory_, options_.log, env_.wall_now())); },
             [this, loaded] { on_loaded(std::move(**loaded)); });
  });
}

void ControllerDriver::fail_start(Error error) {
  if (ready_) std::move(ready_)(std::move(error));
}

void ControllerDriver::on_loaded(Result<LoadedMetadata> loaded) {
  if (!loaded) return fail_start(std::move(loaded).error());
  for (auto const& damage : loaded->given_up) {
    env_.log().warn("raft", "{}; the log holds what is in it, and it is removed", damage);
  }
  tip_ = std::move(loaded->replayer);
  // What the log held before is published with this node's first commitment, compared with nothing.
  tip_.take_delta();
  auto const& voters = loaded->raft.voters.voters;
  is_alone_ = voters.size() == 1 && voters.front().key.id == options_.log.self.id;
  bool const has_peers = !is_alone_;
  if (has_peers) {
    // It is not known yet how much of it is committed: another leader may cut off the newest batches.
    metadata::ImageDelta delta;
    bool is_first = true;
    for (auto& one : loaded->tail) {
      delta = is_first ? metadata::compare_images(metadata::Image(), one.image) : std::move(one.delta);
      delta.is_from_snapshot = std::exchange(is_first, false);
      uncommitted_.push_back({one.end, std::move(one.image), std::move(delta)});
    }
    if (is_first && tip_.image().offset >= Offset{0}) {
      delta = metadata::compare_images(metadata::Image(), tip_.image());
      delta.is_from_snapshot = true;
      uncommitted_.push_back({tip_.image().offset + 1, tip_.visible(), std::move(delta)});
    }
  } else {
    tip_delta_ = metadata::compare_images(metadata::Image(), tip_.image());
    tip_delta_.is_from_snapshot = true;
  }
  formatted_ = std::move(loaded->formatted);
  auto quorum = options_.quorum;
  quorum.self = options_.log.self;
  if (auto status = raft_.start(std::move(quorum), *std::move(loaded), options_.network); !status) {
    return fail_start(std::move(status).error());
  }
  is_started_ = true;
  update_description();
  if (has_peers) {
    feed_pauses(pauses::event::Started{});
    arm_pause_watch();
  }
  if (!options_.is_broker) {
    if (ready_) std::move(ready_)(broker_epoch_);
  } else if (has_peers) {
    start_presence();
  }
}

void ControllerDriver::on_leader(LeaderEpoch epoch, Offset log_end, Wall now) {
  if (is_reloading_) return hold([this, epoch, log_end, now] { on_leader(epoch, log_end, now); });
  leading_ = epoch;
  leading_since_ = reactor_.now();
  active_from_ = log_end;
  tip_.skip(log_end - 1, epoch, now.ms);
  uncommitted_.push_back({log_end, tip_.visible(), std::exchange(tip_delta_, {})});
  controller_.reset_sessions(tip_.image(), reactor_.now());
  begin_watch();
  update_description();
  if (tip_.image().metadata_version() == 0 && !append_and_replay(controller_.bootstrap_records(formatted_))) return;
  formatted_ = {};
  register_controller();
  if (options_.is_broker && is_alone_) start_broker();
  channel_.on_leader_changed();
}

// ---- following

void ControllerDriver::on_lost_leadership(LeaderEpoch epoch) {
  if (is_reloading_) return hold([this, epoch] { on_lost_leadership(epoch); });
  // The machine below keeps the same rule.
  if (MR_MUTANT(env_.hooks(), "raft.append_without_leadership")) return;
  leading_.reset();
  is_active_ = false;
  refuse_waiting();
  update_description();
}

void ControllerDriver::on_leader_known(BrokerId leader, LeaderEpoch) {
  if (leader != kNoBroker && leader != options_.controller.node_id) leader_before_ = leader;
  update_description();
  channel_.on_leader_changed();
}

void ControllerDriver::on_leader_answered(Mono asked_at, Offset high_watermark) {
  feed_pauses(pauses::event::QuorumAnswered{asked_at, high_watermark});
}

void ControllerDriver::on_replicated(std::vector<SharedBytes> const& batches) {
  if (is_reloading_) return hold([this, batches] { on_replicated(batches); });
  for (auto const& bytes : batches) {
    record::BatchView const batch(bytes.view());
    if (auto status = replay_batch(batch, tip_); !status) {
      return on_failed({status.error().kind, "the metadata log of the leader: " + status.error().message});
    }
    uncommitted_.push_back({batch.next_offset(), tip_.visible(), tip_.take_delta()});
  }
}

void ControllerDriver::on_truncated(Offset to) {
  if (is_reloading_) return hold([this, to] { on_truncated(to); });
  while (!uncommitted_.empty() && uncommitted_.back().end > to) uncommitted_.pop_back();
  auto const& image = uncommitted_.empty() ? *publisher_.published() : uncommitted_.back().image;
  // At start only the images after the newest batches are kept.
  if (image.offset + 1 != to) return reload(to);
  tip_ = metadata::Replayer(image);
}

void ControllerDriver::reload(Offset to) {
  MR_PROBE(env_.hooks(), "controller.reloaded");
  env_.log().info("controller", "the metadata log was cut to {}; it is read again", to);
  is_reloading_ = true;
  raft_.reload([this, to](metadata::Replayer replayer) {
    is_reloading_ = false;
    MR_ASSERT_VALUES(replayer.image().offset + 1 == to, "the log ends at {}, not {}", replayer.image().offset + 1, to);
    on_snapshot(std::move(replayer));
    while (!held_.empty() && !is_reloading_) {
      auto task = std::move(held_.front());
      held_.pop_front();
      std::move(task)();
    }
  });
}

void ControllerDriver::on_snapshot(metadata::Replayer replayer) {
  if (is_reloading_) {
    held_.emplace_back([this, replayer = std::move(replayer)]() mutable { on_snapshot(std::move(replayer)); });
    return;
  }
  tip_ = std::move(replayer);
  tip_.take_delta();
  uncommitted_.clear();
  auto delta = metadata::compare_images(*publisher_.published(), tip_.image());
  delta.is_from_snapshot = true;
  uncommitted_.push_back({tip_.image().offset + 1, tip_.visible(), std::move(delta)});
}

void ControllerDriver::submit_raft(raft::Request request, std::optional<RaftAddress> leader, env::Reactor& back,
                                   Callback<void(RaftAnswer)> done) {
  reactor_.post([this, request = std::move(request), leader = std::move(leader), &back,
                 done = std::move(done)]() mutable {
    look_for_pause();
    if (leader) raft_.learn_address(*std::move(leader));
    bool const is_fetch = std::holds_alternative<raft::FetchRequest>(request);
    raft_.receive(std::move(request), [&back, done = std::move(done)](RaftAnswer answer) mutable {
      back.post([done = std::move(done), answer = std::move(answer)]() mutable { std::move(done)(std::move(answer)); });
    });
    if (is_fetch && leading_) update_description();
  });
}

// ---- requests

void ControllerDriver::on_request(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                                  Callback<void(metadata::ControllerAnswer)> done) {
  Waiting waiting{tip_.image().offset, deadline, &back, std::move(done), {}};
  auto const now = reactor_.now();
  if (deadline <= now) {
    waiting.answer = metadata::error_answer(request, timed_out());
    return release(std::move(waiting));
  }
  if (!leading_ || is_closed_) {
    waiting.answer = metadata::error_answer(request, {ErrorCode::not_controller, std::nullopt});
    return release(std::move(waiting));
  }
  auto decision = controller_.decide(tip_.image(), request, now);
  waiting.answer = std::move(decision.answer);
  if (!(decision.is_atomic ? append_and_replay(decision.records) : append_in_batches(decision.records))) {
    waiting.answer = metadata::error_answer(request, {ErrorCode::not_controller, std::nullopt});
    return release(std::move(waiting));
  }
  run_probes();
  waiting.seen = tip_.image().offset;
  if (waiting.seen <= publisher_.published()->offset) return release(std::move(waiting));
  waiting_.push_back(std::move(waiting));
  arm_deadline();
}

bool ControllerDriver::append_and_replay(metadata::RecordList const& records) {
  if (records.empty()) return true;
  auto const now = env_.wall_now();
  auto const base = raft_.append(*leading_, records, now);
  if (!base) return false;
  MR_ASSERT(*base == tip_.image().offset + 1);
  auto offset = *base;
  for (auto const& value : records.values()) {
    auto const status = tip_.apply(value.view(), offset, *leading_, now.ms);
    // What the controller decides it must be able to read back.
    MR_ASSERT_VALUES(status.ok(), "{}", status.error().message);
    offset += 1;
  }
  uncommitted_.push_back({offset, tip_.visible(), tip_.take_delta()});
  arm_session_check();
  return true;
}

bool ControllerDriver::append_in_batches(metadata::RecordList const& records) {
  for (size_t at = 0; at < records.size(); at += kRecordsPerBatchMax) {
    if (!leading_ || !append_and_replay(records.slice(at, kRecordsPerBatchMax))) return false;
  }
  return true;
}

void ControllerDriver::release(Waiting waiting) {
  if (waiting.back == &reactor_) return std::move(waiting.done)(std::move(waiting.answer));
  waiting.back->post([done = std::move(waiting.done), answer = std::move(waiting.answer)]() mutable {
    std::move(done)(std::move(answer));
  });
}

// ---- commitment and publication

void ControllerDriver::on_committed(Offset high_watermark) {
  if (is_reloading_) return hold([this, high_watermark] { on_committed(high_watermark); });
  std::optional<metadata::Image> image;
  metadata::ImageDelta delta;
  while (!uncommitted_.empty() && uncommitted_.front().end <= high_watermark) {
    image = std::move(uncommitted_.front().image);
    delta.merge(uncommitted_.front().delta);
    uncommitted_.pop_front();
  }
  update_description();
  if (image) publisher_.publish(*std::move(image), std::move(delta));
}

void ControllerDriver::on_published(metadata::ImagePtr const& image) {
  if (leading_ && !is_closed_ && image->offset + 1 >= active_from_) {
    is_active_ = true;
    resume_clients();
  }
  // Answers leave in the order of their decisions; releasing one may submit the next.
  while (!waiting_.empty() && waiting_.front().seen <= image->offset) {
    auto waiting = std::move(waiting_.front());
    waiting_.pop_front();
    release(std::move(waiting));
  }
  if (presence_) presence_->on_published(*image);
  auto const* self = image->find_broker(options_.controller.node_id);
  bool const is_serving = self != nullptr && self->epoch == broker_epoch_ && !self->is_fenced;
  feed_pauses(pauses::event::Published{image->offset + 1, is_serving});
  // A majority has what this leader began its epoch with.
  if (is_active_) feed_pauses(pauses::event::QuorumAnswered{leading_since_, active_from_});
  maybe_register_controller(*image);
  observe_brokers(*image);
  maybe_snapshot();
}

void ControllerDriver::maybe_snapshot() {
  if (is_closed_ || raft_.is_writing_snapshot() || raft_.bytes_since_snapshot() < options_.snapshot_interval_bytes) return;
  raft_.write_snapshot(*publisher_.published());
}

// Here, or with whoever leads now.
void ControllerDriver::resume_clients() {
  for (auto& task : std::exchange(until_active_, {})) std::move(task)();
}

void ControllerDriver::refuse_waiting() {
  resume_clients();
  for (auto& waiting : std::exchange(waiting_, {})) {
    waiting.answer = error_like(waiting.answer, {ErrorCode::not_controller, std::nullopt});
    release(std::move(waiting));
  }
}

void ControllerDriver::on_failed(Error const& error) {
  leading_.reset();
  is_active_ = false;
  refuse_waiting();
  fail_start(error);
  failed_(error);
}

// ---- timers

void ControllerDriver::arm_deadline() {
  auto const earliest = waiting_.back().deadline;
  if (deadline_timer_ != env::kNoTimer && deadline_armed_ <= earliest) return;
  reactor_.cancel(deadline_timer_);
  deadline_armed_ = earliest;
  deadline_timer_ = reactor_.call_at(earliest, [this] { expire(); });
}

void ControllerDriver::expire() {
  deadline_timer_ = env::kNoTimer;
  auto const now = reactor_.now();
  auto earliest = Mono::never();
  std::deque<Waiting> expired;
  for (auto& waiting : std::exchange(waiting_, {})) {
    if (waiting.deadline > now) earliest = std::min(earliest, waiting.deadline);
    (waiting.deadline > now ? waiting_ : expired).push_back(std::move(waiting));
  }
  if (!waiting_.empty()) {
    deadline_armed_ = earliest;
    deadline_timer_ = reactor_.call_at(earliest, [this] { expire(); });
  }
  // Last: whoever is told may ask again, or make this node resign, which must find all who go on waiting. One that is
  // forgotten then would be answered by the commitment of another leader's records.
  for (auto& waiting : expired) {
    waiting.answer = error_like(waiting.answer, timed_out());
    release(std::move(waiting));
  }
}

// ---- stop

void ControllerDriver::close(Callback<void(Status)> done) {
  reactor_.post([this, done = std::move(done)]() mutable {
    is_closed_ = true;
    is_active_ = false;
    resume_clients();
    reactor_.cancel(deadline_timer_);
    channel_.stop();
    if (presence_) presence_->stop();
    if (!is_started_) return std::move(done)({});
    raft_.close(std::move(done));
  });
}

// ---- the quorum

void ControllerDriver::update_description() {
  auto const& machine = raft_.machine();
  QuorumDescription description;
  description.leader = machine.leader();
  description.epoch = machine.epoch();
  description.high_watermark = machine.high_watermark();
  description.kraft_version = machine.kraft_version();
  auto const now = env_.wall_now().ms;
  auto const mono = reactor_.now();
  auto const wall = [&](std::optional<Mono> at) { return at ? now - to_ms(mono - *at) : int64_t{-1}; };
  description.is_leader = machine.role() == raft::Role::leader;
  if (description.leader != kNoBroker) {
    leaders_seen_ += description.leader != leader_seen_ ? 1 : 0;
    leader_seen_ = description.leader;
    if (leaderless_since_) without_leader_ += mono - *leaderless_since_;
    leaderless_since_.reset();
  } else if (leaders_seen_ > 0 && !leaderless_since_) {
    leaderless_since_ = mono;
  }
  description.leaders_seen = leaders_seen_;
  description.without_leader = without_leader_;
  for (auto const& voter : machine.voters().voters) {
    QuorumReplica replica;
    replica.key = voter.key;
    replica.log_end = Offset{-1};
    for (auto const& progress : machine.voter_progress()) {
      if (progress.key.id != voter.key.id) continue;
      replica.log_end = progress.end;
      replica.last_fetch_ms = wall(progress.fetched_at);
      replica.last_caught_up_ms = wall(progress.caught_up_at);
    }
    if (voter.key.id == machine.self().id) {
      replica.log_end = machine.log_end().offset;
      replica.last_fetch_ms = now;
      replica.last_caught_up_ms = now;
    }
    description.voters.push_back(replica);
    description.nodes.push_back(voter);
  }
  for (auto const& progress : machine.observer_progress(mono)) {
    description.observers.push_back(
        {progress.key, progress.end, wall(progress.fetched_at), wall(progress.caught_up_at)});
  }
  std::lock_guard lock(mutex_);
  description_ = std::move(description);
}

QuorumDescription ControllerDriver::describe_quorum() const {
  QuorumDescription out;
  {
    std::lock_guard lock(mutex_);
    out = description_;
  }
  // A leader has always just heard of itself.
  auto const now = env_.wall_now().ms;
  for (auto& voter : out.voters) {
    if (voter.key.id == out.leader) voter.last_fetch_ms = voter.last_caught_up_ms = now;
  }
  return out;
}

BrokerId ControllerDriver::active_controller() const {
  std::lock_guard lock(mutex_);
  return description_.leader;
}

}  // namespace millrace::runtime
