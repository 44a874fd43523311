// In-sync sets that this node's leaders ask the controller for: gathered into one AlterPartition at a time, asked again
// while nobody knows what became of it.
#pragma once
#include <atomic>
#include <map>
#include <memory>

#include "millrace/runtime/controller_client.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

class IsrChanges final : public IsrChangeSink {
 public:
  static constexpr size_t kRequestPartitionsMax = 4096;
  static constexpr Duration kRequestTimeout = 30s;
  static constexpr Duration kRetryMin = 20ms;
  static constexpr Duration kRetryMax = 1s;

  // `broker_epoch` is this node's; it outlives this.
  IsrChanges(env::Env& env, RunLists& run_lists, BrokerId self, std::atomic<int64_t> const& broker_epoch)
      : env_(env), run_lists_(run_lists), self_(self), broker_epoch_(broker_epoch) {}

  // On the control reactor; null: nobody is asked.
  void set_controller(ControllerClient* controller) { controller_ = controller; }
  void stop();

  // Any thread.
  void change_isr(std::shared_ptr<PartitionDriver> partition, replication::IsrChange change) override;
  int64_t shrinks() const { return shrinks_.load(std::memory_order_relaxed); }  // that the controller accepted
  int64_t expands() const { return expands_.load(std::memory_order_relaxed); }

 private:
  struct Wanted {
    std::shared_ptr<PartitionDriver> partition;
    replication::IsrChange change;
  };
  using Wishes = std::map<TopicIdPartition, Wanted>;  // at most one a partition: its machine has one under way

  void send();
  void on_answer(Wishes asked, metadata::AlterPartitionAnswer const& answer);
  void retry_later();
  RunList& here() { return run_lists_.control(); }

  env::Env& env_;
  RunLists& run_lists_;
  BrokerId const self_;
  std::atomic<int64_t> const& broker_epoch_;
  ControllerClient* controller_ = nullptr;
  Wishes wanted_;
  bool is_asking_ = false;  // or waiting to ask again
  Duration retry_ = kRetryMin;
  std::atomic<int64_t> shrinks_{0}, expands_{0};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::runtime
