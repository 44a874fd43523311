// Proves which brokers Metadata names: those that are not fenced, and who was taken for dead a moment ago.
#include "millrace/protocol/api/metadata.h"
#include "node.h"

namespace millrace::broker {
namespace {

using namespace protocol;

class MetadataBrokers : public BrokerTest {
 protected:
  struct Broker {
    int32_t id;
    int64_t epoch;
    bool is_fenced = false;
    bool is_stopping = false;
  };
  void set(Broker const& wanted) {
    auto broker = std::make_shared<metadata::BrokerImage>();
    broker->id = BrokerId(wanted.id);
    broker->epoch = wanted.epoch;
    broker->is_fenced = wanted.is_fenced;
    broker->is_in_controlled_shutdown = wanted.is_stopping;
    broker->endpoints.push_back({"PLAINTEXT", fmt::format("broker{}", wanted.id), 9092, 0});
    edit().brokers.set(broker->id, broker);
    commit();  // a second goes by
  }
  std::string named() {
    MetadataRequest request;
    auto const response = call<MetadataResponse>(request, 9);
    std::string out;
    for (auto const& broker : response.brokers) out += fmt::format("{} ", broker.node_id);
    return out;
  }
};

TEST_F(MetadataBrokers, name_who_was_taken_for_dead_for_a_while) {
  start();
  for (int32_t id : {1, 2, 3}) set({id, 10});
  EXPECT_EQ(named(), "1 2 3 ");
  set({2, 10, true});
  EXPECT_EQ(named(), "1 2 3 ");
  world.run_for(RecentlyFenced::kNamedFor);
  EXPECT_EQ(named(), "1 3 ");
  // It comes back, and is fenced again.
  set({2, 11, true});
  EXPECT_EQ(named(), "1 3 ");
  set({2, 11});
  EXPECT_EQ(named(), "1 2 3 ");
  set({2, 11, true});
  EXPECT_EQ(named(), "1 2 3 ");
}

TEST_F(MetadataBrokers, do_not_name_who_stopped_in_order) {
  start();
  for (int32_t id : {1, 2}) set({id, 10});
  set({2, 10, false, true});
  EXPECT_EQ(named(), "1 2 ");
  set({2, 10, true, true});
  EXPECT_EQ(named(), "1 ");
}

}  // namespace
}  // namespace millrace::broker
