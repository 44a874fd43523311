// Proves against data directories that Kafka 4.4 wrote: every file is listed exactly as Kafka's dump tool lists it,
// every log opens to Kafka's offsets, marks, producers and aborted transactions, and batches appended through this room
// give Kafka's files byte for byte.
#include <nlohmann/json.hpp>

#include "kafka_files.h"
#include "millrace/storage/dump.h"
#include "millrace/storage/plain_log.h"

namespace millrace::storage {
namespace {

using nlohmann::json;

json dumped(Machine& machine, std::string const& path) {
  auto const text = dump_file(*machine.disk, "/data/" + path, payload_format_of(path));
  if (!text) return text.error().message;
  return json::parse(*text);
}

struct KafkaTest : testing::TestWithParam<char const*> {};

TEST_P(KafkaTest, every_file_is_listed_as_kafka_lists_it) {
  KafkaMachine machine(GetParam());
  machine.disk = machine.image.attach(machine.host);
  auto const expected = json::parse(machine.files_of_kafka.at("expected.json"));
  size_t count = 0;
  for (auto const& [path, content] : expected["files"].items()) {
    auto const got = dumped(machine, path);
    EXPECT_EQ(got.size(), content.size()) << path;
    for (size_t i = 0; i < std::min(got.size(), content.size()); ++i) {
      ASSERT_EQ(got[i], content[i]) << path << "\n got " << got[i] << "\n not " << content[i];
    }
    ++count;
  }
  EXPECT_GT(count, 30u);
}

TEST_P(KafkaTest, every_log_opens_with_kafkas_content) {
  KafkaMachine machine(GetParam());
  MR_ASSERT_OK(machine.start());
  auto const expected = json::parse(machine.files_of_kafka.at("expected.json"))["files"];
  bool const is_clean = std::string(GetParam()) != "full-unclean";
  EXPECT_EQ(machine.directory->previous_stop(), is_clean ? PreviousStop::clean : PreviousStop::machine_lost);
  auto const found = machine.directory->partitions();
  MR_ASSERT_OK(found);
  std::vector<std::shared_ptr<PartitionLog>> logs;
  for (auto const& entry : *found) {
    ASSERT_TRUE(entry.topic_id.has_value()) << entry.name;
    auto log = machine.directory->open_log(entry, {}, kNow);
    MR_ASSERT_OK(log);
    logs.push_back(*log);
    EXPECT_EQ((*log)->recovery().cut_bytes, 0) << entry.name;
    // All batches, in order.
    std::vector<int64_t> bases;
    int64_t end = 0;
    std::string content;
    for (auto const& [path, batches] : expected.items()) {
      if (!path.starts_with(entry.name + "/") || !path.ends_with(".log")) continue;
      content += machine.files_of_kafka.at(path);
      end = std::max<int64_t>(end, std::stoll(path.substr(path.find('/') + 1, 20)));
      for (auto const& batch : batches) end = std::max(end, batch["lastOffset"].get<int64_t>() + 1);
    }
    EXPECT_EQ((*log)->end().offset, Offset(end)) << entry.name;
    auto const first = std::max((*log)->log_start(), Offset(0));
    auto const all = read_all(**log, entry.topic_partition.topic == "deleted-records" ? Offset(0) : first);
    EXPECT_EQ(all, content) << entry.name;
    // Every offset is found, and at the place where its batch is.
    for (Offset o = (*log)->log_start(); o < (*log)->end().offset; o += 1) {
      auto const at = (*log)->view().position_of(o, (*log)->end());
      MR_ASSERT_OK(at);
      record::BatchReader reader(as_bytes(content).subspan(static_cast<size_t>(at->value)));
      record::BatchView batch;
      if (at->value < static_cast<int64_t>(content.size())) {
        ASSERT_TRUE(reader.next(batch));
        EXPECT_GE(batch.last_offset(), o);
      }
    }
  }
  for (auto const& log : logs) {
    auto const name = log->topic_partition().topic;
    if (name == "deleted-records") {
      EXPECT_EQ(log->log_start(), Offset(6));
      EXPECT_EQ(log->epochs().entries(), (std::vector<EpochStart>{{LeaderEpoch(0), Offset(6)}}));
    } else {
      EXPECT_EQ(log->log_start(), Offset(0)) << name;
    }
    if (name == "txn") {
      auto const aborted = log->view().aborted_transactions(Offset(0), log->end().offset);
      MR_ASSERT_OK(aborted);
      EXPECT_EQ(*aborted, (std::vector<AbortedTransaction>{{ProducerId(0), Offset(3), Offset(5), Offset(6)},
                                                           {ProducerId(1), Offset(9), Offset(11), Offset(12)},
                                                           {ProducerId(1), Offset(15), Offset(17), Offset(18)}}));
      bool const is_open = log->topic_partition().partition == 0;
      EXPECT_EQ(log->producers().first_open_offset(), is_open ? std::optional(Offset(18)) : std::nullopt);
      EXPECT_EQ(log->last_stable_offset(log->end().offset), Offset(18));
    }
  }
}

TEST_P(KafkaTest, the_metadata_log_opens_with_its_snapshots) {
  KafkaMachine machine(GetParam());
  MR_ASSERT_OK(machine.start());
  auto opened = PlainLog::open(*machine.directory, {}, {}, kNow);
  MR_ASSERT_OK(opened);
  auto& log = **opened;
  auto const& content = machine.files_of_kafka.at("__cluster_metadata-0/00000000000000000000.log");
  EXPECT_EQ(log.end().position.value, static_cast<int64_t>(content.size()));
  EXPECT_EQ(log.log_start(), Offset(0));
  EXPECT_EQ(log.epochs().latest(), (EpochStart{LeaderEpoch(1), Offset(0)}));
  size_t count = 0;
  for (auto const& [path, bytes] : machine.files_of_kafka) count += path.ends_with(".checkpoint");
  ASSERT_EQ(log.snapshots().size(), count);
  EXPECT_EQ(log.snapshots()[0], (SnapshotId{Offset(0), LeaderEpoch(0)}));
  auto const bytes = log.snapshot_bytes(log.snapshots()[0]);
  MR_ASSERT_OK(bytes);
  EXPECT_EQ(*bytes,
            static_cast<int64_t>(
                machine.files_of_kafka.at("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint").size()));
}

INSTANTIATE_TEST_SUITE_P(LogDirs, KafkaTest, testing::Values("full", "static", "full-unclean"));

// What Kafka's own log of `name` holds, batch by batch.
std::vector<std::vector<std::byte>> batches_of(KafkaMachine const& machine, std::string const& name) {
  std::vector<std::vector<std::byte>> out;
  for (auto const& [path, content] : machine.files_of_kafka) {
    if (!path.starts_with(name + "/") || !path.ends_with(".log")) continue;
    record::BatchReader reader(as_bytes(content));
    record::BatchView batch;
    while (reader.next(batch)) out.emplace_back(batch.bytes().begin(), batch.bytes().end());
  }
  return out;
}

TEST(KafkaBytes, appended_batches_give_kafkas_files) {
  KafkaMachine kafka("full");
  struct Case {
    std::string name;
    LogConfig config;
  };
  // As the directory was made: plain and txn with small segments and indexes for every batch.
  for (auto const& test :
       {Case{"plain-0", {.segment_bytes = 360, .index_interval_bytes = 1}},
        Case{"plain-1", {.segment_bytes = 360, .index_interval_bytes = 1}}, Case{"codecs-0", {}},
        Case{"txn-0", {.segment_bytes = 0}}, Case{"txn-1", {.segment_bytes = 0}}, Case{"__consumer_offsets-0", {}},
        Case{"__transaction_state-3", {}}, Case{"appendtime-0", {}}}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto const partition = *parse_partition_directory_name(test.name);
    auto config = test.config;
    config.segment_age_ms_max = int64_t{31'536'000'000'000};
    bool const rolls_by_hand = config.segment_bytes == 0;  // where Kafka rolled is not known from a size
    if (rolls_by_hand) config.segment_bytes = 1 << 30;
    auto created = machine.directory->create_log(partition, kTopicId, config, kNow);
    MR_ASSERT_OK(created);
    auto log = *created;
    log->assign_epoch(LeaderEpoch(0));
    for (auto const& batch : batches_of(kafka, test.name)) {
      auto const base = record::BatchView(batch).base_offset();
      auto const file = fmt::format("{}/{:020}.log", test.name, base.value);
      if (rolls_by_hand && base > Offset(0) && kafka.files_of_kafka.contains(file)) MR_ASSERT_OK(log->roll(kNow));
      MR_ASSERT_OK(append_one(*log, batch));
    }
    MR_ASSERT_OK(machine.stop(*log));
    size_t compared = 0;
    for (auto const& [path, content] : kafka.files_of_kafka) {
      if (!path.starts_with(test.name + "/") || path.ends_with("partition.metadata")) continue;
      auto const got = machine.image.content("/data/" + path);
      ASSERT_TRUE(got.has_value()) << path;
      if (path.ends_with(".snapshot")) {
        // Java's hash order of producers differs; the entries do not.
        auto ours = *parse_producer_snapshot(*got);
        auto theirs = *parse_producer_snapshot(content);
        auto const by_id = [](auto const& a, auto const& b) { return a.first < b.first; };
        std::sort(ours.begin(), ours.end(), by_id);
        std::sort(theirs.begin(), theirs.end(), by_id);
        EXPECT_EQ(ours, theirs) << path;
        if (theirs.size() < 2) {
          EXPECT_EQ(*got, content) << path;
        }
      } else {
        EXPECT_EQ(*got, content) << path;
      }
      ++compared;
    }
    EXPECT_GE(compared, 5u) << test.name;
    // Nothing but Kafka's files and our side files.
    for (auto const& path : machine.image.files()) {
      if (!path.starts_with("/data/" + test.name + "/") || path.ends_with("/millrace-index-checks") ||
          path.ends_with("/millrace-append-times") || path.ends_with("/millrace-producer-batches")) {
        continue;
      }
      EXPECT_TRUE(kafka.files_of_kafka.contains(path.substr(6))) << path;
    }
  }
}

TEST(KafkaBytes, the_files_of_the_directory_itself) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  MR_ASSERT_OK(append_next(*log, {.count = 3}));
  log->on_high_watermark(Offset(3));
  MR_ASSERT_OK(machine.stop(*log));
  auto const content = [&](std::string_view name) {
    return machine.image.content(fmt::format("/data/{}", name)).value_or("<missing>");
  };
  EXPECT_EQ(content(".kafka_cleanshutdown"), "{\"version\":0,\"brokerEpoch\":7}");
  EXPECT_EQ(content("recovery-point-offset-checkpoint"), "0\n1\norders 0 3\n");
  EXPECT_EQ(content("replication-offset-checkpoint"), "0\n1\norders 0 3\n");
  EXPECT_EQ(content("log-start-offset-checkpoint"), "0\n0\n");
  EXPECT_EQ(content("meta.properties"),
            "#\n#Tue Nov 14 22:13:20 UTC 2023\nnode.id=1\ndirectory.id=Ns9nb6OaQTOLpgZjiXIx6A\nversion=1\n"
            "cluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n");
  EXPECT_EQ(content("orders-0/partition.metadata"), "version: 0\ntopic_id: HJyrfyP_TYmKP4bVugTTsg");
  EXPECT_EQ(content("orders-0/leader-epoch-checkpoint"), "0\n1\n0 0\n");
}

}  // namespace
}  // namespace millrace::storage
