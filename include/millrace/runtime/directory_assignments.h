// In which of its log directories this node's replicas lie, told to the controller (AssignReplicasToDirs) where its image
// says otherwise: gathered into one request at a time, asked again while nobody knows what became of it. What lies in a
// directory that failed, or in none (metadata::kDirectoryLost), is led and counted as in sync no longer.
//
// Control reactor only.
#pragma once
#include <atomic>
#include <map>
#include <memory>

#include "millrace/env/env.h"
#include "millrace/metadata/image.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::runtime {

class DirectoryAssignments {
 public:
  static constexpr size_t kRequestReplicasMax = 2250;  // as Kafka's
  static constexpr Duration kRequestTimeout = 30s;
  static constexpr Duration kRetryMin = 20ms;
  static constexpr Duration kRetryMax = 5s;

  // `broker_epoch` is this node's; it outlives this.
  DirectoryAssignments(env::Env& env, BrokerId self, std::atomic<int64_t> const& broker_epoch)
      : env_(env), reactor_(env.control_reactor()), self_(self), broker_epoch_(broker_epoch) {}

  // Null: nobody is told.
  void set_controller(ControllerClient* controller) { controller_ = controller; }
  // The node has a broker epoch, without which nothing is told.
  void registered();
  // The replica lies in `actual`, the newest image has it in `in_image`.
  void compare(TopicIdPartition const& id, DirectoryId const& actual, DirectoryId const& in_image);
  void forget(TopicIdPartition const& id) { wanted_.erase(id); }
  void stop();

  size_t waiting_count() const { return wanted_.size(); }

 private:
  using Places = std::map<TopicIdPartition, DirectoryId>;

  void send_later(Duration wait);
  void send();
  void on_answer(Places const& asked, metadata::AssignReplicasToDirectoriesAnswer const& answer);
  void retry_later();

  env::Env& env_;
  env::Reactor& reactor_;
  BrokerId const self_;
  std::atomic<int64_t> const& broker_epoch_;
  ControllerClient* controller_ = nullptr;
  Places wanted_;           // until an image says the same
  bool is_asking_ = false;  // or about to
  Duration retry_ = kRetryMin;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::runtime
