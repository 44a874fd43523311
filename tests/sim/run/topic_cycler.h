// Makes a topic, fills it, reads it and deletes it, again and again under the same name: nothing of an earlier topic may
// appear in a later one, whoever slept through the change (RP-09).
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "millrace/protocol/api/fetch.h"
#include "sim/run/cluster_client.h"
#include "sim/run/run.h"

namespace millrace::sim {

class TopicCycler {
 public:
  static constexpr std::string_view kTopic = "cycle";

  TopicCycler(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, int16_t replication_factor);

  void start();
  // No new topic; the one that is there stays.
  void finish() { is_finishing_ = true; }
  bool is_idle() const { return is_idle_; }
  uint64_t topics() const { return made_; }
  std::string describe() const;

 private:
  enum class Doing : uint8_t { creating, finding, producing, reading, deleting };
  void next(Doing doing, Duration wait_max);
  void step();
  void create(size_t broker);
  void find_leader(size_t broker);
  void produce();
  void read();
  void take(client::Reply<protocol::FetchResponse>& reply);
  void remove(size_t broker);

  Run& run_;
  Random random_;
  ClusterClient client_;
  checker::ClientId id_;
  int16_t const replication_factor_;
  Doing doing_ = Doing::creating;
  uint64_t made_ = 0;       // also the topic's number, which its records carry
  Uuid topic_id_;           // zero: not known
  std::vector<Uuid> past_topic_ids_;  // deleted
  size_t leader_ = 0;
  uint64_t sent_ = 0;       // records of this topic
  std::map<int64_t, uint64_t> acknowledged_;  // offset -> sequence
  int64_t read_offset_ = 0;
  uint32_t reads_left_ = 0;
  bool is_finishing_ = false;
  bool is_idle_ = false;
};

}  // namespace millrace::sim
