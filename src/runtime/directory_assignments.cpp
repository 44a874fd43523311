#include "millrace/runtime/directory_assignments.h"

namespace millrace::runtime {

void DirectoryAssignments::compare(TopicIdPartition const& id, DirectoryId const& actual, DirectoryId const& in_image) {
  if (actual == in_image) {
    wanted_.erase(id);
    return;
  }
  auto const [known, is_new] = wanted_.insert_or_assign(id, actual);
  static_cast<void>(known);
  // What one publication brings goes together.
  if (is_new && !is_asking_ && controller_ != nullptr) send_later(Duration::zero());
}

void DirectoryAssignments::registered() {
  if (!is_asking_ && !wanted_.empty()) send_later(Duration::zero());
}

void DirectoryAssignments::stop() {
  alive_ = std::make_shared<bool>(true);
  controller_ = nullptr;
  wanted_.clear();
}

void DirectoryAssignments::send_later(Duration wait) {
  is_asking_ = true;
  reactor_.call_at(reactor_.now() + wait, [this, weak = std::weak_ptr(alive_)] {
    if (!weak.expired()) send();
  });
}

void DirectoryAssignments::send() {
  is_asking_ = false;
  auto const epoch = broker_epoch_.load(std::memory_order_relaxed);
  if (wanted_.empty() || controller_ == nullptr || epoch < 0) return;
  is_asking_ = true;
  metadata::AssignReplicasToDirectories request;
  request.broker = self_;
  request.broker_epoch = epoch;
  Places asked;
  for (auto const& [id, directory] : wanted_) {
    if (asked.size() == kRequestReplicasMax) break;
    request.replicas.push_back({directory, id.topic_id, id.partition});
    asked.emplace(id, directory);
  }
  controller_->submit(std::move(request), reactor_.now() + kRequestTimeout, reactor_,
                      [this, weak = std::weak_ptr(alive_), asked = std::move(asked)](metadata::ControllerAnswer any) {
                        if (!weak.expired()) on_answer(asked, std::get<metadata::AssignReplicasToDirectoriesAnswer>(any));
                      });
}

void DirectoryAssignments::on_answer(Places const& asked, metadata::AssignReplicasToDirectoriesAnswer const& answer) {
  if (answer.error.code == ErrorCode::unsupported_version) {  // a cluster whose metadata names no directories
    for (auto const& [id, directory] : asked) wanted_.erase(id);
    return send();
  }
  bool must_wait = !answer.error.ok();
  for (auto const& [replica, error] : answer.replicas) {
    TopicIdPartition const id{replica.topic, replica.partition};
    bool const is_settled = error == ErrorCode::none || error == ErrorCode::unknown_topic_id ||
                            error == ErrorCode::unknown_topic_or_partition || error == ErrorCode::not_leader_or_follower;
    auto const found = wanted_.find(id);
    if (!is_settled) must_wait = true;
    else if (found != wanted_.end() && found->second == replica.directory) wanted_.erase(found);
  }
  if (must_wait) return retry_later();
  retry_ = kRetryMin;
  send();
}

void DirectoryAssignments::retry_later() {
  send_later(retry_);
  retry_ = std::min(retry_ * 2, kRetryMax);
}

}  // namespace millrace::runtime
