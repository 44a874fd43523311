#include "millrace/runtime/isr_changes.h"

namespace millrace::runtime {
namespace {

enum class Meaning { accepted, refused, outdated, unknown };

// As Kafka's leaders take an answer. What is refused was surely not applied, and the partition epoch is current.
Meaning meaning_of(ErrorCode error) {
  switch (error) {
    case ErrorCode::none: return Meaning::accepted;
    case ErrorCode::operation_not_attempted:
    case ErrorCode::ineligible_replica: return Meaning::refused;
    case ErrorCode::unknown_topic_or_partition:
    case ErrorCode::unknown_topic_id:
    case ErrorCode::fenced_leader_epoch:
    case ErrorCode::invalid_update_version:
    case ErrorCode::invalid_request:
    case ErrorCode::new_leader_elected: return Meaning::outdated;
    default: return Meaning::unknown;
  }
}

}  // namespace

void IsrChanges::stop() {
  alive_ = std::make_shared<bool>(true);
  controller_ = nullptr;
  wanted_.clear();
}

void IsrChanges::change_isr(std::shared_ptr<PartitionDriver> partition, replication::IsrChange change) {
  here().reactor().post([this, weak = std::weak_ptr(alive_), partition = std::move(partition), change = std::move(change)]() mutable {
    if (weak.expired()) return;
    // Nobody to ask: surely nothing was applied.
    if (controller_ == nullptr) return partition->isr_answered({change.id, replication::IsrVerdict::refused, 0, {}}, here());
    auto const id = partition->identity().id;
    wanted_[id] = {std::move(partition), std::move(change)};
    if (!is_asking_) send();
  });
}

void IsrChanges::send() {
  is_asking_ = false;
  if (wanted_.empty() || controller_ == nullptr) return;
  if (broker_epoch_.load(std::memory_order_relaxed) < 0) return retry_later();
  is_asking_ = true;
  metadata::AlterPartition request;
  request.broker = self_;
  request.broker_epoch = broker_epoch_.load(std::memory_order_relaxed);
  Wishes asked;
  while (!wanted_.empty() && asked.size() < kRequestPartitionsMax) {
    auto node = wanted_.extract(wanted_.begin());
    auto const& change = node.mapped().change;
    metadata::PartitionIsrChange wire;
    wire.topic = node.key().topic_id;
    wire.partition = node.key().partition;
    wire.leader_epoch = change.leader_epoch;
    wire.partition_epoch = change.partition_epoch;
    for (auto const& member : change.members) {
      wire.isr.push_back({member.id, member.id == self_ ? request.broker_epoch : member.broker_epoch});
    }
    request.partitions.push_back(std::move(wire));
    asked.insert(std::move(node));
  }
  auto& reactor = here().reactor();
  controller_->submit(std::move(request), reactor.now() + kRequestTimeout, reactor,
                      [this, weak = std::weak_ptr(alive_), asked = std::move(asked)](metadata::ControllerAnswer answer) mutable {
                        if (!weak.expired()) on_answer(std::move(asked), std::get<metadata::AlterPartitionAnswer>(answer));
                      });
}

void IsrChanges::on_answer(Wishes asked, metadata::AlterPartitionAnswer const& answer) {
  bool const is_known = answer.error.ok() && answer.partitions.size() == asked.size();
  if (!is_known) {
    MR_PROBE(env_.hooks(), "isr.asked_again");
    if (answer.error.code != ErrorCode::not_controller && answer.error.code != ErrorCode::request_timed_out) {
      env_.log().warn("replication", "the controller refuses {} changes of in-sync sets: error {}", asked.size(),
                      static_cast<int>(answer.error.code));
    }
  }
  size_t index = 0;
  bool must_wait = !is_known;
  while (!asked.empty()) {
    auto node = asked.extract(asked.begin());
    auto const* told = is_known ? &answer.partitions[index++] : nullptr;
    auto const meaning = told != nullptr ? meaning_of(told->error) : Meaning::unknown;
    auto& [partition, change] = node.mapped();
    if (meaning == Meaning::unknown) {
      must_wait = true;
      wanted_.insert(std::move(node));  // unless there is a newer one
      continue;
    }
    replication::IsrAnswered event;
    event.change = change.id;
    event.verdict = meaning == Meaning::accepted  ? replication::IsrVerdict::accepted
                    : meaning == Meaning::refused ? replication::IsrVerdict::refused
                                                  : replication::IsrVerdict::outdated;
    if (meaning == Meaning::accepted) {
      event.partition_epoch = told->partition_epoch;
      event.in_sync_replicas = told->isr;
      (change.is_shrink ? shrinks_ : expands_).fetch_add(1, std::memory_order_relaxed);
      env_.log().info("replication", "{}: in-sync set {} to {} of epoch {}", partition->identity().text,
                      change.is_shrink ? "shrinks" : "grows", told->isr.size(), told->leader_epoch);
    }
    if (meaning != Meaning::accepted) {
      env_.log().info("replication", "{}: the controller does not change the in-sync set of epoch {}/{}: error {}",
                      partition->identity().text, change.leader_epoch, change.partition_epoch, static_cast<int>(told->error));
    }
    // A leader of a newer epoch has forgotten the question.
    if (meaning == Meaning::accepted && told->leader_epoch != change.leader_epoch) event.verdict = replication::IsrVerdict::outdated;
    partition->isr_answered(std::move(event), here());
  }
  if (must_wait) return retry_later();
  retry_ = kRetryMin;
  send();
}

void IsrChanges::retry_later() {
  is_asking_ = true;
  auto& reactor = here().reactor();
  reactor.call_at(reactor.now() + retry_, [this, weak = std::weak_ptr(alive_)] {
    if (!weak.expired()) send();
  });
  retry_ = std::min(retry_ * 2, kRetryMax);
}

}  // namespace millrace::runtime
