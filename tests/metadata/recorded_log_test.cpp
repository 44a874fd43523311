// Proves on metadata logs that Apache Kafka 4.4.0 wrote that replay gives the topics, configurations and brokers that
// Kafka had; that a snapshot and the tail behind it equal the whole log; that our own snapshot rebuilds the image; and
// that what is not understood is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "millrace/metadata/features.h"
#include "millrace/metadata/replay.h"
#include "millrace/metadata/snapshot.h"
#include "millrace/protocol/records/metadata.h"
#include "millrace/record/record.h"

namespace millrace::metadata {
namespace {

std::string read_data(std::string const& name) {
  std::ifstream file(std::string(MR_TEST_DATA) + "/metadata/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

// Replays the records with from <= offset < end; of a snapshot, all.
void replay(Replayer& replayer, std::string const& bytes, int64_t from, int64_t end, bool is_snapshot) {
  record::BatchReader batches(as_bytes(bytes));
  record::BatchView batch;
  while (batches.next(batch)) {
    ASSERT_FALSE(record::check(batch));
    record::RecordReader records(batch, batch.payload());
    record::RecordView record;
    while (records.next(record)) {
      if (!is_snapshot && (record.offset < Offset{from} || record.offset >= Offset{end})) continue;
      if (batch.is_control()) {
        replayer.skip(record.offset, batch.leader_epoch(), record.timestamp);
        continue;
      }
      auto const status = replayer.apply(*record.value, record.offset, batch.leader_epoch(), record.timestamp);
      ASSERT_TRUE(status) << status.error().message;
      replayer.image().check_invariants();
    }
    ASSERT_FALSE(records.fault());
  }
  ASSERT_FALSE(batches.fault());
}

constexpr int64_t kAll = 1'000'000;

Image replay_log(std::string const& name, int64_t end = kAll) {
  Replayer replayer;
  replay(replayer, read_data(name), 0, end, false);
  EXPECT_FALSE(replayer.is_in_transaction());
  return replayer.visible();
}

std::string topics_text(Image const& image) {
  std::string out;
  image.topics.for_each([&](std::string const& name, TopicImagePtr const& topic) {
    out += fmt::format("{}:{}", name, topic->partition_count());
    if (auto const* configs = image.find_configs(ConfigResourceType::topic, name)) {
      configs->for_each([&](std::string const& key, std::string const& value) { out += fmt::format(" {}={}", key, value); });
    }
    out += "\n";
  });
  return out;
}

TEST(RecordedLog, TopicsAndConfigsAreKafkas) {
  auto const image = replay_log("full.log");
  EXPECT_EQ(topics_text(image),
            "__consumer_offsets:4 cleanup.policy=compact compression.type=producer segment.bytes=1048576\n"
            "__share_group_state:4 cleanup.policy=delete compression.type=producer min.insync.replicas=1 retention.ms=-1"
            " segment.bytes=104857600\n"
            "__transaction_state:4 cleanup.policy=compact compression.type=uncompressed min.insync.replicas=1"
            " segment.bytes=104857600 unclean.leader.election.enable=false\n"
            "appendtime:1 message.timestamp.type=LogAppendTime\n"
            "codecs:1\n"
            "compacted:1 cleanup.policy=compact delete.retention.ms=86400000 internal.segment.bytes=300 max.compaction.lag.ms=1"
            " min.cleanable.dirty.ratio=0.01\n"
            "deleted-records:1 internal.segment.bytes=300\n"
            "grown:3\n"
            "plain:2 index.interval.bytes=50 internal.segment.bytes=400 retention.ms=-1\n"
            "txn:2 internal.segment.bytes=600\n");
  EXPECT_EQ(image.metadata_version(), kMetadataVersionLatest);
  EXPECT_EQ(image.feature_level(kTransactionFeature), 2);
  EXPECT_EQ(image.next_producer_id, ProducerId{1000});
  EXPECT_EQ(image.offset, Offset{135});
  EXPECT_EQ(image.epoch, LeaderEpoch{1});
  EXPECT_EQ(image.acls.size(), 2U);
  EXPECT_EQ(image.scram.size(), 1U);
  EXPECT_EQ(image.quotas.size(), 1U);

  auto const* broker = image.find_broker(BrokerId{1});
  ASSERT_NE(broker, nullptr);
  EXPECT_EQ(broker->epoch, 13);
  EXPECT_TRUE(broker->is_fenced);  // the log ends with a clean stop
  ASSERT_NE(broker->find_endpoint("PLAINTEXT"), nullptr);
  EXPECT_EQ(broker->find_endpoint("PLAINTEXT")->port, 19220);

  auto const* partition = image.find_partition("plain", 1);
  ASSERT_NE(partition, nullptr);
  EXPECT_EQ(partition->leader, kNoBroker);
  EXPECT_EQ(partition->leader_epoch, LeaderEpoch{1});
  EXPECT_EQ(partition->elr, std::vector{BrokerId{1}});
  EXPECT_EQ(partition->last_known_elr, std::vector{BrokerId{1}});
}

TEST(RecordedLog, SnapshotAndTailEqualTheWholeLog) {
  auto const whole = replay_log("full.log");
  for (auto const& [name, end] : {std::pair{"full-00000000000000000072-0000000001.checkpoint", 72},
                                  std::pair{"full-00000000000000000106-0000000001.checkpoint", 106}}) {
    Replayer replayer;
    replay(replayer, read_data(name), 0, kAll, true);
    EXPECT_EQ(fingerprint(replayer.visible()), fingerprint(replay_log("full.log", end))) << name;
    EXPECT_TRUE(compare_images(replayer.visible(), replay_log("full.log", end)).empty()) << name;
    replay(replayer, read_data("full.log"), end, kAll, false);
    EXPECT_EQ(fingerprint(replayer.visible()), fingerprint(whole)) << name;
  }
}

TEST(RecordedLog, OurSnapshotRebuildsTheImage) {
  for (auto const* name : {"full.log", "static.log"}) {
    auto const image = replay_log(name);
    Replayer again;
    for (auto const& value : snapshot_records(image).values()) {
      ASSERT_TRUE(again.apply(value.view(), Offset{0}, LeaderEpoch{1}, 0));
    }
    EXPECT_EQ(fingerprint(again.visible()), fingerprint(image)) << name;
    EXPECT_TRUE(compare_images(image, again.visible()).empty()) << name;
  }
}

TEST(RecordedLog, DeltaNamesWhatChanged) {
  Replayer replayer;
  replay(replayer, read_data("full.log"), 0, 66, false);
  auto const before = replayer.visible();
  replayer.take_delta();
  replay(replayer, read_data("full.log"), 66, 98, false);
  auto const delta = replayer.take_delta();
  auto const compared = compare_images(before, replayer.visible());
  std::string names;
  for (auto const& [id, topic] : delta.topics) {
    if (topic.is_created) names += topic.name + " ";
    if (topic.is_deleted) names += "-" + topic.name + " ";
  }
  EXPECT_EQ(delta.topics.size(), 4U);  // gone went; grown, txn, compacted came
  EXPECT_EQ(compared.topics.size(), delta.topics.size());
  for (auto const& [id, topic] : delta.topics) {
    ASSERT_TRUE(compared.topics.contains(id));
    EXPECT_EQ(compared.topics.at(id).is_created, topic.is_created) << topic.name;
    EXPECT_EQ(compared.topics.at(id).is_deleted, topic.is_deleted) << topic.name;
    EXPECT_EQ(compared.topics.at(id).partitions, topic.partitions) << topic.name;
  }
  EXPECT_EQ(delta.configs, compared.configs);
  EXPECT_TRUE(delta.has_producer_ids);
}

TEST(Replay, TransactionsBecomeVisibleAtTheirEndOnly) {
  Replayer replayer;
  auto const apply = [&](auto const& record, int64_t offset) {
    RecordList list;
    list.add(record, 0);
    return replayer.apply(list.values().front().view(), Offset{offset}, LeaderEpoch{1}, 0);
  };
  protocol::TopicRecord topic;
  topic.name = "a";
  topic.topic_id = Uuid{{1}};
  ASSERT_TRUE(apply(protocol::BeginTransactionRecord{}, 0));
  ASSERT_TRUE(apply(topic, 1));
  EXPECT_EQ(replayer.visible().find_topic("a"), nullptr);
  EXPECT_TRUE(replayer.take_delta().empty());
  ASSERT_TRUE(apply(protocol::AbortTransactionRecord{}, 2));
  EXPECT_EQ(replayer.visible().find_topic("a"), nullptr);
  EXPECT_EQ(replayer.visible().offset, Offset{2});
  EXPECT_TRUE(replayer.take_delta().empty());
  ASSERT_TRUE(apply(protocol::BeginTransactionRecord{}, 3));
  ASSERT_TRUE(apply(topic, 4));
  ASSERT_TRUE(apply(protocol::EndTransactionRecord{}, 5));
  EXPECT_NE(replayer.visible().find_topic("a"), nullptr);
  EXPECT_EQ(replayer.take_delta().topics.size(), 1U);
  EXPECT_FALSE(apply(protocol::EndTransactionRecord{}, 6));
}

TEST(Replay, RefusesWhatItDoesNotUnderstand) {
  auto const refused = [](std::initializer_list<uint8_t> bytes) {
    std::vector<std::byte> value;
    for (auto b : bytes) value.push_back(std::byte{b});
    Image image;
    ImageDelta delta;
    auto const status = apply_record(image, value, Offset{0}, delta);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_NE(refused({}), "");
  EXPECT_NE(refused({2, 20, 0, 0}), "");                     // frame version
  EXPECT_NE(refused({1, 99, 0, 0}), "");                     // record type
  EXPECT_NE(refused({1, 20, 1, 0}), "");                     // record version
  EXPECT_NE(refused({1, 20, 0, 0, 0}), "");                  // bytes left over
  EXPECT_NE(refused({1, 9, 0}), "");                         // too short
  EXPECT_EQ(refused({1, 20, 0, 0}), "");                     // NoOp
  RecordList list;
  protocol::FeatureLevelRecord level;
  level.name = kMetadataVersionFeature;
  level.feature_level = kMetadataVersionLatest + 1;
  list.add(level, 0);
  protocol::PartitionChangeRecord change;
  change.topic_id = Uuid{{5}};
  list.add(change, 0);
  protocol::RemoveTopicRecord removal;
  list.add(removal, 0);
  for (auto const& value : list.values()) {
    Image image;
    ImageDelta delta;
    EXPECT_FALSE(apply_record(image, value.view(), Offset{0}, delta));
  }
}

}  // namespace
}  // namespace millrace::metadata
