// What brokers ask of the controller: that each version is understood and answered in the request's own order.
#include "millrace/protocol/api/alter_partition.h"
#include "millrace/protocol/api/assign_replicas_to_dirs.h"
#include "millrace/protocol/api/broker_heartbeat.h"
#include "millrace/protocol/api/elect_leaders.h"
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

TEST_F(ControllerRequests, elections_are_answered_topic_by_topic) {
  metadata::ElectLeaders asked;
  process().controller_.script = [&](metadata::ControllerRequest const& request) {
    asked = std::get<metadata::ElectLeaders>(request);
    metadata::ElectLeadersAnswer answer;
    for (auto const& [topic, indexes] : asked.partitions.value_or(decltype(asked.partitions)::value_type())) {
      for (auto index : indexes) answer.partitions.push_back({topic, index, {ErrorCode::election_not_needed, "not needed"}});
    }
    if (!asked.partitions) answer.partitions = {{"a", 1, {}}, {"b", 0, {}}, {"b", 2, {}}};
    return answer;
  };
  std::vector<int32_t> indexes{0, 5};
  ElectLeadersRequest::TopicPartitions topics[2] = {{"t", Array(indexes)}, {"s", Array(indexes)}};
  ElectLeadersRequest request;
  request.topic_partitions = Array(topics, 2);
  for (int16_t version : {0, 1, 2}) {
    request.election_type = version > 0 ? 1 : 0;
    auto const named = call<ElectLeadersResponse>(request, version);
    EXPECT_EQ(asked.is_unclean, version > 0);
    ASSERT_EQ(named.replica_election_results.size(), 2u);
    EXPECT_EQ(named.replica_election_results[0].topic, "s");
    ASSERT_EQ(named.replica_election_results[1].partition_result.size(), 2u);
    EXPECT_EQ(named.replica_election_results[1].partition_result[1].partition_id, 5);
    EXPECT_EQ(named.replica_election_results[1].partition_result[1].error_code, ErrorCode::election_not_needed);
  }
  request.topic_partitions = kNullArray;
  auto const all = call<ElectLeadersResponse>(request, 2);
  ASSERT_EQ(all.replica_election_results.size(), 2u);
  EXPECT_EQ(all.replica_election_results[1].partition_result.size(), 2u);
  request.election_type = 5;
  request.topic_partitions = Array(topics, 1);
  auto const refused = call<ElectLeadersResponse>(request, 2);
  EXPECT_EQ(refused.error_code, ErrorCode::invalid_request);
  EXPECT_EQ(refused.replica_election_results[0].partition_result[1].error_code, ErrorCode::invalid_request);
}

TEST_F(ControllerRequests, directories_of_replicas_are_answered_in_the_shape_of_the_request) {
  process().controller_.script = [&](metadata::ControllerRequest const& request) {
    metadata::AssignReplicasToDirectoriesAnswer answer;
    for (auto const& replica : std::get<metadata::AssignReplicasToDirectories>(request).replicas) {
      answer.replicas.emplace_back(replica, replica.partition == 1 ? ErrorCode::not_leader_or_follower : ErrorCode::none);
    }
    return answer;
  };
  AssignReplicasToDirsRequest::PartitionData partitions[2] = {{0}, {1}};
  AssignReplicasToDirsRequest::TopicData topics[2] = {{topic_id("a"), Array(partitions, 2)}, {topic_id("b"), Array(partitions, 1)}};
  AssignReplicasToDirsRequest::DirectoryData directories[2] = {{topic_id("d"), Array(topics, 2)}, {topic_id("e"), Array(topics, 1)}};
  AssignReplicasToDirsRequest request;
  request.directories = Array(directories, 2);
  auto const response = call<AssignReplicasToDirsResponse>(request, 0);
  ASSERT_EQ(response.directories.size(), 2u);
  EXPECT_EQ(response.directories[1].id, topic_id("e"));
  ASSERT_EQ(response.directories[0].topics.size(), 2u);
  EXPECT_EQ(response.directories[0].topics[1].topic_id, topic_id("b"));
  ASSERT_EQ(response.directories[0].topics[0].partitions.size(), 2u);
  EXPECT_EQ(response.directories[0].topics[0].partitions[1].error_code, ErrorCode::not_leader_or_follower);
  EXPECT_EQ(response.directories[1].topics[0].partitions[1].error_code, ErrorCode::not_leader_or_follower);
}

TEST_F(ControllerRequests, heartbeats_carry_failed_directories) {
  metadata::BrokerHeartbeat asked;
  process().controller_.script = [&](metadata::ControllerRequest const& request) {
    asked = std::get<metadata::BrokerHeartbeat>(request);
    metadata::BrokerHeartbeatAnswer answer;
    answer.should_shut_down = true;
    return answer;
  };
  Uuid failed[1] = {topic_id("d")};
  BrokerHeartbeatRequest request;
  request.broker_id = 3;
  request.offline_log_dirs = Array(failed, 1);
  EXPECT_TRUE(call<BrokerHeartbeatResponse>(request, 1).should_shut_down);
  ASSERT_EQ(asked.offline_directories, std::vector{topic_id("d")});
  // The end of their connection is told, with the registration that it was of.
  request.broker_epoch = 30;
  call<BrokerHeartbeatResponse>(request, 1);
  connection->reactor->post([this] { process().broker_->on_connection_closed(*connection); });
  world.run_for(1s);
  auto const& ended = process().controller_.ended;
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].broker, BrokerId(3));
  EXPECT_EQ(ended[0].epoch, 30);
  EXPECT_FALSE(ended[0].in_controlled_shutdown);
}

}  // namespace
}  // namespace millrace::broker
