// Answers of a node alone: where its partitions lie, that replicas stay.
#include "millrace/protocol/api/alter_partition_reassignments.h"
#include "millrace/protocol/api/alter_replica_log_dirs.h"
#include "millrace/protocol/api/delete_topics.h"
#include "millrace/protocol/api/describe_acls.h"
#include "millrace/protocol/api/describe_log_dirs.h"
#include "millrace/protocol/api/get_telemetry_subscriptions.h"
#include "millrace/protocol/api/list_partition_reassignments.h"
#include "millrace/protocol/api/push_telemetry.h"
#include "node.h"

namespace millrace::broker {
namespace {

using namespace protocol;

class ClusterAdmin : public BrokerTest {
 protected:
  void SetUp() override {
    start();
    add_topic("t", 2);
    auto broker = std::make_shared<metadata::BrokerImage>();
    broker->id = BrokerId(1);
    edit().brokers.set(BrokerId(1), broker);
    commit();
  }
};

TEST_F(ClusterAdmin, log_directories_name_their_partitions) {
  DescribeLogDirsRequest request;
  request.topics = kNullArray;
  auto const all = call<DescribeLogDirsResponse>(request, 4);
  ASSERT_EQ(all.results.size(), 1u);
  EXPECT_EQ(all.results[0].log_dir, "/data");
  EXPECT_GT(all.results[0].total_bytes, 0);
  ASSERT_EQ(all.results[0].topics.size(), 1u);
  EXPECT_EQ(all.results[0].topics[0].partitions.size(), 2u);
  std::vector<int32_t> indexes{1, 7};
  DescribeLogDirsRequest::DescribableLogDirTopic topics[2] = {{"t", Array(indexes)}, {"none", Array(indexes)}};
  request.topics = Array(topics, 2);
  auto const some = call<DescribeLogDirsResponse>(request, 1);
  ASSERT_EQ(some.results[0].topics.size(), 1u);
  ASSERT_EQ(some.results[0].topics[0].partitions.size(), 1u);
  EXPECT_EQ(some.results[0].topics[0].partitions[0].partition_index, 1);
  request.topics = {};
  EXPECT_EQ(call<DescribeLogDirsResponse>(request, 5).results[0].topics.size(), 0u);
}

TEST_F(ClusterAdmin, replicas_stay_where_they_are) {
  std::vector<int32_t> indexes{0};
  AlterReplicaLogDirsRequest::AlterReplicaLogDirTopic topic{"t", Array(indexes)};
  AlterReplicaLogDirsRequest::AlterReplicaLogDir dir{"/data", Array(&topic, 1)};
  AlterReplicaLogDirsRequest request;
  request.dirs = Array(&dir, 1);
  auto const code = [&] { return call<AlterReplicaLogDirsResponse>(request, 2).results[0].partitions[0].error_code; };
  EXPECT_EQ(code(), ErrorCode::none);
  dir.path = "/elsewhere";
  EXPECT_EQ(code(), ErrorCode::log_dir_not_found);
}

TEST_F(ClusterAdmin, reassignments) {
  using Request = AlterPartitionReassignmentsRequest;
  std::vector<int32_t> replicas{1};
  Request::ReassignablePartition partition{0, Array(replicas)};
  Request::ReassignableTopic topic{"t", Array(&partition, 1)};
  Request request;
  request.topics = Array(&topic, 1);
  auto const code = [&] {
    return call<AlterPartitionReassignmentsResponse>(request, 1).responses[0].partitions[0].error_code;
  };
  EXPECT_EQ(code(), ErrorCode::none);
  replicas = {5};
  EXPECT_EQ(code(), ErrorCode::invalid_replica_assignment);
  partition.replicas = {};
  EXPECT_EQ(code(), ErrorCode::invalid_replica_assignment);
  partition.replicas = kNullArray;
  EXPECT_EQ(code(), ErrorCode::no_reassignment_in_progress);
  partition.partition_index = 9;
  EXPECT_EQ(code(), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(call<ListPartitionReassignmentsResponse>(ListPartitionReassignmentsRequest{}, 0).topics.size(), 0u);
}

// Whoever was told that a topic is gone may make it anew: a broker that has not heard of it yet must not say so.
TEST_F(ClusterAdmin, that_a_topic_is_not_there_says_the_controller) {
  process().controller_.script = [](metadata::ControllerRequest const& request) {
    metadata::DeleteTopicsAnswer answer;
    for (auto const& id : std::get<metadata::DeleteTopics>(request).ids) {
      answer.topics.emplace_back(id, metadata::ApiError{id == topic_id("new") ? ErrorCode::none : ErrorCode::unknown_topic_id, std::nullopt});
    }
    return answer;
  };
  DeleteTopicsRequest::DeleteTopicState topic;
  DeleteTopicsRequest request;
  request.topics = Array(&topic, 1);
  for (auto const* name : {"new", "none"}) {
    topic.topic_id = topic_id(name);
    auto const response = call<DeleteTopicsResponse>(request, 6);
    ASSERT_EQ(response.responses.size(), 1u);
    EXPECT_EQ(response.responses[0].topic_id, topic_id(name));
    EXPECT_EQ(response.responses[0].error_code, name == std::string_view("new") ? ErrorCode::none : ErrorCode::unknown_topic_id);
  }
}

TEST_F(ClusterAdmin, telemetry_wants_nothing) {
  auto const subscription = call<GetTelemetrySubscriptionsResponse>(GetTelemetrySubscriptionsRequest{}, 0);
  EXPECT_FALSE(subscription.client_instance_id.is_zero());
  EXPECT_EQ(subscription.requested_metrics.size(), 0u);
  PushTelemetryRequest push;
  push.client_instance_id = subscription.client_instance_id;
  push.subscription_id = subscription.subscription_id;
  EXPECT_EQ(call<PushTelemetryResponse>(push, 0).error_code, ErrorCode::none);
  push.subscription_id += 1;
  EXPECT_EQ(call<PushTelemetryResponse>(push, 0).error_code, ErrorCode::unknown_subscription_id);
}

TEST_F(ClusterAdmin, there_is_no_authorizer) {
  EXPECT_EQ(call<DescribeAclsResponse>(DescribeAclsRequest{}, 3).error_code, ErrorCode::security_disabled);
}

}  // namespace
}  // namespace millrace::broker
