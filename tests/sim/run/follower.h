// A scripted second replica: speaks ordinary replica Fetch to the broker under test, keeps what it gets, and pauses,
// loses its tail or changes its epoch when the scenario says so. What it has asked for is what the leader may count.
#pragma once
#include "sim/run/actor.h"

namespace millrace::sim {

inline constexpr int32_t kFollowerId = 2;

class Follower final : public Actor {
 public:
  Follower(NodeEnv& env, size_t reactor, Run& run);

  // Nothing is fetched until then.
  void pause(Duration span);
  // Forgets everything at or past `offset`, as after an unclean restart.
  void lose_tail(checker::PartitionIndex partition, int64_t offset);
  int64_t end(checker::PartitionIndex partition) const { return logs_[partition].end; }
  // The largest offset that a Fetch has asked for: everything below it is here.
  int64_t promised(checker::PartitionIndex partition) const { return logs_[partition].promised; }
  // Every record it holds, for the comparison of replicas.
  std::vector<checker::Observed> records(checker::PartitionIndex partition) const;
  int64_t log_start(checker::PartitionIndex partition) const { return logs_[partition].start; }

 private:
  struct Batch {
    int64_t base{};
    int64_t last{};
    int32_t epoch{};
    std::vector<std::byte> bytes;
  };
  struct Log {
    int64_t start = 0;
    int64_t end = 0;
    int64_t promised = 0;
    bool must_start_again = false;
    std::vector<Batch> batches;
    int32_t last_epoch() const { return batches.empty() ? -1 : batches.back().epoch; }
  };
  void on_connected() override;
  void fetch();
  void fetch_after(Duration wait);
  void on_fetched(client::Reply<protocol::FetchResponse>* reply, int16_t version);
  void start_again(size_t partition);
  bool take(checker::PartitionIndex partition, ByteView bytes);
  void cut(Log& log, int64_t offset);

  std::vector<Log> logs_;
  Duration paused_until_{};
  uint64_t loop_ = 0;
  bool is_stale_ = false;  // an answer that is under way belongs to a log that is gone
};

}  // namespace millrace::sim
