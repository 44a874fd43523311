// What a broker refuses itself before the controller is asked, and that what was set in the cluster takes effect on
// partitions that are open.
#include "node.h"

#include "millrace/metadata/topic_config.h"
#include "millrace/protocol/api/alter_configs.h"
#include "millrace/protocol/api/incremental_alter_configs.h"
#include "millrace/protocol/api/list_config_resources.h"

namespace millrace::broker {
namespace {

class AlterConfigs : public BrokerTest {
 protected:
  void SetUp() override { start(); }

  using Request = protocol::IncrementalAlterConfigsRequest;
  using Response = protocol::IncrementalAlterConfigsResponse;

  ErrorCode alter(int8_t type, Str name, std::vector<Request::AlterableConfig> configs) {
    Request::AlterConfigsResource resource{type, name, Array(configs)};
    Request request;
    request.resources = Array(&resource, 1);
    auto const response = call<Response>(request, 1);
    EXPECT_EQ(response.responses[0].resource_name, name);
    return response.responses[0].error_code;
  }
  void set_broker_config(std::string const& name, std::string const& key, std::string const& value) {
    metadata::ConfigMap map;
    map.set(key, value);
    edit().configs.set({metadata::ConfigResourceType::broker, name}, map);
    commit();
  }
};

TEST_F(AlterConfigs, refuses_what_it_can_judge_itself) {
  EXPECT_EQ(alter(2, "t", {{"a", 0, "1"}, {"a", 0, "2"}}), ErrorCode::invalid_request);
  EXPECT_EQ(alter(2, "t", {{"a", 0, std::nullopt}}), ErrorCode::invalid_request);
  EXPECT_EQ(alter(2, "t", {{"a", 9, "1"}}), ErrorCode::unknown_server_error);
  EXPECT_EQ(alter(0, "t", {{"a", 0, "1"}}), ErrorCode::invalid_request);
  EXPECT_EQ(alter(4, "2", {{"a", 0, "1"}}), ErrorCode::invalid_request);
  EXPECT_EQ(alter(4, "x", {{"a", 0, "1"}}), ErrorCode::invalid_request);
  EXPECT_EQ(alter(4, "1", {{"a", 9, "1"}}), ErrorCode::invalid_request);
  EXPECT_EQ(alter(8, "1", {{"root", 0, "LOUD"}}), ErrorCode::invalid_config);
  EXPECT_EQ(alter(8, "1", {{"kafka.nope", 0, "INFO"}}), ErrorCode::invalid_config);
  EXPECT_EQ(alter(8, "1", {{"root", 1, std::nullopt}}), ErrorCode::invalid_request);
  EXPECT_EQ(alter(8, "1", {{"root", 0, "WARN"}}), ErrorCode::none);
}

TEST_F(AlterConfigs, each_resource_comes_once) {
  protocol::AlterConfigsRequest::AlterConfigsResource resources[2] = {{2, "t", {}}, {2, "t", {}}};
  protocol::AlterConfigsRequest request;
  request.resources = Array(resources, 2);
  auto const response = call<protocol::AlterConfigsResponse>(request, 2);
  ASSERT_EQ(response.responses.size(), 2u);
  EXPECT_EQ(response.responses[0].error_code, ErrorCode::invalid_request);
  EXPECT_EQ(response.responses[1].error_code, ErrorCode::invalid_request);
}

TEST_F(AlterConfigs, what_the_cluster_sets_takes_effect_on_open_partitions) {
  add_topic("t", 1);
  add_topic("own", 1, {{"max.message.bytes", " 500"}});
  EXPECT_EQ(partition("t", 0)->config()->message_bytes_max, 1'048'588);
  EXPECT_EQ(partition("own", 0)->config()->message_bytes_max, 500);
  set_broker_config("", "message.max.bytes", "1000");
  EXPECT_EQ(partition("t", 0)->config()->message_bytes_max, 1000);
  set_broker_config("2", "message.max.bytes", "3000");  // another broker's
  EXPECT_EQ(partition("t", 0)->config()->message_bytes_max, 1000);
  set_broker_config("1", "message.max.bytes", "2000");
  EXPECT_EQ(partition("t", 0)->config()->message_bytes_max, 2000);
  EXPECT_EQ(partition("own", 0)->config()->message_bytes_max, 500);
  add_topic("late", 1);
  EXPECT_EQ(partition("late", 0)->config()->message_bytes_max, 2000);
  set_broker_config("", "log.retention.hours", "1");
  EXPECT_EQ(partition("t", 0)->config()->log.retention_ms, 3'600'000);
}

TEST_F(AlterConfigs, lists_what_can_be_asked_for) {
  add_topic("t", 1);
  protocol::ListConfigResourcesRequest request;
  std::vector<int8_t> types{2};
  request.resource_types = Array(types);
  auto const topics = call<protocol::ListConfigResourcesResponse>(request, 1);
  ASSERT_EQ(topics.config_resources.size(), 1u);
  EXPECT_EQ(topics.config_resources[0].resource_name, "t");
  EXPECT_EQ(topics.config_resources[0].resource_type, 2);
  types[0] = 99;
  EXPECT_EQ(call<protocol::ListConfigResourcesResponse>(request, 1).error_code, ErrorCode::unsupported_version);
  EXPECT_EQ(
      call<protocol::ListConfigResourcesResponse>(protocol::ListConfigResourcesRequest{}, 0).config_resources.size(),
      0u);
}

}  // namespace
}  // namespace millrace::broker
