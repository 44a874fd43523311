// A partition's life: opened, leading or following, failed, deleted, closed.
#include "millrace/base/assert.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

using replication::Outcome;

replication::LeaderCountsAt PartitionDriver::counts_at() const {
  return runner_config_->is_flush_before_acknowledge() ? replication::LeaderCountsAt::synced : replication::LeaderCountsAt::end;
}

void PartitionDriver::check_in_sync(RunList& here) {
  post(
      [this] {
        machine_.on_event(replication::CheckInSync{}, now(), effects_);
        apply_effects();
      },
      here);
}

void PartitionDriver::brokers_changed(std::vector<replication::BrokerFact> brokers, RunList& here) {
  post(
      [this, brokers = std::move(brokers)]() mutable {
        // Behind the role that was told before: it may still wait for the log, and brings older facts.
        with_log([this, brokers = std::move(brokers)]() mutable {
          machine_.on_event(replication::BrokersChanged{std::move(brokers)}, now(), effects_);
          apply_effects();
        });
      },
      here);
}

void PartitionDriver::isr_answered(replication::IsrAnswered answer, RunList& here) {
  post(
      [this, answer = std::move(answer)] {
        machine_.on_event(answer, now(), effects_);
        is_marks_dirty_ = true;
        apply_effects();
      },
      here);
}

void PartitionDriver::abandon() {
  drop_events();
  // Moved out first: what is destroyed may look at the driver.
  static_cast<void>(std::exchange(queued_, {}));
  static_cast<void>(std::exchange(gathered_, {}));
  static_cast<void>(std::exchange(accepted_, {}));
  static_cast<void>(std::exchange(pending_, {}));
  static_cast<void>(std::exchange(answered_, {}));
  static_cast<void>(std::exchange(answering_, {}));
  static_cast<void>(std::exchange(log_tasks_, {}));
  static_cast<void>(std::exchange(when_open_, {}));
  static_cast<void>(std::exchange(follower_waits_, {}));
  static_cast<void>(std::exchange(deletions_, {}));
}

void PartitionDriver::open(std::shared_ptr<storage::PartitionLog> log, RunList& here) {
  post(
      [this, log = std::move(log)]() mutable {
        log_ = std::move(log);
        pool_ = &env_.pool(log_->directory().path());
        end_ = log_->end();
        opened_at_ = end_;
        synced_ = log_->recovery_point();
        publish_epochs();  // also for one that is closed before it has a role
        is_log_busy_.store(false, std::memory_order_relaxed);
        // The role waits among the log tasks; until it is known requests go on waiting.
        log_is_free();
      },
      here);
}

void PartitionDriver::lead(replication::BecomeLeader event, RunList& here, Callback<void(Mono now)> takes_over) {
  post(
      [this, event = std::move(event), takes_over = std::move(takes_over)]() mutable {
        with_log([this, event = std::move(event), takes_over = std::move(takes_over)]() mutable {
          if (status() == PartitionStatus::offline || status() == PartitionStatus::deleted) return;
          event.log_start_offset = log_->log_start();
          event.end_offset = end_.offset;
          event.synced_offset = synced_;
          event.high_watermark = status() == PartitionStatus::opening ? log_->high_watermark_at_start()
                                                                      : machine_.high_watermark();
          event.counts_at = counts_at();
          log_->assign_epoch(event.epoch);
          publish_epochs();
          bool const is_new_epoch = machine_.role() != replication::Role::leader || event.epoch > machine_.epoch();
          // The leader before it has refused what it could no longer take.
          if (is_new_epoch && event.replicas.size() > 1) remember_refusal(end_.offset);
          machine_.on_event(event, now(), effects_);
          is_marks_dirty_ = true;
          apply_effects();
          publish_marks();
          bool const is_new = status() != PartitionStatus::leader;
          set_status(PartitionStatus::leader);
          if (is_new && takes_over) std::move(takes_over)(now());
          release_follower();
          maybe_sync();
        });
      },
      here);
}

void PartitionDriver::follow(replication::BecomeFollower event, RunList& here) {
  post(
      [this, event] {
        with_log([this, event]() mutable {
          if (status() == PartitionStatus::offline || status() == PartitionStatus::deleted) return;
          // Other members of the ISR, other replicas: nothing that a follower does anything about.
          bool const is_repeated = status() == PartitionStatus::follower && machine_.role() == replication::Role::follower &&
                                   machine_.epoch() == event.epoch && machine_.leader() == event.leader;
          if (is_repeated) return;
          event.high_watermark = status() == PartitionStatus::opening ? log_->high_watermark_at_start()
                                                                      : machine_.high_watermark();
          event.log_start_offset = log_->log_start();
          event.end_offset = end_.offset;
          event.synced_offset = synced_;
          event.counts_at = counts_at();
          event.has_epochs = log_->epochs().latest().has_value();
          publish_epochs();
          machine_.on_event(event, now(), effects_);
          is_marks_dirty_ = true;
          auto const cut = std::exchange(effects_.truncate_to, std::nullopt);
          apply_effects();
          publish_marks();
          set_status(PartitionStatus::follower);
          release_follower();
          if (!cut) return;
          // Nothing else would find what has to go.
          truncate(*cut, [this](FollowAnswer::What what) {
            if (what == FollowAnswer::What::retry) go_offline("no room to note that what is not committed is cut");
          });
        });
      },
      here);
}

void PartitionDriver::fail(std::string reason, RunList& here) {
  post([this, reason = std::move(reason)] { go_offline(reason); }, here);
}

void PartitionDriver::remove(Uuid suffix, Task done, RunList& here) {
  auto finished = std::make_shared<Task>(std::move(done));
  post(
      [this, suffix, finished] {
        set_status(PartitionStatus::deleted);
        machine_.on_event(replication::Resign{}, now(), effects_);
        apply_effects();
        release_follower();
        with_log([this, suffix, finished] {
          if (log_ == nullptr) return std::move (*finished)();
          auto status = std::make_shared<Status>();
          run_log_job([log = log_, suffix, status] { *status = log->directory().delete_log(*log, suffix); },
                      [this, status, finished] {
                        if (!status->ok()) {
                          env_.log().error("partition", "delete {}-{}: {}", identity_.name.topic,
                                           identity_.name.partition, status->error().message);
                        }
                        std::move (*finished)();
                      });
        });
      },
      here);
}

void PartitionDriver::close(Callback<void(Status)> done, RunList& here) {
  auto finished = std::make_shared<Callback<void(Status)>>(std::move(done));
  auto* list = &here;
  post(
      [this, finished, list] {
        set_status(PartitionStatus::follower);
        machine_.on_event(replication::Resign{}, now(), effects_);
        apply_effects();
        release_follower();
        with_log([this, finished, list] {
          auto status = std::make_shared<Status>();
          auto const answer = [finished, status, list] {
            list->reactor().post([finished, status] { std::move (*finished)(std::move(*status)); });
          };
          if (log_ == nullptr || log_->directory().is_offline()) return answer();
          run_log_job([log = log_, status] { *status = log->close_cleanly(); }, answer);
        });
      },
      here);
}

}  // namespace millrace::runtime
