// Requests of clients on their way to a controller elsewhere: a broker passes them on as they came and gives the answer
// back as it comes; a controller runs what an Envelope holds and says in the envelope what is wrong with it.
#include "millrace/broker/forwarding.h"

#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/envelope.h"
#include "millrace/protocol/api/metadata.h"
#include "node.h"

namespace millrace::broker {
namespace {

using namespace protocol;

class Envelopes : public BrokerTest {
 protected:
  void SetUp() override { start(); }
  ScriptedController& controller() { return process().controller_; }
  void connect_to_controller() {
    connect();
    connection->listener_name = "CONTROLLER";
  }
  static std::string create_frame(std::string const& topic, int16_t version = 7) {
    CreateTopicsRequest::CreatableTopic creation;
    creation.name = topic;
    creation.num_partitions = 1;
    creation.replication_factor = 1;
    CreateTopicsRequest request;
    request.topics = {&creation, 1};
    auto const frame = encode_request(77, Str("client"), version, request);
    return std::string(as_text(frame->view().subspan(4)));
  }
  ErrorCode envelope(std::string const& inner, std::string* data = nullptr, size_t address_bytes = 4,
                     std::optional<ByteView> principal = ByteView{}) {
    net::ConnectionInfo client;
    client.peer.ip = "10.1.2.3";
    auto const from = forwarded_from(client, "ANONYMOUS");
    std::string const address(address_bytes, '\1');
    EnvelopeRequest request;
    request.request_data = as_bytes(inner);
    request.request_principal = principal && principal->empty() ? from.principal.view() : principal;
    request.client_host_address = as_bytes(address);
    auto const response = call<EnvelopeResponse>(request, 0);
    if (data != nullptr && response.response_data) *data = as_text(*response.response_data);
    return response.error_code;
  }
};

TEST_F(Envelopes, a_broker_passes_on_what_only_the_controller_can_do) {
  controller().active = false;
  controller().forward_answer = SharedBytes::copy_of(as_bytes(std::string("\0\0\0\x4dwhatever", 12)));
  auto const outcome = send_frame(create_frame("t"));
  ASSERT_TRUE(wait(outcome));
  EXPECT_EQ(outcome->bytes, std::string("\0\0\0\x4dwhatever", 12));
  ASSERT_EQ(controller().forwarded.size(), 1u);
  EXPECT_EQ(controller().forwarded[0].first, create_frame("t"));
  // What a broker knows itself it answers itself.
  MetadataRequest metadata;
  call<MetadataResponse>(metadata, 9);
  EXPECT_EQ(controller().forwarded.size(), 1u);
  // No controller in time: this node's own controller says what is wrong.
  controller().forward_answer.reset();
  controller().script = [](metadata::ControllerRequest const& request) {
    return metadata::error_answer(request, {ErrorCode::request_timed_out, std::nullopt});
  };
  auto const refused = send_frame(create_frame("t"));
  ASSERT_TRUE(wait(refused));
  EXPECT_EQ(decode<CreateTopicsResponse>(*refused, 7).topics[0].error_code, ErrorCode::request_timed_out);
}

TEST_F(Envelopes, a_client_waits_as_long_as_the_controller_says) {
  controller().active = false;
  std::string const header_and_throttle("\0\0\0\x4d\0\0\0\x2\xbc", 9);
  controller().forward_answer = SharedBytes::copy_of(as_bytes(header_and_throttle + std::string("\x1\0", 2)));
  auto const outcome = send_frame(create_frame("t"));
  ASSERT_TRUE(wait(outcome));
  EXPECT_EQ(outcome->throttle, 700ms);
}

TEST_F(Envelopes, the_controller_is_told_whose_quota_a_change_counts_against) {
  std::vector<std::string> askers;
  controller().script = [&](metadata::ControllerRequest const& request) -> metadata::ControllerAnswer {
    auto const& asker = *std::get<metadata::CreateTopics>(request).asker;
    askers.push_back(fmt::format("{} {} {}", asker.user, asker.client_id, asker.is_strict));
    metadata::CreateTopicsAnswer answer;
    answer.throttled_until = connection->reactor->now() + 2s;
    return answer;
  };
  for (int16_t version : {2, 5, 6, 7}) {
    auto const outcome = send(CreateTopicsRequest(), version);
    ASSERT_TRUE(wait(outcome));
    EXPECT_EQ(to_ms(outcome->throttle), decode<CreateTopicsResponse>(*outcome, version).throttle_time_ms);
    EXPECT_GT(outcome->throttle, 1900ms);
  }
  EXPECT_EQ(askers, (std::vector<std::string>{"ANONYMOUS test false", "ANONYMOUS test false", "ANONYMOUS test true",
                                              "ANONYMOUS test true"}));
}

TEST_F(Envelopes, a_topic_that_is_made_on_first_mention_is_its_clients_request) {
  controller().active = false;
  MetadataRequest::MetadataRequestTopic topic;
  topic.name = "fresh";
  MetadataRequest request;
  request.topics = Array(&topic, 1);
  request.allow_auto_topic_creation = true;
  EXPECT_EQ(call<MetadataResponse>(request, 9).topics[0].error_code, ErrorCode::unknown_topic_or_partition);
  ASSERT_EQ(controller().forwarded.size(), 1u);
  Reader in(as_bytes(controller().forwarded[0].first));
  Arena arena;
  RequestHeader header;
  ASSERT_TRUE(protocol::decode(in, 2, arena, header).ok());
  EXPECT_EQ(header.request_api_key, static_cast<int16_t>(ApiKey::create_topics));
  EXPECT_EQ(header.client_id, "test");
  CreateTopicsRequest created;
  ASSERT_TRUE(protocol::decode(in, header.request_api_version, arena, created).ok());
  ASSERT_EQ(created.topics.size(), 1u);
  EXPECT_EQ(created.topics[0].name, "fresh");
}

TEST_F(Envelopes, a_controller_runs_what_is_inside) {
  connect_to_controller();
  controller().script = [](metadata::ControllerRequest const& request) -> metadata::ControllerAnswer {
    metadata::CreateTopicsAnswer answer;
    auto& topic = answer.topics.emplace_back();
    topic.name = std::get<metadata::CreateTopics>(request).topics.at(0).name;
    topic.partition_count = 1;
    return answer;
  };
  std::string data;
  EXPECT_EQ(envelope(create_frame("t"), &data), ErrorCode::none);
  Outcome inner;
  inner.bytes = data;
  auto const created = decode<CreateTopicsResponse>(inner, 7);
  ASSERT_EQ(created.topics.size(), 1u);
  EXPECT_EQ(created.topics[0].name, "t");
  EXPECT_EQ(created.topics[0].error_code, ErrorCode::none);
}

TEST_F(Envelopes, who_is_not_the_controller_says_so_in_the_envelope) {
  connect_to_controller();
  controller().active = false;
  EXPECT_EQ(envelope(create_frame("t")), ErrorCode::not_controller);
  // And if it stops being it while it decides.
  controller().active = true;
  controller().script = [](metadata::ControllerRequest const& request) {
    return metadata::error_answer(request, {ErrorCode::not_controller, std::nullopt});
  };
  EXPECT_EQ(envelope(create_frame("t")), ErrorCode::not_controller);
}

TEST_F(Envelopes, bad_ones_are_refused_in_kafkas_words) {
  connect_to_controller();
  EXPECT_EQ(envelope(create_frame("t"), nullptr, 5), ErrorCode::invalid_request);
  EXPECT_EQ(envelope(create_frame("t"), nullptr, 4, as_bytes("\x7f\x7f")), ErrorCode::principal_deserialization_failure);
  EXPECT_EQ(envelope(create_frame("t"), nullptr, 4, std::nullopt), ErrorCode::principal_deserialization_failure);
  EXPECT_EQ(envelope("x"), ErrorCode::unsupported_version);
  EXPECT_EQ(envelope(create_frame("t").substr(0, 20)), ErrorCode::unsupported_version);
  auto future = create_frame("t");
  future[3] = 99;
  EXPECT_EQ(envelope(future), ErrorCode::unsupported_version);
  MetadataRequest metadata;
  auto const frame = encode_request(1, Str("client"), 9, metadata);
  EXPECT_EQ(envelope(std::string(as_text(frame->view().subspan(4)))), ErrorCode::invalid_request);
}

TEST(Addresses, are_read_as_bytes) {
  auto const hex = [](std::string_view ip) {
    std::string out;
    for (auto const byte : address_bytes(ip)) out += fmt::format("{:02x}", static_cast<unsigned>(byte));
    return out;
  };
  EXPECT_EQ(hex("127.0.0.1"), "7f000001");
  EXPECT_EQ(hex("::1"), "00000000000000000000000000000001");
  EXPECT_EQ(hex("fe80::1:2"), "fe800000000000000000000000010002");
  EXPECT_EQ(hex("1:2:3:4:5:6:7:8"), "00010002000300040005000600070008");
  EXPECT_EQ(hex("::ffff:10.0.0.255"), "00000000000000000000ffff0a0000ff");
  EXPECT_EQ(hex("2001:db8::"), "20010db8000000000000000000000000");
  for (auto const* bad : {"", "1.2.3", "1.2.3.256", "1:2", "1::2::3", "machine-1", "1:2:3:4:5:6:7:8:9", "12345::"}) {
    EXPECT_EQ(hex(bad), "") << bad;
  }
}

}  // namespace
}  // namespace millrace::broker
