// What the broker does with frames that are no good requests: exactly what a 4.4.0 broker did when it was recorded.
#include "node.h"

#include "millrace/protocol/api/api_versions.h"

namespace millrace::broker {
namespace {

std::string unhex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

class Framing : public BrokerTest {
 protected:
  void SetUp() override { start(); }
  bool is_closed(std::string_view hex) {
    auto const outcome = send_frame(unhex(hex));
    EXPECT_TRUE(wait(outcome)) << hex;
    return outcome->is_closed;
  }
};

}  // namespace

TEST_F(Framing, what_cannot_be_served_closes_the_connection) {
  for (auto const* hex : {
           "03e70000000000070001780000000000000000000000000000000000000000",      // unknown API 999
           "ffff0000000000070001780000000000000000000000000000000000000000",      // unknown API -1
           "00040000000000070001780000000000000000000000000000000000000000",      // LeaderAndIsr, removed
           "0034000000000007000178000000000000000000000000000000000000000000",    // Vote, for controllers
           "000000020000000700017800010000006400000000",                          // Produce v2
           "0001000300000007000178ffffffff00000000000000000000006400000000",      // Fetch v3
           "",                                                                    // empty
           "000300",                                                              // half a header
           "000200010000000700017800000000000005",                                // ListOffsets v1, cut
           "0002000100000007000178ffffffff7fffffff",                              // 2^31 topics
           "00020001000000077fff616263",                                          // client id longer than the frame
           "0002000100000007fffe",                                                // client id of length -2
       }) {
    EXPECT_TRUE(is_closed(hex)) << hex;
  }
}

TEST_F(Framing, trailing_bytes_and_a_null_client_id_are_ignored) {
  EXPECT_FALSE(is_closed("0002000100000007000178ffffffff000000006a756e6b"));
  EXPECT_FALSE(is_closed("0002000100000007ffffffffffff00000000"));
}

TEST_F(Framing, api_versions_of_an_unknown_version_is_answered_in_the_oldest_form) {
  auto const outcome = send_frame(unhex("001200060000004d00066f7261636c65000261026200"));
  ASSERT_TRUE(wait(outcome));
  EXPECT_EQ(as_bytes(outcome->bytes).size(), 16u);
  EXPECT_EQ(outcome->bytes, unhex("0000004d" "0023" "00000001" "0012" "0000" "0005"));
}

TEST_F(Framing, api_versions_checks_the_software_and_the_cluster) {
  using protocol::ApiVersionsRequest;
  using protocol::ApiVersionsResponse;
  auto const ask = [&](Str name, Str version, std::optional<Str> cluster = {}) {
    ApiVersionsRequest request;
    request.client_software_name = name;
    request.client_software_version = version;
    request.cluster_id = cluster;
    return call<ApiVersionsResponse>(request, 5);
  };
  EXPECT_EQ(ask("a.b-c", "1.2-x").error_code, ErrorCode::none);
  EXPECT_GT(ask("a", "1").api_keys.size(), 5u);
  for (auto const* name : {"", "a b", "-a"}) EXPECT_EQ(ask(name, "1").error_code, ErrorCode::invalid_request) << name;
  EXPECT_EQ(ask("a", "").error_code, ErrorCode::invalid_request);
  EXPECT_EQ(ask("a", "1", "other-cluster").error_code, ErrorCode::invalid_request);
  EXPECT_EQ(connection->client_software_name, "a");
  for (auto const& key : ask("a", "1").api_keys) {
    if (key.api_key != 0) continue;
    EXPECT_EQ(key.min_version, 0) << "librdkafka compresses only if Produce begins at 0";
  }
}

}  // namespace millrace::broker
