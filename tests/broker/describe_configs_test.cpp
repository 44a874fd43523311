// DescribeConfigs: which resources there are, which keys are asked for, what each version carries.
#include "node.h"

#include "millrace/protocol/api/describe_configs.h"

namespace millrace::broker {
namespace {

using Request = protocol::DescribeConfigsRequest;
using Response = protocol::DescribeConfigsResponse;

class DescribeConfigs : public BrokerTest {
 protected:
  void SetUp() override {
    start();
    add_topic("t", 1, {{"retention.ms", "777"}});
  }
  Response::DescribeConfigsResult describe(int8_t type, Str name, std::vector<Str> keys = {}, int16_t version = 4) {
    Request::DescribeConfigsResource resource{type, name, Array(keys)};
    Request request;
    request.resources = Array(&resource, 1);
    request.include_synonyms = true;
    request.include_documentation = version >= 3;
    return call<Response>(request, version).results[0];
  }
};

TEST_F(DescribeConfigs, tells_the_keys_that_are_asked_for) {
  auto const one = describe(2, "t", {"retention.ms", "no.such"});
  EXPECT_EQ(one.error_code, ErrorCode::none);
  EXPECT_EQ(one.error_message, "");
  ASSERT_EQ(one.configs.size(), 1u);
  EXPECT_EQ(one.configs[0].name, "retention.ms");
  EXPECT_EQ(one.configs[0].value, "777");
  EXPECT_EQ(one.configs[0].config_source, 1);
  EXPECT_EQ(one.configs[0].config_type, 5);
  EXPECT_TRUE(one.configs[0].documentation.has_value());
  ASSERT_EQ(one.configs[0].synonyms.size(), 1u);
  EXPECT_EQ(describe(2, "t").configs.size(), 37u);  // no keys: all
  EXPECT_EQ(describe(2, "t", {"retention.ms"}, 1).configs[0].value, "777");
}

TEST_F(DescribeConfigs, refuses_what_is_not_there) {
  EXPECT_EQ(describe(2, "none").error_code, ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(describe(2, "a/b").error_code, ErrorCode::invalid_topic_exception);
  EXPECT_EQ(describe(4, "99").error_code, ErrorCode::invalid_request);
  EXPECT_EQ(describe(4, "abc").error_code, ErrorCode::invalid_request);
  EXPECT_EQ(describe(8, "").error_code, ErrorCode::invalid_request);
  EXPECT_EQ(describe(7, "1").error_code, ErrorCode::invalid_request);
  EXPECT_EQ(describe(32, "").error_code, ErrorCode::invalid_request);
  EXPECT_EQ(describe(4, "1").error_code, ErrorCode::none);
  EXPECT_EQ(describe(4, "").error_code, ErrorCode::none);
}

}  // namespace
}  // namespace millrace::broker
