#include "millrace/runtime/partition_driver.h"

#include "millrace/base/assert.h"
#include "millrace/record/batch.h"

namespace millrace::runtime {

using replication::Outcome;
using storage::LogMark;
using storage::Marks;

namespace {

ErrorCode to_error(storage::ClaimVerdict verdict) {
  switch (verdict) {
    case storage::ClaimVerdict::out_of_order_sequence: return ErrorCode::out_of_order_sequence_number;
    case storage::ClaimVerdict::invalid_producer_epoch: return ErrorCode::invalid_producer_epoch;
    case storage::ClaimVerdict::invalid_transaction_state: return ErrorCode::invalid_txn_state;
    case storage::ClaimVerdict::transaction_coordinator_fenced: return ErrorCode::transaction_coordinator_fenced;
    case storage::ClaimVerdict::append:
    case storage::ClaimVerdict::duplicate: break;
  }
  return ErrorCode::none;
}

}  // namespace

PartitionDriver::PartitionDriver(env::Env& env, PartitionIdentity identity, TopicConfigPtr config)
    : Driver(env.hooks()),
      env_(env),
      identity_(std::move(identity)),
      epochs_(std::make_shared<storage::LeaderEpochs const>()),
      config_(config),
      machine_(env.hooks()),
      runner_config_(std::move(config)) {}

PartitionDriver::~PartitionDriver() = default;

ErrorCode PartitionDriver::storage_error(Error const& error) {
  switch (error.kind) {
    case ErrorKind::no_space:
    case ErrorKind::io:
    case ErrorKind::cancelled: return ErrorCode::kafka_storage_error;
    default: return ErrorCode::unknown_server_error;
  }
}

// ---- Requests

void PartitionDriver::append(AppendRequest request, RunList& here) {
  bool must_start = false;
  auto urgency = Urgency::turn_end;
  {
    std::lock_guard lock(mutex_);
    if (queued_.size() < kQueuedAppendsMax && queued_bytes_ < kQueuedAppendBytesMax) {
      queued_bytes_ += static_cast<int64_t>(request.batch.size());
      queued_.push_back(std::move(request));
      if (queued_bytes_ > kRunAtOnceBytes) urgency = Urgency::now;
      // While the log is busy nobody can take the request; whoever frees the log looks again.
      must_start = !is_log_busy_.load(std::memory_order_relaxed) && must_start_locked(urgency);
    }
  }
  if (must_start) start(urgency, here);
  if (request.sink == nullptr) return;
  MR_PROBE(hooks(), "partition.append_queue_full");
  request.sink->on_answer(request.index, {.error = ErrorCode::request_timed_out});
}

void PartitionDriver::give_up(std::shared_ptr<AppendSink> sink, uint32_t index, RunList& here) {
  post(
      [this, sink = std::move(sink), index] {
        for (size_t i = 0; i < pending_.size(); ++i) {
          if (pending_[i].sink != sink || pending_[i].index != index) continue;
          machine_.on_event(replication::GiveUp{first_pending_ticket_ + i}, now(), effects_);
          return apply_effects();
        }
      },
      here);
}

void PartitionDriver::follower_fetched(ReplicaFetch const& fetch, Callback<void(Outcome)> done, RunList& here) {
  post(
      [this, fetch, done = std::move(done)]() mutable {
        immediate_outcome_ = Outcome::not_leader;
        replication::FollowerFetched event{kImmediateTicket, fetch.replica, fetch.leader_epoch, fetch.offset,
                                           fetch.broker_epoch, fetch.log_start};
        if (fetch.last_fetched_epoch >= LeaderEpoch(0) && log_ != nullptr) {
          auto const end = epochs_->end_of(fetch.last_fetched_epoch, end_.offset);
          event.is_diverging = end.epoch < fetch.last_fetched_epoch || end.end < fetch.offset;
        }
        machine_.on_event(event, now(), effects_);
        apply_effects();
        auto const outcome = immediate_outcome_;
        if (is_marks_dirty_) publish_marks();  // its answer tells the mark that its Fetch moved
        else publish_figures();
        std::move(done)(outcome);
      },
      here);
}

// ---- Gathering and writing

bool PartitionDriver::take_requests_locked() {
  if (is_written_) return true;
  if (is_log_busy_.load(std::memory_order_relaxed)) return false;
  if (!gathered_.empty()) return true;
  if (queued_.empty()) return false;
  if (queued_bytes_ <= kGatheredBytesMax) {
    gathered_.swap(queued_);
    queued_bytes_ = 0;
    return true;
  }
  int64_t bytes = 0;
  size_t count = 0;
  while (count < queued_.size() && (count == 0 || bytes < kGatheredBytesMax)) {
    bytes += static_cast<int64_t>(queued_[count++].batch.size());
  }
  auto const cut = queued_.begin() + static_cast<std::ptrdiff_t>(count);
  gathered_.assign(std::make_move_iterator(queued_.begin()), std::make_move_iterator(cut));
  queued_.erase(queued_.begin(), cut);
  queued_bytes_ -= bytes;
  return true;
}

size_t PartitionDriver::run_requests() {
  bool is_written = false;
  {
    std::lock_guard lock(mutex_);
    is_written = std::exchange(is_written_, false);
  }
  if (is_written) {
    auto const count = accepted_.size();
    on_written();
    return count;
  }
  // An event of this round has taken the log: what was gathered stays until it is free.
  if (is_log_busy_.load(std::memory_order_relaxed)) return 0;
  auto const count = gathered_.size();
  write_gathered();
  return count;
}

// No follower keeps the mark back that another leader has fenced off.
bool PartitionDriver::is_unsure_alone() {
  return machine_.replica_count() > 1 && machine_.in_sync_count() == 1 && may_be_superseded(now());
}

void PartitionDriver::refuse(AppendRequest& request, ErrorCode error) {
  AppendAnswer answer{.error = error};
  // Kafka tells the log start of a log that it got as far as asking.
  if (status() == PartitionStatus::leader && error != ErrorCode::kafka_storage_error) {
    answer.log_start_offset = machine_.log_start_offset();
  }
  answered_.push_back({std::move(request.sink), request.index, answer});
}

void PartitionDriver::write_gathered() {
  MR_ASSERT(!is_log_busy_.load(std::memory_order_relaxed));
  accepted_.clear();
  pieces_.clear();
  auto next_offset = end_.offset;
  auto const epoch = machine_.epoch();
  for (auto& request : gathered_) accept(request, epoch, next_offset);
  gathered_.clear();
  if (accepted_.empty()) return;
  MR_ASSERT(!pieces_.empty());

  is_log_busy_.store(true, std::memory_order_relaxed);
  auto const wall = env_.wall_now();
  auto job = [this, wall] { write_result_ = log_->append(pieces_, wall); };
  auto done = [self = std::static_pointer_cast<PartitionDriver>(shared_from_this()), list = &here()] {
    bool must_start = false;
    {
      std::lock_guard lock(self->mutex_);
      self->is_written_ = true;
      must_start = self->must_start_locked(Urgency::now);
    }
    if (must_start) self->start(Urgency::now, *list);
  };
  // The job's `this` is kept alive by `done`, which the pool holds as long.
  if (log_->is_append_short(pieces_, wall) && !MR_CHAOS(hooks(), "partition.slow_append")) {
    pool_->run_short(here().reactor(), std::move(job), std::move(done));
  } else {
    MR_PROBE(hooks(), "partition.append_on_pool");
    pool_->run(here().reactor(), std::move(job), std::move(done));
  }
}

void PartitionDriver::accept(AppendRequest& request, LeaderEpoch epoch, Offset& next_offset) {
  auto const refuse_for_now = [&](ErrorCode error) {
    remember_refusal(next_offset);
    refuse(request, error);
  };
  auto const outcome = machine_.may_append(request.wants_all_replicas);
  if (outcome != Outcome::done) return refuse_for_now(refusal_of(outcome));
  if (request.wants_all_replicas && is_unsure_alone()) return refuse_for_now(ErrorCode::not_leader_or_follower);
  if (log_->directory().is_low_on_space()) return refuse_for_now(ErrorCode::kafka_storage_error);

  record::BatchView const batch{ByteView(request.batch)};
  if (static_cast<int64_t>(batch.size_bytes()) > runner_config_->log.segment_bytes) {
    return refuse(request, ErrorCode::record_list_too_large);
  }
  auto const base_offset = next_offset;
  auto const last_offset = base_offset + batch.last_offset_delta();
  if (batch.has_producer_id()) {
    record::set_base_offset(request.batch, base_offset);
    auto const claim = storage::ProducerClaim::of(request.batch);
    if (!claim.ok()) return refuse(request, ErrorCode::invalid_record);
    auto const answer = log_->producers().check(*claim, &overlay_, request.origin);
    if (answer.verdict == storage::ClaimVerdict::duplicate) {
      Accepted duplicate{.request = std::move(request),
                         .base_offset = answer.batch.first_offset(),
                         .last_offset = answer.batch.last_offset,
                         .duplicate_time_ms = answer.batch.timestamp_ms,
                         .is_duplicate = true};
      if (answer.is_in_flight) {
        MR_PROBE(hooks(), "partition.duplicate_in_flight");
        accepted_.push_back(std::move(duplicate));
      } else {
        AppendAnswer const told{ErrorCode::none, duplicate.base_offset, duplicate.duplicate_time_ms,
                                machine_.log_start_offset()};
        await(duplicate, told);
      }
      return;
    }
    bool const is_early = may_gap_close(answer);
    if (is_early || answer.verdict != storage::ClaimVerdict::append) {
      // Of the errors that clients try again after, it says that nothing was written and asks for no new metadata.
      auto const error = is_early ? ErrorCode::not_enough_replicas : to_error(answer.verdict);
      log_refusal(*claim, answer, error);
      return refuse(request, error);
    }
    overlay_.add(log_->producers(), *claim);
  } else {
    record::set_base_offset(request.batch, base_offset);
  }
  record::set_leader_epoch(request.batch, epoch);
  pieces_.push_back(request.batch);
  accepted_.push_back({.request = std::move(request), .base_offset = base_offset, .last_offset = last_offset});
  next_offset = last_offset + 1;
}

// What is missing before a gap is often on its way: it was refused for now, and what the client had sent behind it comes
// when that is over. Clients that are told of a sequence out of order then may send all that is unanswered in a new epoch,
// written or not, and what an unknown producer sent first would come too late; told to try again they send it in order.
bool PartitionDriver::may_gap_close(storage::ClaimAnswer const& answer) {
  bool const is_unknown_since = answer.last_offset < refused_for_now_.end;
  return answer.is_gap && is_unknown_since && now() < refused_for_now_.forgotten_at;
}

// A client that is told so gives batches new epochs or fails, so an operator will ask why.
void PartitionDriver::log_refusal(storage::ProducerClaim const& claim, storage::ClaimAnswer const& answer, ErrorCode error) {
  bool const is_told = error == ErrorCode::out_of_order_sequence_number || error == ErrorCode::invalid_producer_epoch ||
                       error == ErrorCode::not_enough_replicas;
  if (!is_told) return;
  if (now() < next_refusal_log_) {
    ++unlogged_refusals_;
    return;
  }
  next_refusal_log_ = now() + kRefusalLogEvery;
  auto const unlogged = std::exchange(unlogged_refusals_, 0);
  env_.log().warn("partition",
                  "{}: sequences {} to {} of producer {} epoch {} refused with {}: next is {} of epoch {}; leader epoch {}{}",
                  identity_.text, claim.first_sequence, claim.last_sequence, claim.producer_id, claim.epoch,
                  error, answer.next_sequence, answer.known_epoch, machine_.epoch(),
                  unlogged == 0 ? "" : fmt::format("; {} more refused since the last such line", unlogged));
}

void PartitionDriver::on_written() {
  overlay_.clear();
  auto result = std::exchange(write_result_, Result<storage::Appended>(Error{}));
  if (!result.ok()) {
    MR_PROBE(hooks(), "partition.append_failed");
    env_.log().error("partition", "append of {} batches to {}-{} failed: {}", pieces_.size(), identity_.name.topic,
                     identity_.name.partition, result.error().message);
    remember_refusal(end_.offset);
    // The tail has been cut: nothing of the write is there, and whoever repeated a part of it shares its fate.
    for (auto& accepted : accepted_) refuse(accepted.request, storage_error(result.error()));
    accepted_.clear();
    forget_syncs_past_end();
    is_log_busy_.store(false, std::memory_order_relaxed);
    if (log_->directory().is_offline()) go_offline(log_->directory().offline_reason());
    return log_is_free();
  }

  auto const end = result->end;
  machine_.on_appended({end.offset}, now(), effects_);
  // A sync may have covered this write, and have been reported, before the write itself was.
  if (synced_ > machine_.synced_offset()) {
    machine_.on_event(replication::Synced{std::min(synced_, end.offset)}, now(), effects_);
  }
  end_ = end;
  if (machine_.high_watermark() < end.offset) {
    auto position = end.position;
    for (auto const& piece : pieces_) position = position - static_cast<int64_t>(piece.size());
    size_t piece_index = 0;
    for (auto const& accepted : accepted_) {
      if (accepted.is_duplicate) continue;
      position = position + static_cast<int64_t>(pieces_[piece_index++].size());
      batch_ends_.push_back({accepted.last_offset + 1, position});
    }
    // Looked up in the log instead when a mark falls between those that are kept.
    while (batch_ends_.size() > kBatchEndsMax) batch_ends_.pop_front();
  }
  is_marks_dirty_ = true;
  apply_effects();
  for (auto& accepted : accepted_) {
    if (!accepted.is_duplicate) accepted.request.sink->on_written(accepted.request.index, accepted.base_offset);
    AppendAnswer const answer{
        ErrorCode::none, accepted.base_offset,
        accepted.is_duplicate ? accepted.duplicate_time_ms : accepted.request.append_time_ms, machine_.log_start_offset()};
    await(accepted, answer);
  }
  accepted_.clear();
  pieces_.clear();
  is_log_busy_.store(false, std::memory_order_relaxed);
  maybe_sync();
  log_is_free();
}

void PartitionDriver::await(Accepted& accepted, AppendAnswer const& answer) {
  auto& request = accepted.request;
  auto const after_offset = accepted.last_offset + 1;
  // As in Kafka, whose append itself flushes when so many messages are not on the disk yet, before acks=1 is answered.
  bool const awaits_sync = !request.wants_all_replicas && after_offset - synced_ >= runner_config_->flush_messages &&
                           !MR_MUTANT(hooks(), "acks_one_before_sync");
  bool const is_answered_now = (!request.wants_all_replicas && !awaits_sync) || MR_MUTANT(hooks(), "reply_at_append") ||
                               (accepted.is_duplicate && MR_MUTANT(hooks(), "duplicate_answered_before_mark"));
  if (is_answered_now) {
    answered_.push_back({std::move(request.sink), request.index, answer});
    return;
  }
  auto const ticket = first_pending_ticket_ + pending_.size();
  pending_.push_back({std::move(request.sink), request.index, answer});
  if (awaits_sync)
    machine_.on_event(replication::AwaitSynced{ticket, after_offset}, now(), effects_);
  else
    machine_.on_await_committed({ticket, after_offset}, now(), effects_);
  apply_effects();
}

void PartitionDriver::apply_effects() {
  std::vector<replication::Reply> replied_deletions;
  for (auto const& reply : effects_.replies) {
    if (reply.ticket == kImmediateTicket) {
      immediate_outcome_ = reply.outcome;
      continue;
    }
    if (reply.ticket >= kFirstDeletionTicket) {
      replied_deletions.push_back(reply);
      continue;
    }
    auto& pending = pending_[reply.ticket - first_pending_ticket_];
    if (reply.outcome != Outcome::done) {
      pending.answer.error = refusal_of(reply.outcome);
      // Its offsets stay in the answer where the append itself succeeded, as in Kafka.
    } else if (is_unsure_alone()) {
      pending.answer.error = ErrorCode::not_leader_or_follower;
    }
    answered_.push_back({std::move(pending.sink), pending.index, pending.answer});
    pending.sink = nullptr;
  }
  while (!pending_.empty() && pending_.front().sink == nullptr) {
    pending_.pop_front();
    ++first_pending_ticket_;
  }
  if (effects_.mark_moved) is_marks_dirty_ = true;
  auto change = std::exchange(effects_.isr_change, std::nullopt);
  effects_.clear();
  for (auto const& reply : replied_deletions) {
    auto const found = deletions_.find(reply.ticket);
    if (found == deletions_.end()) continue;
    auto const deletion = found->second;
    deletions_.erase(found);
    deletion->error = refusal_of(reply.outcome);
    finish_deletion(deletion);
  }
  if (auto* const sink = isr_changes_.load(); change && sink != nullptr) {
    sink->change_isr(std::static_pointer_cast<PartitionDriver>(shared_from_this()), *std::move(change));
  }
}

ErrorCode PartitionDriver::refusal_of(Outcome outcome) const {
  switch (outcome) {
    case Outcome::done: return ErrorCode::none;
    case Outcome::not_leader:
      if (status() == PartitionStatus::offline) return ErrorCode::kafka_storage_error;
      if (status() == PartitionStatus::deleted) return ErrorCode::unknown_topic_or_partition;
      return ErrorCode::not_leader_or_follower;
    case Outcome::fenced_leader_epoch: return ErrorCode::fenced_leader_epoch;
    case Outcome::unknown_leader_epoch: return ErrorCode::unknown_leader_epoch;
    case Outcome::offset_out_of_range: return ErrorCode::offset_out_of_range;
    case Outcome::not_enough_replicas: return ErrorCode::not_enough_replicas;
    case Outcome::not_enough_replicas_after_append: return ErrorCode::not_enough_replicas_after_append;
    case Outcome::timed_out: return ErrorCode::request_timed_out;
    case Outcome::storage_failed: return ErrorCode::kafka_storage_error;
    case Outcome::not_a_replica:
    case Outcome::stale_broker_epoch: return ErrorCode::not_leader_or_follower;
  }
  return ErrorCode::unknown_server_error;
}

// ---- Publishing and replying

void PartitionDriver::finish_round() {
  if (is_marks_dirty_) publish_marks();
  // A client that was answered must find the marks that its answer rests on, so these go out after them.
  while (!answered_.empty()) {
    answering_.swap(answered_);
    for (auto& answered : answering_) answered.sink->on_answer(answered.index, answered.answer);
    answering_.clear();
  }
  tell_appended();
}

// Whoever was not answered in the round that appended it.
void PartitionDriver::tell_appended() {
  auto first = pending_.size();
  while (first > 0 && !pending_[first - 1].is_told) --first;
  for (auto i = first; i < pending_.size(); ++i) {
    pending_[i].is_told = true;
    if (pending_[i].sink != nullptr) pending_[i].sink->on_appended(pending_[i].index);
  }
}

LogMark PartitionDriver::mark_at(Offset offset) {
  if (offset == end_.offset) return end_;
  auto const found = std::lower_bound(batch_ends_.begin(), batch_ends_.end(), offset,
                                      [](LogMark const& mark, Offset o) { return mark.offset < o; });
  if (found != batch_ends_.end() && found->offset == offset) return *found;
  auto const position = log_->view().position_of(offset, end_);
  // An offset between start and end has a position unless the file cannot be read; then readers wait at the old mark.
  return position.ok() ? LogMark{offset, *position} : LogMark{std::min(offset, high_watermark_.offset), high_watermark_.position};
}

void PartitionDriver::publish_marks() {
  is_marks_dirty_ = false;
  if (machine_.replica_count() > 1 || replica_count_.load(std::memory_order_relaxed) > 1) publish_figures();
  auto const mark = machine_.high_watermark();
  if (high_watermark_.offset != mark) high_watermark_ = mark_at(mark);
  while (!batch_ends_.empty() && batch_ends_.front().offset < mark) batch_ends_.pop_front();
  if (!is_log_busy_.load(std::memory_order_relaxed)) {
    log_->on_high_watermark(mark);
    auto const stable = log_->last_stable_offset(mark);
    if (stable == mark) last_stable_ = high_watermark_;
    else if (last_stable_.offset != stable) last_stable_ = mark_at(stable);
  }
  // A write has the producer state: the last stable offset follows when it is done.
  if (last_stable_.offset > high_watermark_.offset) last_stable_ = high_watermark_;
  Marks const marks{machine_.epoch(), machine_.log_start_offset(), last_stable_, high_watermark_, end_};
  marks_.publish(marks);
  notify_waiters(marks);
}

void PartitionDriver::publish_figures() {
  bool const is_leader = machine_.role() == replication::Role::leader;
  replica_count_.store(is_leader ? machine_.replica_count() : 0, std::memory_order_relaxed);
  in_sync_count_.store(machine_.in_sync_count(), std::memory_order_relaxed);
  is_under_min_in_sync_.store(is_leader && machine_.is_under_min_in_sync(), std::memory_order_relaxed);
  follower_lag_.store(is_leader ? machine_.lag_max() : 0, std::memory_order_relaxed);
  std::lock_guard lock(published_mutex_);
  machine_.list_followers(followers_);
}

void PartitionDriver::publish_epochs() {
  published_epoch_ = log_->epochs().latest() ? log_->epochs().latest()->epoch : kNoLeaderEpoch;
  auto fresh = std::make_shared<storage::LeaderEpochs const>(log_->epochs());
  std::lock_guard lock(published_mutex_);
  epochs_ = std::move(fresh);
}

void PartitionDriver::set_status(PartitionStatus status) {
  std::vector<std::pair<env::Reactor*, Task>> waiting;
  {
    std::lock_guard lock(published_mutex_);
    status_.store(status, std::memory_order_release);
    if (status != PartitionStatus::opening) waiting.swap(when_open_);
  }
  for (auto& [reactor, task] : waiting) reactor->post(std::move(task));
  wake_all_waiters();
}

// ---- Syncs

void PartitionDriver::maybe_sync() {
  if (is_sync_in_flight_ || synced_ >= end_.offset) return;
  auto const& config = *runner_config_;
  bool const is_awaited = machine_.is_sync_awaited() || (follower_waits_ && end_.offset > synced_);
  if (end_.offset - synced_ >= config.flush_messages || is_awaited) return sync_now();
  constexpr int64_t kFlushMsNever = std::numeric_limits<int64_t>::max();
  if (config.flush_ms == kFlushMsNever || is_flush_timer_armed_) return;
  if (config.flush_ms <= 0) return sync_now();
  is_flush_timer_armed_ = true;
  constexpr int64_t kFlushMsMax = 24LL * 3600 * 1000;
  here().reactor().call_at(now() + from_ms(std::min(config.flush_ms, kFlushMsMax)),
                           [self = std::static_pointer_cast<PartitionDriver>(shared_from_this()), list = &here()] {
                             self->post(
                                 [self] {
                                   self->is_flush_timer_armed_ = false;
                                   if (!self->is_sync_in_flight_ && self->synced_ < self->end_.offset) self->sync_now();
                                 },
                                 *list);
                           });
}

void PartitionDriver::sync_now() {
  is_sync_in_flight_ = true;
  sync_cut_ = Offset(std::numeric_limits<int64_t>::max());
  auto result = std::make_shared<Result<Offset>>(Error{});
  pool_->run(here().reactor(), [log = log_, result] { *result = log->sync(); },
             [self = std::static_pointer_cast<PartitionDriver>(shared_from_this()), result, list = &here()] {
               self->post([self, result] { self->on_synced(std::move(*result)); }, *list);
             });
}

// A sync may have covered what is cut now, and one that is in flight may have begun before the cut: neither says anything
// of what is written there next.
void PartitionDriver::forget_syncs_past_end() {
  synced_ = std::min(synced_, end_.offset);
  sync_cut_ = std::min(sync_cut_, end_.offset);
}

void PartitionDriver::on_synced(Result<Offset> result) {
  is_sync_in_flight_ = false;
  if (!result.ok()) return go_offline(result.error().message);
  auto const synced = std::min(*result, sync_cut_);
  synced_ = std::max(synced_, synced);
  machine_.on_event(replication::Synced{synced}, now(), effects_);
  apply_effects();
  release_follower();
  maybe_sync();
}

// ---- The log as a whole

void PartitionDriver::with_log(Task task) {
  if (!is_log_busy_.load(std::memory_order_relaxed)) return std::move(task)();
  log_tasks_.push_back(std::move(task));
}

void PartitionDriver::log_is_free() {
  while (!log_tasks_.empty() && !is_log_busy_.load(std::memory_order_relaxed)) {
    auto task = std::move(log_tasks_.front());
    log_tasks_.pop_front();
    std::move(task)();
  }
}

void PartitionDriver::run_log_job(Task job, Task done) {
  MR_ASSERT(!is_log_busy_.load(std::memory_order_relaxed));
  is_log_busy_.store(true, std::memory_order_relaxed);
  auto finished = std::make_shared<Task>(std::move(done));
  pool_->run(here().reactor(), std::move(job),
             [self = std::static_pointer_cast<PartitionDriver>(shared_from_this()), finished, list = &here()] {
               self->post(
                   [self, finished] {
                     self->is_log_busy_.store(false, std::memory_order_relaxed);
                     self->is_marks_dirty_ = true;
                     std::move(*finished)();
                     self->log_is_free();
                   },
                   *list);
             });
}

void PartitionDriver::go_offline(std::string const& reason) {
  if (status() == PartitionStatus::offline) return;
  env_.log().error("partition", "{}-{} goes offline: {}", identity_.name.topic, identity_.name.partition, reason);
  set_status(PartitionStatus::offline);
  machine_.on_event(replication::Resign{Outcome::storage_failed}, now(), effects_);
  apply_effects();
  publish_figures();
  release_follower();
  if (log_ != nullptr) return;
  // It could not be opened: what waited for it is refused now.
  is_log_busy_.store(false, std::memory_order_relaxed);
  log_is_free();
}

}  // namespace millrace::runtime
