// Changes metadata through whoever leads the quorum: each operation sets a quota of a user of its own, so that it can
// be repeated until it is acknowledged, and what was acknowledged must be in every later image.
#pragma once
#include <map>

#include "millrace/metadata/image.h"
#include "sim/run/cluster_client.h"

namespace millrace::sim {

class AdminWriter {
 public:
  AdminWriter(NodeEnv& env, size_t reactor, std::string name, std::vector<ClusterClient::Address> controllers);

  void start();
  // No new operation; what is under way goes on until it is acknowledged.
  void finish() { is_finishing_ = true; }
  // No new operation until it is false again.
  void set_paused(bool on) { is_paused_ = on; }
  bool is_idle() const { return !current_; }
  size_t acknowledged() const { return acknowledged_.size(); }
  // Empty, or what was acknowledged and is not in `image`.
  std::string missing_in(metadata::Image const& image) const;

 private:
  void next();
  void attempt();
  void try_again(bool elsewhere);

  ClusterClient client_;
  Random random_;
  size_t target_;
  uint64_t made_ = 0;
  std::optional<std::pair<std::string, double>> current_;
  std::map<std::string, double> acknowledged_;
  bool is_finishing_ = false;
  bool is_paused_ = false;
};

// Makes one topic, through whoever leads the quorum.
class TopicCreator {
 public:
  struct Topic {
    std::string name;
    int32_t partitions = 1;
    int16_t replication_factor = 1;
    std::vector<std::pair<std::string, std::string>> configs;
    std::vector<std::vector<int32_t>> replicas = {};  // of each partition; empty: the controller chooses
  };
  TopicCreator(NodeEnv& env, size_t reactor, std::vector<ClusterClient::Address> controllers, Topic topic);
  void start();
  bool is_done() const { return is_done_; }
  int16_t last_error() const { return last_error_; }

 private:
  void attempt();

  ClusterClient client_;
  Topic topic_;
  size_t target_ = 0;
  bool is_done_ = false;
  int16_t last_error_ = 0;
};

}  // namespace millrace::sim
