// A producer with acks=0: it sends each record once, to whoever it believes to lead, and is never told what became of
// it.
#pragma once
#include "sim/run/data_actor.h"

namespace millrace::sim {

class CarelessProducer final : public DataActor {
 public:
  CarelessProducer(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers);
  uint64_t records_sent() const { return records_sent_; }

 private:
  void on_metadata() override {}
  void next();
  void send();
  void ask_again();

  checker::ClientId id_;
  std::vector<uint64_t> next_value_;  // by partition
  uint64_t records_sent_ = 0;
};

}  // namespace millrace::sim
