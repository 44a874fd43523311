// Byte quotas: whose limit counts, how a rate is taken over windows, and how long a client above it is muted.
#include "millrace/broker/client_quotas.h"

#include "millrace/protocol/api/describe_client_quotas.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/produce.h"
#include "node.h"

namespace millrace::broker {
namespace {

Mono at(Duration d) { return Mono{} + 1000s + d; }

TEST(WindowedRate, takes_a_first_burst_over_all_windows_but_one) {
  WindowedRate rate({11, 1s});
  rate.record(1000, at(0s));
  EXPECT_DOUBLE_EQ(rate.per_second(at(0s)), 100);  // 10 s at least
  EXPECT_DOUBLE_EQ(rate.per_second(at(500ms)), 1000 / 10.5);
  rate.record(1000, at(10s));
  EXPECT_DOUBLE_EQ(rate.per_second(at(10s)), 200);
  EXPECT_DOUBLE_EQ(rate.per_second(at(11s)), 100);  // the first one is old now
  EXPECT_DOUBLE_EQ(rate.per_second(at(30s)), 0);
}

TEST(WindowedRate, takes_back_what_was_not_sent) {
  WindowedRate rate({11, 1s});
  rate.record(1000, at(0s));
  rate.unrecord(400, at(0s));
  EXPECT_DOUBLE_EQ(rate.per_second(at(0s)), 60);
}

class Quotas : public testing::Test {
 protected:
  void set(metadata::QuotaEntity entity, double value) {
    metadata::QuotaMap map;
    map.set(std::string(metadata::kProducerByteRate), value);
    image_.quotas.set({std::move(entity)}, map);
  }
  std::string limit(std::string_view user, std::string_view client) {
    auto const found = metadata::find_quota(image_, user, client, metadata::kProducerByteRate);
    return found ? fmt::format("{} {}/{}", found->bound, found->user, found->client_id) : "none";
  }
  metadata::Image image_;
};

TEST_F(Quotas, the_most_special_entity_counts) {
  EXPECT_EQ(limit("u", "c"), "none");
  set({{"client-id", std::nullopt}}, 8);
  EXPECT_EQ(limit("u", "c"), "8 /c");
  set({{"client-id", "c"}}, 7);
  EXPECT_EQ(limit("u", "c"), "7 /c");
  set({{"user", std::nullopt}}, 6);
  EXPECT_EQ(limit("u", "c"), "6 u/");
  set({{"client-id", std::nullopt}, {"user", std::nullopt}}, 5);
  EXPECT_EQ(limit("u", "c"), "5 u/c");
  set({{"client-id", "c"}, {"user", std::nullopt}}, 4);
  EXPECT_EQ(limit("u", "c"), "4 u/c");
  set({{"user", "u"}}, 3);
  EXPECT_EQ(limit("u", "c"), "3 u/");
  set({{"client-id", std::nullopt}, {"user", "u"}}, 2);
  EXPECT_EQ(limit("u", "c"), "2 u/c");
  set({{"client-id", "c"}, {"user", "u"}}, 1);
  EXPECT_EQ(limit("u", "c"), "1 u/c");
  EXPECT_EQ(limit("v", "d"), "5 v/d");
}

TEST_F(Quotas, who_is_above_waits_until_the_rate_is_the_limit) {
  set({{"user", "u"}}, 100);
  ClientQuotas quotas({11, 1s});
  auto const key = metadata::kProducerByteRate;
  EXPECT_EQ(quotas.record(image_, "u", "a", key, 1000, at(0s)), 0ms);
  EXPECT_EQ(quotas.record(image_, "u", "b", key, 500, at(0s)), 5s);  // shared by the user's clients
  EXPECT_EQ(quotas.record(image_, "other", "b", key, 500'000, at(0s)), 0ms);
  EXPECT_EQ(quotas.rate_count(), 1u);
  EXPECT_EQ(quotas.bytes_max(image_, "u", "a", key), 1000);
  EXPECT_EQ(quotas.bytes_max(image_, "other", "a", key), INT64_MAX);
  quotas.unrecord(image_, "u", "b", key, 500, at(0s));
  EXPECT_EQ(quotas.record(image_, "u", "a", key, 0, at(0s)), 0ms);
}

class QuotasOfRequests : public BrokerTest {
 protected:
  void SetUp() override {
    start();
    add_topic("t", 1);
  }
  void limit(std::string_view key, double value) {
    metadata::QuotaMap map;
    map.set(std::string(key), value);
    edit().quotas.set({{{"client-id", "test"}}}, map);
    commit();
  }
  int32_t produce(size_t bytes) {
    std::string const value(bytes, 'x');
    record::BatchOptions batch_options;
    record::BatchBuilder builder(batch_options);
    record::NewRecord record;
    record.timestamp = machine.node()->wall_now().ms;
    record.value = as_bytes(value);
    builder.append(record);
    auto batch = builder.build();
    protocol::ProduceRequest::PartitionProduceData data;
    data.records = protocol::Records(ByteView(batch));
    protocol::ProduceRequest::TopicProduceData topic;
    topic.name = "t";
    topic.partition_data = Array(&data, 1);
    protocol::ProduceRequest request;
    request.acks = 1;
    request.timeout_ms = 1000;
    request.topic_data = Array(&topic, 1);
    auto const response = call<protocol::ProduceResponse>(request, 8);
    EXPECT_EQ(response.responses[0].partition_responses[0].error_code, ErrorCode::none);
    return response.throttle_time_ms;
  }
  protocol::FetchResponse fetch() {
    protocol::FetchRequest::FetchPartition partition;
    partition.partition_max_bytes = 1 << 20;
    protocol::FetchRequest::FetchTopic topic;
    topic.topic = "t";
    topic.partitions = Array(&partition, 1);
    protocol::FetchRequest request;
    request.max_bytes = 1 << 20;
    request.topics = Array(&topic, 1);
    return call<protocol::FetchResponse>(request, 12);
  }
};

TEST_F(QuotasOfRequests, a_produce_is_stored_and_told_to_wait) {
  EXPECT_EQ(produce(20'000), 0);
  limit("producer_byte_rate", 1000);
  EXPECT_EQ(produce(1000), 0);
  EXPECT_GT(produce(20'000), 5'000);
  EXPECT_EQ(partition("t", 0)->marks().end.offset, Offset(3));
}

TEST_F(QuotasOfRequests, a_fetch_gets_nothing_but_the_wait) {
  produce(50'000);
  EXPECT_EQ(fetch().throttle_time_ms, 0);
  limit("consumer_byte_rate", 1000);
  auto const throttled = fetch();
  EXPECT_GT(throttled.throttle_time_ms, 10'000);
  EXPECT_EQ(throttled.responses.size(), 0u);
  EXPECT_EQ(throttled.error_code, ErrorCode::none);
}

TEST_F(QuotasOfRequests, are_described) {
  limit("consumer_byte_rate", 1000);
  using Request = protocol::DescribeClientQuotasRequest;
  Request::ComponentData component{"client-id", 2, std::nullopt};
  Request request;
  request.components = Array(&component, 1);
  auto const all = call<protocol::DescribeClientQuotasResponse>(request, 1);
  ASSERT_EQ(all.entries.size(), 1u);
  EXPECT_EQ(all.entries[0].entity[0].entity_name, "test");
  EXPECT_EQ(all.entries[0].values[0].value, 1000);
  component.match_type = 1;
  EXPECT_EQ(call<protocol::DescribeClientQuotasResponse>(request, 1).entries.size(), 0u);
  component.match_type = 0;
  auto const bad = call<protocol::DescribeClientQuotasResponse>(request, 1);
  EXPECT_EQ(bad.error_code, ErrorCode::invalid_request);
  EXPECT_TRUE(bad.entries.is_null());
}

}  // namespace
}  // namespace millrace::broker
