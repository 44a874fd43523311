// A partition that follows: what its leader sends is appended as it is, and what the leader has not is cut.
#include "millrace/base/assert.h"
#include "millrace/record/batch.h"
#include "millrace/replication/fetched_batches.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

bool PartitionDriver::is_following(LeaderEpoch epoch) const {
  return status() == PartitionStatus::follower && machine_.role() == replication::Role::follower && machine_.epoch() == epoch;
}

FetchPosition PartitionDriver::fetch_position() const {
  auto const latest = log_->epochs().latest();
  return {machine_.epoch(), end_.offset, latest ? latest->epoch : kNoLeaderEpoch, machine_.log_start_offset()};
}

void PartitionDriver::answer_follower(FollowAnswer::What what, FollowDone done) {
  bool const is_follower = machine_.role() == replication::Role::follower && machine_.leader() != kNoBroker;
  if (what == FollowAnswer::What::leave || !is_follower) {
    return std::move(done)({FollowAnswer::What::leave, {}});
  }
  if (what == FollowAnswer::What::retry || machine_.may_fetch()) return std::move(done)({what, fetch_position()});
  follower_waits_ = std::move(done);
  maybe_sync();
}

// Somebody's next Fetch waited for a sync, or for a role that is over.
void PartitionDriver::release_follower() {
  if (!follower_waits_) return;
  bool const is_follower = machine_.role() == replication::Role::follower && status() == PartitionStatus::follower;
  if (is_follower && !machine_.may_fetch()) return;
  auto done = std::move(follower_waits_);
  follower_waits_ = {};
  answer_follower(is_follower ? FollowAnswer::What::fetch : FollowAnswer::What::leave, std::move(done));
}

void PartitionDriver::begin_following(LeaderEpoch epoch, FollowDone done, RunList& here) {
  post(
      [this, epoch, done = std::move(done)]() mutable {
        with_log([this, epoch, done = std::move(done)]() mutable {
          answer_follower(is_following(epoch) ? FollowAnswer::What::fetch : FollowAnswer::What::leave, std::move(done));
        });
      },
      here);
}

void PartitionDriver::fetched(FetchedPart part, FollowDone done, RunList& here) {
  post(
      [this, part = std::move(part), done = std::move(done)]() mutable {
        with_log([this, part = std::move(part), done = std::move(done)]() mutable {
          if (status() != PartitionStatus::follower || !machine_.may_apply(part.asked.leader_epoch, part.asked.offset)) {
            return answer_follower(is_following(part.asked.leader_epoch) ? FollowAnswer::What::fetch : FollowAnswer::What::leave,
                                   std::move(done));
          }
          if (!part.diverging) return append_fetched(std::move(part), std::move(done));
          auto const own = log_->end_of_epoch(part.diverging->epoch);
          auto const point = machine_.truncation_point(*part.diverging, {own.epoch, own.end});
          truncate(point, [this, done = std::move(done)](FollowAnswer::What what) mutable { answer_follower(what, std::move(done)); });
        });
      },
      here);
}

void PartitionDriver::fetched_out_of_range(FetchPosition asked, Offset leader_start, Offset leader_end, FollowDone done,
                                           RunList& here) {
  post(
      [this, asked, leader_start, leader_end, done = std::move(done)]() mutable {
        with_log([this, asked, leader_start, leader_end, done = std::move(done)]() mutable {
          if (status() != PartitionStatus::follower || !machine_.may_apply(asked.leader_epoch, asked.offset)) {
            return answer_follower(is_following(asked.leader_epoch) ? FollowAnswer::What::fetch : FollowAnswer::What::leave,
                                   std::move(done));
          }
          auto then = [this, done = std::move(done)](FollowAnswer::What what) mutable { answer_follower(what, std::move(done)); };
          // A leader that was elected uncleanly may have less; otherwise it has deleted what comes next.
          if (leader_end < end_.offset) return truncate(std::max(leader_end, log_->log_start()), std::move(then));
          if (leader_start > end_.offset) return start_log_at(leader_start, std::move(then));
          then(FollowAnswer::What::fetch);
        });
      },
      here);
}

// ---- Appending

void PartitionDriver::append_fetched(FetchedPart part, FollowDone done) {
  if (part.records.empty()) {
    adopt_leader_marks(part);
    return answer_follower(FollowAnswer::What::fetch, std::move(done));
  }
  bool const is_empty = end_.offset == machine_.log_start_offset();
  auto checked = replication::check_fetched(part.records.view(), end_.offset, is_empty, part.asked.leader_epoch);
  if (!checked || checked->batches.empty() || log_->directory().is_low_on_space()) {
    MR_PROBE(hooks(), "partition.fetched_refused");
    auto const why = !checked                     ? checked.error().message
                     : checked->batches.empty() ? fmt::format("{} bytes without a whole batch of its epoch", part.records.size())
                                                : fmt::format("too little space in {}", log_->directory().path());
    env_.log().warn("replication", "{} at {}: what the leader sent is not appended: {}", identity_.text, end_.offset, why);
    return answer_follower(FollowAnswer::What::retry, std::move(done));
  }

  struct Write {
    FetchedPart part;
    FollowDone done;
    std::vector<ByteView> pieces;
    Offset log_start;
    Result<storage::Appended> result = Error{};
  };
  auto write = std::make_shared<Write>();
  write->part = std::move(part);
  write->done = std::move(done);
  write->pieces = std::move(checked->batches);
  write->log_start = machine_.log_start_offset();
  auto const wall = env_.wall_now();
  bool const must_restart = checked->begins_below;
  bool const is_short = !must_restart && log_->is_append_short(write->pieces, wall) && !MR_CHAOS(hooks(), "partition.slow_append");
  auto job = [log = log_, write, wall, must_restart, first = checked->first] {
    if (must_restart) {
      if (auto emptied = log->truncate_fully_and_start_at(first); !emptied) {
        write->result = std::move(emptied).error();
        return;
      }
    }
    write->result = log->append(write->pieces, wall);
    if (must_restart && write->result) log->advance_log_start(write->log_start);
  };
  auto finish = [this, write, must_restart] {
    if (!write->result) {
      env_.log().error("replication", "{}: append of {} batches from the leader failed: {}", identity_.text,
                       write->pieces.size(), write->result.error().message);
      if (log_->directory().is_offline()) {
        go_offline(log_->directory().offline_reason());
        return answer_follower(FollowAnswer::What::leave, std::move(write->done));
      }
      if (must_restart) on_truncated();
      return answer_follower(FollowAnswer::What::retry, std::move(write->done));
    }
    if (must_restart) {
      batch_ends_.clear();
      high_watermark_ = last_stable_ = log_->end();
    }
    end_ = write->result->end;
    machine_.on_appended({end_.offset}, now(), effects_);
    auto position = end_.position;
    for (auto const& piece : write->pieces) position = position - static_cast<int64_t>(piece.size());
    for (auto const& piece : write->pieces) {
      position = position + static_cast<int64_t>(piece.size());
      batch_ends_.push_back({record::BatchView(piece).next_offset(), position});
    }
    while (batch_ends_.size() > kBatchEndsMax) batch_ends_.pop_front();
    is_marks_dirty_ = true;
    adopt_leader_marks(write->part);
    if (log_->epochs().latest() && log_->epochs().latest()->epoch != published_epoch_) publish_epochs();
    answer_follower(FollowAnswer::What::fetch, std::move(write->done));
    maybe_sync();
  };
  if (!is_short) return run_log_job(std::move(job), std::move(finish));
  is_log_busy_.store(true, std::memory_order_relaxed);
  pool_->run_short(here().reactor(), std::move(job),
                   [self = std::static_pointer_cast<PartitionDriver>(shared_from_this()), finish = std::move(finish),
                    list = &here()]() mutable {
                     self->post(
                         [self, finish = std::move(finish)]() mutable {
                           self->is_log_busy_.store(false, std::memory_order_relaxed);
                           finish();
                           self->log_is_free();
                         },
                         *list);
                   });
}

void PartitionDriver::adopt_leader_marks(FetchedPart const& part) {
  machine_.on_event(replication::LeaderMarks{part.asked.leader_epoch, part.high_watermark}, now(), effects_);
  auto const start = std::min(part.log_start, end_.offset);
  if (start > machine_.log_start_offset()) {
    log_->advance_log_start(start);
    machine_.on_event(replication::LogStartMoved{start}, now(), effects_);
    is_marks_dirty_ = true;
    publish_epochs();
  }
  apply_effects();
}

// ---- Cutting

// A full disk refuses a cut that it cannot note: the log is as it was, and whoever asked tries again.
FollowAnswer::What PartitionDriver::cut_done(Status const& status) {
  if (status) {
    on_truncated();
    return FollowAnswer::What::fetch;
  }
  env_.log().error("replication", "{}: {}", identity_.text, status.error().message);
  if (status.error().kind == ErrorKind::no_space && !log_->directory().is_offline()) {
    MR_PROBE(hooks(), "partition.cut_refused");
    return FollowAnswer::What::retry;
  }
  go_offline(status.error().message);
  return FollowAnswer::What::leave;
}

void PartitionDriver::truncate(Offset to, CutDone then) {
  if (to < machine_.high_watermark()) {
    MR_PROBE(hooks(), "partition.cut_below_mark");
    env_.log().warn("replication", "{}: cut from {} to {}, below the high watermark {}: its leader was elected without all committed "
                    "records", identity_.text, end_.offset, to, machine_.high_watermark());
  } else if (to < end_.offset) {
    env_.log().info("replication", "{}: cut from {} to {}, where epoch {}'s leader parts from it", identity_.text, end_.offset, to,
                    machine_.epoch());
  }
  if (to < machine_.log_start_offset()) return start_log_at(std::max(to, Offset(0)), std::move(then));
  auto status = std::make_shared<Status>();
  run_log_job([log = log_, to, status] { *status = log->truncate_to(to); },
              [this, status, then = std::move(then)]() mutable { std::move(then)(cut_done(*status)); });
}

void PartitionDriver::start_log_at(Offset start, CutDone then) {
  MR_PROBE(hooks(), "partition.log_restarted");
  env_.log().info("replication", "{}: its log of {} to {} is dropped and starts at {}, as the leader's", identity_.text,
                  machine_.log_start_offset(), end_.offset, start);
  auto status = std::make_shared<Status>();
  run_log_job([log = log_, start, status] { *status = log->truncate_fully_and_start_at(start); },
              [this, status, then = std::move(then)]() mutable {
                if (status->ok()) {
                  batch_ends_.clear();
                  high_watermark_ = last_stable_ = log_->end();
                }
                std::move(then)(cut_done(*status));
              });
}

void PartitionDriver::on_truncated() {
  end_ = log_->end();
  forget_syncs_past_end();
  Fifo<storage::LogMark> kept;
  for (auto const& mark : batch_ends_) {
    if (mark.offset <= end_.offset) kept.push_back(mark);
  }
  batch_ends_ = std::move(kept);
  if (high_watermark_.offset > end_.offset) high_watermark_ = end_;
  if (last_stable_.offset > end_.offset) last_stable_ = end_;
  machine_.on_event(replication::Truncated{log_->log_start(), end_.offset}, now(), effects_);
  is_marks_dirty_ = true;
  apply_effects();
  publish_epochs();
}

}  // namespace millrace::runtime
