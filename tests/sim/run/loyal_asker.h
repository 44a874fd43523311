// Asks one broker for the ends of partitions and does not look who leads them by now: question after question over one
// connection, without waiting for answers, so that many are in the socket of a process that does not run.
#pragma once
#include "sim/run/data_actor.h"

namespace millrace::sim {

class LoyalAsker final : public DataActor {
 public:
  LoyalAsker(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers);

  // From now on, of a broker by its place; kNobody: of nobody.
  void set_broker(size_t broker) { broker_ = broker; }
  static constexpr size_t kNobodyAsked = kNobody;

  // What was answered without an error.
  std::vector<checker::EndAsked> const& ends() const { return ends_; }
  uint64_t refusals() const { return refusals_; }

 private:
  static constexpr size_t kInFlightMax = 60;
  void on_metadata() override;
  void ask_later();
  void ask();

  checker::ClientId id_;
  size_t broker_ = kNobody;
  size_t in_flight_ = 0;
  bool is_started_ = false;
  std::vector<checker::EndAsked> ends_;
  uint64_t refusals_ = 0;
};

}  // namespace millrace::sim
