// Produce and Fetch through a whole broker on simulated disks: what is written is read back, idempotent duplicates get
// the first answer, waiting fetches wake, sessions shrink answers, and a follower that lags holds back mark and reply.
#include "node.h"

#include "millrace/protocol/api/delete_records.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/list_offsets.h"
#include "millrace/protocol/api/produce.h"

namespace millrace::broker {
namespace {

using protocol::FetchRequest;
using protocol::FetchResponse;
using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;
using protocol::ProduceRequest;
using protocol::ProduceResponse;

constexpr int16_t kProduceVersion = 9;
constexpr int16_t kFetchVersion = 12;

struct Producer {
  int64_t id = -1;
  int16_t epoch = -1;
  int32_t sequence = -1;
};

struct FetchOptions {
  int32_t wait_ms = 0;
  int32_t bytes_min = 1;
  int32_t bytes_max = 1 << 24;
  int32_t partition_bytes_max = 1 << 20;
  int32_t replica = -1;
  int32_t index = 0;
};

class ProduceFetch : public BrokerTest {
 protected:
  void SetUp() override {
    start();
    add_topic("t", 3);
  }

  std::vector<std::byte> batch(std::string const& value, int count = 1, Producer producer = {}) {
    record::BatchOptions batch_options;
    batch_options.producer_id = ProducerId(producer.id);
    batch_options.producer_epoch = ProducerEpoch(producer.epoch);
    batch_options.base_sequence = producer.sequence;
    record::BatchBuilder builder(batch_options);
    for (int i = 0; i < count; ++i) {
      builder.append({.timestamp = machine.node()->wall_now().ms, .key = as_bytes("k"), .value = as_bytes(value)});
    }
    return builder.build();
  }
  std::shared_ptr<Outcome> produce(std::vector<std::byte> const& records, int16_t acks = -1, int32_t index = 0,
                                   int32_t timeout_ms = 5000) {
    ProduceRequest::PartitionProduceData data;
    data.index = index;
    data.records = protocol::Records(ByteView(records));
    ProduceRequest::TopicProduceData topic;
    topic.name = "t";
    topic.partition_data = Array(&data, 1);
    ProduceRequest request;
    request.acks = acks;
    request.timeout_ms = timeout_ms;
    request.topic_data = Array(&topic, 1);
    return send(request, kProduceVersion);
  }
  ProduceResponse::PartitionProduceResponse answer_of(std::shared_ptr<Outcome> const& outcome) {
    EXPECT_TRUE(wait(outcome));
    auto response = decode<ProduceResponse>(*outcome, kProduceVersion);
    EXPECT_EQ(response.responses.size(), 1u);
    return response.responses[0].partition_responses[0];
  }

  std::shared_ptr<Outcome> fetch(int64_t offset, FetchOptions how) {
    FetchRequest::FetchPartition partition;
    partition.partition = how.index;
    partition.fetch_offset = offset;
    partition.current_leader_epoch = -1;
    partition.last_fetched_epoch = -1;
    partition.partition_max_bytes = how.partition_bytes_max;
    FetchRequest::FetchTopic topic;
    topic.topic = "t";
    topic.partitions = Array(&partition, 1);
    FetchRequest request;
    request.replica_id = how.replica;
    request.max_wait_ms = how.wait_ms;
    request.min_bytes = how.bytes_min;
    request.max_bytes = how.bytes_max;
    request.topics = Array(&topic, 1);
    return send(request, kFetchVersion);
  }
  std::shared_ptr<Outcome> fetch(int64_t offset) { return fetch(offset, FetchOptions{}); }
  // "error 0 mark 3: 0+1 1+2", batches as base offset and record count.
  std::string fetched(std::shared_ptr<Outcome> const& outcome) {
    EXPECT_TRUE(wait(outcome));
    auto response = decode<FetchResponse>(*outcome, kFetchVersion);
    auto const& data = response.responses[0].partitions[0];
    auto text = fmt::format("error {} mark {}:", static_cast<int>(data.error_code), data.high_watermark);
    record::BatchReader reader(data.records.view());
    for (record::BatchView one; reader.next(one);) {
      EXPECT_FALSE(record::check(one)) << "checksum";
      text += fmt::format(" {}+{}", one.base_offset(), one.record_count());
    }
    return text;
  }
  int64_t list_offset(int64_t timestamp) {
    ListOffsetsRequest::ListOffsetsPartition partition;
    partition.timestamp = timestamp;
    ListOffsetsRequest::ListOffsetsTopic topic;
    topic.name = "t";
    topic.partitions = Array(&partition, 1);
    ListOffsetsRequest request;
    request.replica_id = -1;
    request.topics = Array(&topic, 1);
    auto const response = call<ListOffsetsResponse>(request, 7);
    EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::none);
    return response.topics[0].partitions[0].offset;
  }
};

}  // namespace

TEST_F(ProduceFetch, what_is_written_is_read_back_before_and_after_a_restart) {
  EXPECT_EQ(answer_of(produce(batch("one"))).base_offset, 0);
  EXPECT_EQ(answer_of(produce(batch("two", 3))).base_offset, 1);
  EXPECT_EQ(answer_of(produce(batch("three"), 1)).base_offset, 4);
  EXPECT_EQ(fetched(fetch(0)), "error 0 mark 5: 0+1 1+3 4+1");
  EXPECT_EQ(fetched(fetch(2)), "error 0 mark 5: 1+3 4+1");
  EXPECT_EQ(fetched(fetch(5)), "error 0 mark 5:");
  EXPECT_EQ(fetched(fetch(6)), "error 1 mark -1:");
  EXPECT_EQ(list_offset(-1), 5);
  EXPECT_EQ(list_offset(-2), 0);

  machine.stop();
  world.run_for(5s);
  ASSERT_FALSE(machine.is_running());
  start();
  EXPECT_EQ(fetched(fetch(0)), "error 0 mark 5: 0+1 1+3 4+1");
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  start();
  EXPECT_EQ(fetched(fetch(0)), "error 0 mark 5: 0+1 1+3 4+1");
  EXPECT_EQ(answer_of(produce(batch("four"))).base_offset, 5);
}

TEST_F(ProduceFetch, acks_0_is_not_answered_and_its_error_closes) {
  auto const good = produce(batch("x"), 0);
  ASSERT_TRUE(wait(good));
  EXPECT_TRUE(good->is_nothing);
  auto const bad = produce(batch("x"), 0, 9);
  ASSERT_TRUE(wait(bad));
  EXPECT_TRUE(bad->is_closed);
  EXPECT_EQ(list_offset(-1), 1);
}

TEST_F(ProduceFetch, errors_of_a_produce) {
  EXPECT_EQ(answer_of(produce(batch("x"), 2)).error_code, ErrorCode::invalid_required_acks);
  EXPECT_EQ(answer_of(produce(batch("x"), -1, 9)).error_code, ErrorCode::unknown_topic_or_partition);
  auto two = batch("x");
  auto const copy = two;
  two.insert(two.end(), copy.begin(), copy.end());
  EXPECT_EQ(answer_of(produce(two)).error_code, ErrorCode::invalid_record);
  auto broken = batch("x");
  broken.back() ^= std::byte{1};
  EXPECT_EQ(answer_of(produce(broken)).error_code, ErrorCode::corrupt_message);
  EXPECT_EQ(list_offset(-1), 0);
}

TEST_F(ProduceFetch, duplicates_get_the_first_answer_and_gaps_are_refused) {
  Producer producer{4711, 0, 0};
  auto const first = batch("a", 2, producer);
  // Several at once: the later copies are duplicates of a batch that is in flight.
  auto const one = produce(first), two = produce(first);
  EXPECT_EQ(answer_of(one).base_offset, 0);
  EXPECT_EQ(answer_of(two).base_offset, 0);
  EXPECT_EQ(answer_of(two).error_code, ErrorCode::none);
  producer.sequence = 5;
  EXPECT_EQ(answer_of(produce(batch("gap", 1, producer))).error_code, ErrorCode::out_of_order_sequence_number);
  producer.sequence = 2;
  EXPECT_EQ(answer_of(produce(batch("b", 1, producer))).base_offset, 2);
  EXPECT_EQ(answer_of(produce(first)).base_offset, 0);
  EXPECT_EQ(list_offset(-1), 3);
}

TEST_F(ProduceFetch, any_of_five_batches_that_is_sent_again_after_a_restart_gets_the_first_answer) {
  std::vector<std::vector<std::byte>> sent;
  for (int i = 0; i < 5; ++i) {
    sent.push_back(batch("a", 2, {4711, 0, i * 2}));
    EXPECT_EQ(answer_of(produce(sent.back())).base_offset, i * 2);
  }
  auto const send_again = [&] {
    start();
    for (int i = 0; i < 5; ++i) {
      auto const answer = answer_of(produce(sent[static_cast<size_t>(i)]));
      EXPECT_EQ(answer.error_code, ErrorCode::none) << i;
      EXPECT_EQ(answer.base_offset, i * 2);
    }
    EXPECT_EQ(list_offset(-1), 10);
  };
  machine.stop();
  world.run_for(5s);
  ASSERT_FALSE(machine.is_running());
  send_again();
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  send_again();
}

TEST_F(ProduceFetch, a_fetch_waits_for_bytes_and_not_longer_than_it_says) {
  auto const before = world.now();
  EXPECT_EQ(fetched(fetch(0, {.wait_ms = 400})), "error 0 mark 0:");
  EXPECT_GE(world.now() - before, 400ms);

  auto const waiting = fetch(0, {.wait_ms = 60'000});
  world.run_for(1s);
  EXPECT_FALSE(waiting->is_answered);
  auto const elsewhere = answer_of(produce(batch("x"), -1, 1));
  EXPECT_EQ(elsewhere.base_offset, 0);
  world.run_for(1s);
  EXPECT_FALSE(waiting->is_answered);
  answer_of(produce(batch("x")));
  EXPECT_EQ(fetched(waiting), "error 0 mark 1: 0+1");

  // Enough bytes, counted over several produces.
  auto const size = static_cast<int32_t>(batch("x").size());
  auto const greedy = fetch(1, {.wait_ms = 60'000, .bytes_min = 2 * size});
  answer_of(produce(batch("x")));
  world.run_for(1s);
  EXPECT_FALSE(greedy->is_answered);
  answer_of(produce(batch("x")));
  EXPECT_EQ(fetched(greedy), "error 0 mark 3: 1+1 2+1");
}

TEST_F(ProduceFetch, a_parked_fetch_ends_with_its_topic_and_with_its_connection) {
  auto const waiting = fetch(0, {.wait_ms = 60'000});
  world.run_for(1s);
  auto& image = edit();
  image.topics.remove("t");
  image.topics_by_id.remove(topic_id("t"));
  commit();
  EXPECT_EQ(fetched(waiting), "error 3 mark -1:");

  add_topic("u", 1);
  add_topic("t", 1);
  auto const other = fetch(0, {.wait_ms = 60'000});
  world.run_for(1s);
  connection->reactor->post([this] { process().broker_->on_connection_closed(*connection); });
  world.run_for(1s);
  EXPECT_TRUE(other->is_answered) << "the request was dropped with its connection";
}

TEST_F(ProduceFetch, at_least_one_batch_comes_and_large_ranges_leave_as_regions) {
  std::string const large(200'000, 'x');
  answer_of(produce(batch(large)));
  answer_of(produce(batch(large)));
  EXPECT_EQ(fetched(fetch(0, {.bytes_max = 1, .partition_bytes_max = 1})), "error 0 mark 2: 0+1");
  EXPECT_EQ(fetched(fetch(0)), "error 0 mark 2: 0+1 1+1");
}

TEST_F(ProduceFetch, the_mark_waits_for_a_follower) {
  add_topic("unused", 1);
  auto& image = edit();
  auto topic = std::make_shared<metadata::TopicImage>(**image.topics.find("t"));
  auto shared = **topic->partitions.find(0);
  shared.replicas = shared.isr = {BrokerId(1), BrokerId(2)};
  shared.directories.assign(2, metadata::kDirectoryUnassigned);
  shared.leader_epoch += 1;
  topic->partitions.set(0, std::make_shared<metadata::PartitionImage const>(shared));
  image.topics.set("t", topic);
  image.topics_by_id.set(topic->id, topic);
  commit();

  auto const all = produce(batch("a"));
  auto const leader_only = produce(batch("b"), 1);
  EXPECT_EQ(answer_of(leader_only).base_offset, 1);
  world.run_for(1s);
  EXPECT_FALSE(all->is_answered);
  EXPECT_TRUE(all->may_next_start);
  EXPECT_EQ(fetched(fetch(0)), "error 0 mark 0:");
  EXPECT_EQ(list_offset(-1), 0);
  EXPECT_EQ(fetched(fetch(0, {.replica = 2})), "error 0 mark 0: 0+1 1+1");
  EXPECT_FALSE(all->is_answered);
  EXPECT_EQ(fetched(fetch(1, {.replica = 2})), "error 0 mark 1: 1+1");
  EXPECT_EQ(answer_of(all).base_offset, 0);
  EXPECT_EQ(fetched(fetch(0)), "error 0 mark 1: 0+1");
  EXPECT_EQ(fetched(fetch(0, {.replica = 7})), "error 6 mark -1:");

  auto const late = produce(batch("c"), -1, 0, 300);
  EXPECT_EQ(answer_of(late).error_code, ErrorCode::request_timed_out);
}

TEST_F(ProduceFetch, produces_for_one_partition_queue_up_and_others_wait_for_the_log) {
  // One connection, all at once, as a client with several in flight sends them.
  auto const one = produce(batch("a")), two = produce(batch("b")), elsewhere = produce(batch("c"), -1, 1),
             three = produce(batch("d"));
  EXPECT_TRUE(world.run_while_not([&] { return one->may_next_start || one->is_answered; }, kLongEnough));
  EXPECT_EQ(answer_of(one).base_offset, 0);
  EXPECT_EQ(answer_of(two).base_offset, 1);
  EXPECT_EQ(answer_of(elsewhere).base_offset, 0);
  EXPECT_EQ(answer_of(three).base_offset, 2);
  EXPECT_TRUE(one->may_next_start);
  EXPECT_GT(world.probes()["produce.held"], 0u);
}

// The timeout is for other replicas: what the own log needs comes before it, however slow the disk.
TEST_F(ProduceFetch, records_are_deleted_up_to_an_offset) {
  machine.disk().speed().sync = 100ms;
  answer_of(produce(batch("a", 2)));
  answer_of(produce(batch("b", 2)));
  auto const remove = [&](int64_t offset) {
    protocol::DeleteRecordsRequest::DeleteRecordsPartition part;
    part.partition_index = 0;
    part.offset = offset;
    protocol::DeleteRecordsRequest::DeleteRecordsTopic topic;
    topic.name = "t";
    topic.partitions = Array(&part, 1);
    protocol::DeleteRecordsRequest request;
    request.topics = Array(&topic, 1);
    request.timeout_ms = 0;
    auto const response = call<protocol::DeleteRecordsResponse>(request, 2);
    auto const& one = response.topics[0].partitions[0];
    return std::pair(one.error_code, one.low_watermark);
  };
  EXPECT_EQ(remove(2), (std::pair(ErrorCode::none, int64_t{2})));
  EXPECT_EQ(remove(1), (std::pair(ErrorCode::none, int64_t{2})));
  EXPECT_EQ(remove(9), (std::pair(ErrorCode::offset_out_of_range, int64_t{-1})));
  EXPECT_EQ(fetched(fetch(1)), "error 1 mark -1:");
  EXPECT_EQ(fetched(fetch(3)), "error 0 mark 4: 2+2");
  EXPECT_EQ(list_offset(-2), 2);
  EXPECT_EQ(remove(-1), (std::pair(ErrorCode::none, int64_t{4})));
}

class FlushBeforeAcknowledge : public ProduceFetch {
 protected:
  void SetUp() override {
    start();
    add_topic("t", 1, {{"flush.messages", "1"}});
  }
};

TEST_F(FlushBeforeAcknowledge, nothing_is_acknowledged_or_shown_before_it_is_on_the_disk) {
  EXPECT_EQ(answer_of(produce(batch("a"))).base_offset, 0);
  machine.kill(sim::CrashKind::power_loss);
  world.run_for(1s);
  start();
  EXPECT_EQ(fetched(fetch(0)), "error 0 mark 1: 0+1");
}

}  // namespace millrace::broker
