// What the leaders of partitions asked of the controller arrives there once more when it is too late: the connection was
// given up and the request sent again over another one, while the first copy waited in some queue. The controller must
// refuse all of them.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "millrace/metadata/image.h"
#include "sim/run/cluster_client.h"

namespace millrace::sim {

class LateRequests {
 public:
  // `controller` tells which node leads the quorum.
  LateRequests(NodeEnv& env, size_t reactor, std::vector<ClusterClient::Address> controllers, std::function<std::optional<size_t>()> controller);
  void start();
  // The newest image that any node has; one after the other.
  void on_image(metadata::ImagePtr const& image);
  uint64_t sent() const { return sent_; }

 private:
  struct Member {
    BrokerId id;
    int64_t epoch = -1;
  };
  struct Request {
    TopicId topic;
    int32_t partition{};
    Member leader;
    LeaderEpoch leader_epoch{-1};
    int32_t partition_epoch{};
    std::vector<Member> isr;
  };
  static constexpr size_t kRememberedMax = 64;

  std::optional<Request> make(TopicId const& topic, int32_t partition, metadata::PartitionImage const& at,
                              std::vector<BrokerId> const& isr) const;
  void remember(std::optional<Request> request);
  // Would a controller that knows what the newest image says have to refuse it, whatever happens next?
  bool is_late(Request const& request) const;
  void send_one();
  void send(size_t to, Request const& request);
  void again();

  ClusterClient client_;
  Random random_;
  std::function<std::optional<size_t>()> controller_;
  metadata::ImagePtr image_;
  std::deque<Request> requests_;
  uint64_t sent_ = 0;
  bool is_hurried_ = false;  // something has changed just now
};

}  // namespace millrace::sim
