// Proves that what a live Kafka 4.4 broker answered to recorded Produce requests, damaged batches and topic settings
// included, is what the checks of this room lead to, and that accepted batches are stored as that broker stored them.
#include <gtest/gtest.h>

#include <map>

#include "millrace/record/record.h"
#include "millrace/record/validate.h"
#include "vector_file.h"

namespace millrace::record {
namespace {

using nlohmann::json;

std::vector<std::byte> from_base64(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  uint32_t group = 0;
  int bits = 0;
  for (auto const c : text) {
    if (c == '=') break;
    group = group << 6 | static_cast<uint32_t>(kAlphabet.find(c));
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::byte>(group >> bits));
    }
  }
  return bytes;
}

// What a partition's answer shows of these checks.
struct Answer {
  int code{};
  int64_t base_offset = -1;
  bool has_log_append_time = false;
  bool has_log_start = false;
  std::vector<int> error_indexes;
  bool has_message = false;
  friend bool operator==(Answer const&, Answer const&) = default;
};

void PrintTo(Answer const& a, std::ostream* out) {
  *out << "code " << a.code << " base " << a.base_offset << " append time " << a.has_log_append_time << " log start "
       << a.has_log_start << " message " << a.has_message << " errors";
  for (auto const i : a.error_indexes) *out << ' ' << i;
}

struct Log {
  TopicRules rules;
  std::vector<std::vector<std::byte>> batches;
  int64_t next_offset = 0;
};

// One request with one partition, from the bytes to the answer.
Answer produce(ByteView records, int version, Log& log, Wall now, CodecContext& context, bool& is_transactional) {
  auto const first = look_at_first_batch(records);
  is_transactional = first.is_transactional;
  if (first.fault) {
    auto const code = static_cast<int>(first.fault.code);
    return {.code = code, .error_indexes = {}, .has_message = first.fault.code != Code::unknown_server_error};
  }
  if (is_transactional) return {.error_indexes = {}};  // what becomes of those is decided elsewhere
  auto const check = check_produce_records(records, version);
  if (check.fault) return {.code = static_cast<int>(check.fault.code), .error_indexes = {}};
  std::vector<std::byte> batch(check.batch.bytes().begin(), check.batch.bytes().end());
  auto verdict = validate(batch, log.rules, Origin::client, now, context);
  Answer answer{.code = static_cast<int>(verdict.fault.code),
                .has_log_start = verdict.answer_has_log_start(),
                .error_indexes = {},
                .has_message = verdict.answer_has_message()};
  for (auto const& error : verdict.record_errors) answer.error_indexes.push_back(error.index);
  if (!verdict.is_accepted()) return answer;
  if (verdict.rebuilt) batch.assign(verdict.rebuilt->view().begin(), verdict.rebuilt->view().end());
  set_base_offset(batch, Offset(log.next_offset));
  set_leader_epoch(batch, LeaderEpoch(0));
  answer.base_offset = log.next_offset;
  answer.has_log_append_time = verdict.log_append_time != kNoTimestamp;
  EXPECT_EQ(BatchView(batch).record_count(), verdict.record_count);
  EXPECT_EQ(BatchView(batch).max_timestamp(), verdict.max_timestamp);
  log.next_offset = BatchView(batch).next_offset().value;
  log.batches.push_back(std::move(batch));
  return answer;
}

Answer recorded_answer(json const& partition) {
  Answer answer{.code = partition.at("errorCode").get<int>(),
                .base_offset = partition.at("baseOffset").get<int64_t>(),
                .has_log_append_time = partition.at("logAppendTimeMs") != -1,
                .has_log_start = partition.at("logStartOffset") != -1,
                .error_indexes = {},
                .has_message = !partition.at("errorMessage").is_null()};
  for (auto const& error : partition.at("recordErrors")) answer.error_indexes.push_back(error.at("batchIndex").get<int>());
  return answer;
}

// How many records the header of a recorded request counts.
int64_t recorded_count(json const& line) {
  auto const text = line.at("req").at("topicData").at(0).at("partitionData").at(0).at("records").get<std::string>();
  auto const bytes = from_base64(text.substr(7));
  return BatchView(ByteView(bytes)).record_count();
}

void expect_number(json const& recorded, int64_t actual, std::string const& what) {
  if (recorded.is_string()) return;  // a time of the recording
  EXPECT_EQ(recorded.get<int64_t>(), actual) << what;
}

void expect_stored(json const& recorded, Log const& log, CodecContext& context, std::string const& label) {
  ASSERT_EQ(recorded.size(), log.batches.size()) << label;
  for (size_t i = 0; i < log.batches.size(); ++i) {
    BatchView const batch{ByteView(log.batches[i])};
    auto const& expected = recorded.at(i);
    auto const what = fmt::format("{} batch {}", label, i);
    EXPECT_FALSE(check(batch)) << what;
    EXPECT_EQ(expected.at("baseOffset"), batch.base_offset().value) << what;
    EXPECT_EQ(expected.at("lastOffsetDelta"), batch.last_offset_delta()) << what;
    EXPECT_EQ(expected.at("attributes"), batch.attributes()) << what;
    EXPECT_EQ(expected.at("count"), batch.record_count()) << what;
    expect_number(expected.at("baseTimestamp"), batch.base_timestamp(), what);
    expect_number(expected.at("maxTimestamp"), batch.max_timestamp(), what);
    if (expected.contains("size")) { EXPECT_EQ(expected.at("size"), batch.size_bytes()) << what; }
    std::vector<std::byte> scratch;
    ByteView bytes;
    ASSERT_FALSE(open_records(batch, {}, context, scratch, bytes));
    RecordReader reader(batch, bytes);
    RecordView record;
    for (auto const& r : expected.at("records")) {
      ASSERT_TRUE(reader.next(record)) << what << reader.fault().message;
      EXPECT_EQ(r.at("offset"), record.offset.value) << what;
      expect_number(r.at("ts"), record.timestamp, what);
      EXPECT_EQ(r.at("k").is_null(), !record.key.has_value()) << what;
      if (record.value && !r.at("v").is_null()) { EXPECT_EQ(r.at("v").get<std::string>(), as_text(*record.value)) << what; }
    }
    EXPECT_FALSE(reader.next(record)) << what;
  }
}

TopicRules rules_of(std::string const& topic) {
  TopicRules rules;
  rules.partition = "a topic";
  auto const kind = topic.substr(topic.rfind('-') + 1);
  if (kind == "compact") rules.is_compacted = true;
  if (kind == "lat") rules.timestamp_type = TimestampType::log_append_time;
  if (kind == "small") rules.batch_bytes_max = 100;
  if (kind == "gz") rules.codec = Codec::gzip;
  if (kind == "unc") rules.codec = Codec::none;
  if (kind == "before") rules.timestamp_before_ms_max = 1000;
  if (kind == "after") rules.timestamp_after_ms_max = 1000;
  return rules;
}

// Where this room is stricter than Kafka, which stores records that lie about their offset or their length.
bool is_stricter_here(std::string const& label) {
  return label == "plain bad deltas 0,5" || label.starts_with("gzip length lies");
}

// The recorder's clock, from records that were stamped with it.
int64_t clock_of(std::vector<json> const& lines) {
  for (auto const& line : lines) {
    int64_t ahead = 0;
    if (line.at("l") == "timestamp 2h ahead") ahead = 7'200'000;
    if (line.at("l") == "after 0") ahead = 100'000;
    if (ahead == 0) continue;
    auto const text = line.at("req").at("topicData").at(0).at("partitionData").at(0).at("records").get<std::string>();
    auto const bytes = from_base64(text.substr(7));
    return BatchView(ByteView(bytes)).max_timestamp() - ahead;
  }
  return 1'800'000'000'000;
}

void replay(std::string const& name, int compared_min) {
  auto const lines = lines_of(MR_TEST_DATA "/record/" + name + ".jsonl.gz");
  auto const now = Wall{clock_of(lines)};
  CodecContext context;
  std::map<std::pair<std::string, int>, Log> logs;
  int compared = 0;
  for (auto const& line : lines) {
    auto const label = fmt::format("{} step {}: {}", name, line.at("i").get<int>(), line.at("l").get<std::string>());
    if (!line.contains("resp")) continue;
    if (line.at("api") == "Fetch") {
      auto const& topic = line.at("resp").at("responses").at(0);
      auto const& partition = topic.at("partitions").at(0);
      auto const& log = logs[{topic.at("topic").get<std::string>(), partition.at("partitionIndex").get<int>()}];
      expect_stored(partition.at("records"), log, context, label);
      ++compared;
      continue;
    }
    if (line.at("api") != "Produce") continue;
    std::map<std::pair<std::string, int>, Answer> answers;
    for (auto const& topic : line.at("req").at("topicData")) {
      auto const topic_name = topic.at("name").get<std::string>();
      for (auto const& partition : topic.at("partitionData")) {
        auto const bytes = from_base64(partition.at("records").get<std::string>().substr(7));
        auto const index = partition.at("index").get<int>();
        if (answers.contains({topic_name, index})) continue;  // the second of the same partition is overlooked by Kafka
        if (topic_name.ends_with("-none") || index < 0 || index > 1 || line.at("l") == "acks 2") continue;
        auto const id = std::pair(topic_name, index);
        if (!logs.contains(id)) logs[id].rules = rules_of(topic_name);
        bool is_transactional = false;
        auto const answer = produce(bytes, line.at("v").get<int>(), logs[id], now, context, is_transactional);
        if (!is_transactional) answers[id] = answer;
      }
    }
    if (line.at("resp").is_null() || !line.at("resp").at("responses").size()) continue;
    for (auto const& topic : line.at("resp").at("responses")) {
      if (!topic.contains("name")) continue;
      for (auto const& partition : topic.at("partitionResponses")) {
        auto const found = answers.find({topic.at("name").get<std::string>(), partition.at("index").get<int>()});
        if (found == answers.end() || !partition.contains("recordErrors")) continue;
        ++compared;
        auto const recorded = recorded_answer(partition);
        if (is_stricter_here(line.at("l")) && recorded.code == 0 && recorded != found->second) {
          EXPECT_EQ(found->second.code, static_cast<int>(Code::invalid_record)) << label;
          auto& log = logs[found->first];
          log.next_offset = std::max(log.next_offset, recorded.base_offset) + recorded_count(line);
          continue;
        }
        EXPECT_EQ(recorded, found->second) << label;
      }
    }
  }
  EXPECT_GE(compared, compared_min);
}

TEST(Recordings, Produce) { replay("produce", 40); }
TEST(Recordings, BrokenBatches) { replay("produce-broken-batches", 100); }
TEST(Recordings, TopicSettings) { replay("produce-topic-configs", 40); }
// What else codecs, headers and records can be, sent to topics of several settings of a live broker.
TEST(Recordings, Probes) { replay("live-probes", 280); }

}  // namespace
}  // namespace millrace::record
