// Work on a partition's log as a whole: configuration, record deletion, retention, compaction, producers.
#include "millrace/base/assert.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

using replication::Outcome;

void PartitionDriver::delete_records(Offset before, Task waits, Callback<void(ErrorCode, Offset)> done, RunList& here) {
  auto state = std::make_shared<Deletion>();
  state->before = before;
  state->waits = std::move(waits);
  state->done = std::move(done);
  post(
      [this, state] {
        with_log([this, state] {
          auto const refuse = [&](ErrorCode error) {
            state->error = error;
            finish_deletion(state);
          };
          if (auto const outcome = machine_.check_epoch(kNoLeaderEpoch); outcome != Outcome::done) return refuse(refusal_of(outcome));
          auto const high_watermark = machine_.high_watermark();
          if (state->before == Offset(-1)) state->before = high_watermark;
          if (state->before < Offset(0) || state->before > high_watermark) return refuse(ErrorCode::offset_out_of_range);
          if (deletions_.size() >= kDeletionsWaitingMax) return refuse(ErrorCode::request_timed_out);
          // What is deleted here already may still be there on other replicas.
          auto const wait = [this, state] {
            auto const ticket = next_deletion_ticket_++;
            deletions_.emplace(ticket, state);
            machine_.on_event(replication::AwaitLogStart{ticket, state->before}, now(), effects_);
            apply_effects();
            if (deletions_.contains(ticket)) std::move(state->waits)();
          };
          if (state->before <= machine_.log_start_offset()) return wait();
          run_log_job([log = log_, state, high_watermark] { state->result = log->delete_records(state->before, high_watermark); },
                      [this, state, wait] {
                        if (!state->result.ok()) {
                          state->error = storage_error(state->result.error());
                          return finish_deletion(state);
                        }
                        if (auto files = state->result->files) {
                          pool_->run(this->here().reactor(), [files] { static_cast<void>(storage::PartitionLog::unlink(*files)); },
                                     [] {});
                        }
                        machine_.on_event(replication::LogStartMoved{state->result->log_start}, now(), effects_);
                        is_marks_dirty_ = true;
                        apply_effects();
                        publish_epochs();
                        publish_marks();
                        wait();
                      });
        });
      },
      here);
}

void PartitionDriver::finish_deletion(std::shared_ptr<Deletion> const& deletion) {
  bool const is_done = deletion->error == ErrorCode::none;
  std::move(deletion->done)(deletion->error, is_done ? machine_.low_watermark() : Offset(-1));
}

void PartitionDriver::set_config(TopicConfigPtr config, RunList& here) {
  post(
      [this, config = std::move(config)] {
        {
          std::lock_guard lock(published_mutex_);
          config_ = config;
        }
        with_log([this, config] {
          if (log_ == nullptr || config->is_flush_before_acknowledge()) return apply_config(config);
          // From here on the directory holds records that were acknowledged before they were synced.
          auto status = std::make_shared<Status>();
          run_log_job([log = log_, status] { *status = log->directory().withdraw_flush_promise(); },
                      [this, config, status] {
                        if (!status->ok()) return go_offline(status->error().message);
                        apply_config(config);
                      });
        });
      },
      here);
}

void PartitionDriver::apply_config(TopicConfigPtr const& config) {
  runner_config_ = config;
  if (log_ == nullptr) return;
  log_->set_config(config->log);
  machine_.on_event(replication::RulesChanged{config->min_in_sync, counts_at()}, now(), effects_);
  apply_effects();
  release_follower();
  maybe_sync();
}

void PartitionDriver::apply_retention(Wall wall, RunList& here) {
  post(
      [this, wall] {
        // Before it has a role nothing is known to be committed.
        if (status() != PartitionStatus::leader && status() != PartitionStatus::follower) return;
        with_log([this, wall] {
          auto result = std::make_shared<Result<storage::RetentionResult>>(Error{});
          auto const high_watermark = machine_.high_watermark();
          run_log_job([log = log_, wall, high_watermark, result] { *result = log->apply_retention(wall, high_watermark); },
                      [this, result] {
                        if (!result->ok()) {
                          env_.log().warn("partition", "retention of {}-{}: {}", identity_.name.topic,
                                          identity_.name.partition, result->error().message);
                          if (log_->directory().is_offline()) go_offline(log_->directory().offline_reason());
                          return;
                        }
                        auto const& retention = **result;
                        machine_.on_event(replication::LogStartMoved{retention.log_start}, now(), effects_);
                        apply_effects();
                        if (retention.files == nullptr) return;
                        publish_epochs();
                        unlink_later(retention.files);
                      });
        });
      },
      here);
}

// Kafka waits before it unlinks, so that slow readers can finish.
void PartitionDriver::unlink_later(std::shared_ptr<storage::DeletedSegments> files) {
  auto const unlink_at = now() + from_ms(runner_config_->file_delete_delay_ms);
  auto& reactor = here().reactor();
  reactor.call_at(unlink_at, [pool = pool_, files = std::move(files), reactor = &reactor] {
    pool->run(*reactor, [files] { static_cast<void>(storage::PartitionLog::unlink(*files)); }, [] {});
  });
}

bool PartitionDriver::may_need_compaction() const {
  auto const now_is = status();
  if (now_is != PartitionStatus::leader && now_is != PartitionStatus::follower) return false;
  return config()->log.is_compacting && log_->has_closed_dirty_segments();
}

void PartitionDriver::compaction_need(Wall wall, Callback<void(Result<storage::CompactionNeed>)> done, RunList& here) {
  auto shared = std::make_shared<Callback<void(Result<storage::CompactionNeed>)>>(std::move(done));
  post(
      [this, wall, shared] {
        with_log([this, wall, shared] {
          auto result = std::make_shared<Result<storage::CompactionNeed>>(Error{});
          auto const high_watermark = machine_.high_watermark();
          run_log_job([log = log_, wall, high_watermark, result] { *result = log->compaction_need(wall, high_watermark); },
                      [result, shared] { std::move(*shared)(std::move(*result)); });
        });
      },
      here);
}

void PartitionDriver::begin_compaction(storage::CompactionRules const& rules, Wall wall,
                                       Callback<void(Result<std::unique_ptr<storage::Compaction>>)> done, RunList& here) {
  using Begun = Result<std::unique_ptr<storage::Compaction>>;
  auto shared = std::make_shared<Callback<void(Begun)>>(std::move(done));
  post(
      [this, rules, wall, shared] {
        with_log([this, rules, wall, shared] {
          auto result = std::make_shared<Begun>(Error{});
          auto const high_watermark = machine_.high_watermark();
          run_log_job(
              [log = log_, rules, wall, high_watermark, result] { *result = log->begin_compaction(rules, wall, high_watermark); },
              [result, shared] { std::move(*shared)(std::move(*result)); });
        });
      },
      here);
}

void PartitionDriver::install_compaction(std::shared_ptr<storage::Compaction> compaction, Callback<void(Status)> done,
                                         RunList& here) {
  using Installed = Result<std::shared_ptr<storage::DeletedSegments>>;
  auto shared = std::make_shared<Callback<void(Status)>>(std::move(done));
  post(
      [this, compaction = std::move(compaction), shared] {
        with_log([this, compaction, shared] {
          auto result = std::make_shared<Installed>(Error{});
          run_log_job([log = log_, compaction, result] { *result = log->install(*compaction); },
                      [this, result, shared] {
                        if (!result->ok()) {
                          if (log_->directory().is_offline()) go_offline(log_->directory().offline_reason());
                          return std::move(*shared)(std::move(*result).error());
                        }
                        MR_PROBE(hooks(), "partition.segments_exchanged");
                        unlink_later(**result);
                        std::move(*shared)(Status{});
                      });
        });
      },
      here);
}

void PartitionDriver::expire_producers(Wall wall, RunList& here) {
  post(
      [this, wall] {
        if (log_ == nullptr) return;
        with_log([this, wall] { log_->expire_producers(wall); });
      },
      here);
}

void PartitionDriver::describe_producers(Callback<void(ErrorCode, Producers)> done, RunList& here) {
  auto shared = std::make_shared<Callback<void(ErrorCode, Producers)>>(std::move(done));
  post(
      [this, shared] {
        with_log([this, shared] {
          Producers found;
          auto const error = refusal_of(machine_.check_epoch(kNoLeaderEpoch));
          if (error == ErrorCode::none) {
            log_->producers().for_each([&](ProducerId id, storage::ProducerEntry const& entry) { found.emplace_back(id, entry); });
          }
          std::move(*shared)(error, std::move(found));
        });
      },
      here);
}

}  // namespace millrace::runtime
