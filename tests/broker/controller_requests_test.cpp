// What brokers ask of the controller: that each version is understood and answered in the request's own order.
#include "millrace/protocol/api/alter_partition.h"
#include "node.h"

namespace millrace::broker {
namespace {

using namespace protocol;

class ControllerRequests : public BrokerTest {
 protected:
  void SetUp() override {
    start();
    connect("CONTROLLER");
  }
};

TEST_F(ControllerRequests, in_sync_sets_are_changed_in_the_order_of_the_request) {
  metadata::AlterPartition asked;
  process().controller_.script = [&](metadata::ControllerRequest const& request) {
    asked = std::get<metadata::AlterPartition>(request);
    metadata::AlterPartitionAnswer answer;
    for (auto const& change : asked.partitions) {
      auto& changed = answer.partitions.emplace_back();
      changed.topic = change.topic;
      changed.partition = change.partition;
      changed.error = change.partition == 1 ? ErrorCode::ineligible_replica : ErrorCode::none;
      changed.leader = BrokerId(5);
      changed.leader_epoch = LeaderEpoch(6);
      changed.partition_epoch = change.partition_epoch + 1;
      for (auto const& member : change.isr) changed.isr.push_back(member.id);
    }
    return answer;
  };
  AlterPartitionRequest::BrokerState members[2] = {{5, 50}, {6, 60}};
  std::vector<int32_t> ids{5, 6};
  AlterPartitionRequest::PartitionData partitions[2];
  partitions[1].partition_index = 1;
  partitions[0].partition_epoch = partitions[1].partition_epoch = 3;
  AlterPartitionRequest::TopicData topics[3] = {{topic_id("b"), Array(partitions, 2)}, {topic_id("none"), {}},
                                                {topic_id("a"), Array(partitions, 1)}};
  AlterPartitionRequest request;
  request.broker_id = 5;
  request.broker_epoch = 50;
  request.topics = Array(topics, 3);
  for (int16_t version : {2, 3}) {
    for (auto& partition : partitions) {
      partition.new_isr = version == 2 ? Array(ids) : Array<int32_t>();
      partition.new_isr_with_epochs = version == 3 ? Array(members, 2) : Array<AlterPartitionRequest::BrokerState>();
    }
    auto const response = call<AlterPartitionResponse>(request, version);
    EXPECT_EQ(asked.broker, BrokerId(5));
    EXPECT_EQ(asked.broker_epoch, 50);
    ASSERT_EQ(asked.partitions.size(), 3u);
    ASSERT_EQ(asked.partitions[0].isr.size(), 2u);
    EXPECT_EQ(asked.partitions[0].isr[1].broker_epoch, version == 2 ? -1 : 60);
    ASSERT_EQ(response.topics.size(), 3u);
    EXPECT_EQ(response.topics[0].topic_id, topic_id("b"));
    ASSERT_EQ(response.topics[0].partitions.size(), 2u);
    EXPECT_EQ(response.topics[0].partitions[0].leader_id, 5);
    EXPECT_EQ(response.topics[0].partitions[0].leader_epoch, 6);
    EXPECT_EQ(response.topics[0].partitions[0].isr.size(), 2u);
    EXPECT_EQ(response.topics[0].partitions[0].partition_epoch, 4);
    EXPECT_EQ(response.topics[0].partitions[1].error_code, ErrorCode::ineligible_replica);
    EXPECT_EQ(response.topics[0].partitions[1].leader_id, 0);
    EXPECT_EQ(response.topics[1].partitions.size(), 0u);
    EXPECT_EQ(response.topics[2].topic_id, topic_id("a"));
    EXPECT_EQ(response.topics[2].partitions.size(), 1u);
  }
  partitions[0].leader_recovery_state = 2;
  EXPECT_EQ(call<AlterPartitionResponse>(request, 3).error_code, ErrorCode::unknown_server_error);
  process().controller_.script = [](metadata::ControllerRequest const&) {
    metadata::AlterPartitionAnswer answer;
    answer.error.code = ErrorCode::stale_broker_epoch;
    return answer;
  };
  partitions[0].leader_recovery_state = 0;
  EXPECT_EQ(call<AlterPartitionResponse>(request, 3).error_code, ErrorCode::stale_broker_epoch);
}

}  // namespace
}  // namespace millrace::broker
