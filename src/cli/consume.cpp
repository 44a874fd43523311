#include <charconv>
#include <cstdio>

#include "cluster.h"
#include "millrace/bytes/text.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/list_offsets.h"
#include "millrace/record/record.h"
#include "output.h"

namespace millrace::cli {
namespace {

constexpr int64_t kLatestTimestamp = -1;
constexpr int64_t kEarliestTimestamp = -2;
constexpr int32_t kFetchWaitMs = 500;
constexpr int32_t kFetchBytesMax = 8 << 20;
constexpr auto kRetryPause = std::chrono::milliseconds(100);

struct Cursor {
  int32_t partition{};
  int32_t leader = -1;
  int64_t offset{};
  int64_t end = -1;  // where to stop; -1: nowhere
};

class Reader {
 public:
  Reader(Cluster& cluster, ConsumeOptions const& options) : cluster_(cluster), options_(options) {}

  Status open() {
    MR_TRY(refresh());
    for (auto& cursor : cursors_) {
      MR_TRY_ASSIGN(cursor.offset, start_offset(cursor));
      if (options_.stop_at_end) {
        MR_TRY_ASSIGN(cursor.end, list_offset(cursor, kLatestTimestamp));
      }
    }
    return {};
  }

  Status run() {
    while (!is_done()) {
      // One request to each leader; the others' partitions wait their turn.
      std::map<int32_t, std::vector<Cursor*>> by_leader;
      for (auto& cursor : cursors_) {
        if (cursor.end < 0 || cursor.offset < cursor.end) by_leader[cursor.leader].push_back(&cursor);
      }
      for (auto const& [leader, cursors] : by_leader) MR_TRY(fetch(leader, cursors));
    }
    return {};
  }

  int64_t record_count() const { return record_count_; }

 private:
  bool is_done() const {
    if (options_.record_count_max >= 0 && record_count_ >= options_.record_count_max) return true;
    return std::all_of(cursors_.begin(), cursors_.end(), [](Cursor const& c) { return c.end >= 0 && c.offset >= c.end; });
  }

  Status refresh() {
    MR_TRY_ASSIGN(auto const reply, cluster_.metadata_of(options_.topic));
    if (reply.message.topics.empty()) return Error{ErrorKind::not_found, fmt::format("no answer about topic {}", options_.topic)};
    auto const& topic = reply.message.topics[0];
    if (topic.error_code != ErrorCode::none) {
      return Error{ErrorKind::not_found, fmt::format("{}: {}\n  {}", options_.topic, error_text(topic.error_code), remedy_for(topic.error_code))};
    }
    topic_id_ = topic.topic_id;
    std::map<int32_t, int32_t> leaders;
    for (auto const& partition : topic.partitions) leaders[partition.partition_index] = partition.leader_id;
    if (cursors_.empty()) {
      auto wanted = options_.partitions;
      if (wanted.empty()) {
        for (auto const& [index, leader] : leaders) wanted.push_back(index);
      }
      for (auto const index : wanted) {
        if (!leaders.contains(index)) {
          return Error{ErrorKind::invalid, fmt::format("{} has {} partitions; there is no partition {}", options_.topic, leaders.size(), index)};
        }
        cursors_.push_back({.partition = index});
      }
    }
    for (auto& cursor : cursors_) cursor.leader = leaders[cursor.partition];
    return {};
  }

  Result<int64_t> start_offset(Cursor const& cursor) {
    if (options_.from == "earliest") return list_offset(cursor, kEarliestTimestamp);
    if (options_.from == "latest") return list_offset(cursor, kLatestTimestamp);
    std::string_view text = options_.from;
    bool const is_time = text.starts_with('@');
    if (is_time) text.remove_prefix(1);
    int64_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) {
      return Error{ErrorKind::invalid, fmt::format("--from '{}' is neither earliest, latest, an offset, nor @MILLISECONDS", options_.from)};
    }
    if (!is_time) return number;
    MR_TRY_ASSIGN(auto const offset, list_offset(cursor, number));
    if (offset >= 0) return offset;
    return list_offset(cursor, kLatestTimestamp);  // nothing is that young
  }

  Result<int64_t> list_offset(Cursor const& cursor, int64_t timestamp) {
    std::vector<protocol::ListOffsetsRequest::ListOffsetsPartition> partitions(1);
    partitions[0].partition_index = cursor.partition;
    partitions[0].timestamp = timestamp;
    std::vector<protocol::ListOffsetsRequest::ListOffsetsTopic> topics(1);
    topics[0].name = options_.topic;
    topics[0].partitions = partitions;
    protocol::ListOffsetsRequest request;
    request.replica_id = -1;
    request.isolation_level = options_.read_committed ? 1 : 0;
    request.topics = topics;
    MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::ListOffsetsResponse>(cursor.leader, request)));
    if (reply.message.topics.empty() || reply.message.topics[0].partitions.empty()) {
      return Error{ErrorKind::invalid, "the broker's answer names no partition"};
    }
    auto const& answer = reply.message.topics[0].partitions[0];
    if (answer.error_code != ErrorCode::none) {
      return Error{ErrorKind::limit, fmt::format("offsets of {}-{}: {}", options_.topic, cursor.partition, error_text(answer.error_code))};
    }
    return answer.offset;
  }

  Status fetch(int32_t leader, std::vector<Cursor*> const& cursors) {
    std::vector<protocol::FetchRequest::FetchPartition> partitions;
    for (auto const* cursor : cursors) {
      auto& partition = partitions.emplace_back();
      partition.partition = cursor->partition;
      partition.fetch_offset = cursor->offset;
      partition.partition_max_bytes = kFetchBytesMax;
    }
    std::vector<protocol::FetchRequest::FetchTopic> topics(1);
    topics[0].topic = options_.topic;
    topics[0].topic_id = topic_id_;
    topics[0].partitions = partitions;
    protocol::FetchRequest request;
    request.max_wait_ms = kFetchWaitMs;
    request.min_bytes = 1;
    request.max_bytes = kFetchBytesMax;
    request.isolation_level = options_.read_committed ? 1 : 0;
    request.topics = topics;
    MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::FetchResponse>(leader, request)));
    if (reply.message.error_code != ErrorCode::none) {
      return Error{ErrorKind::limit, fmt::format("fetch from {}: {}", options_.topic, error_text(reply.message.error_code))};
    }
    bool is_stale = false;
    for (auto const& topic : reply.message.responses) {
      for (auto const& answer : topic.partitions) {
        auto const cursor = std::find_if(cursors.begin(), cursors.end(), [&](Cursor const* c) { return c->partition == answer.partition_index; });
        if (cursor == cursors.end()) continue;
        if (answer.error_code != ErrorCode::none && error_info(answer.error_code).is_retriable) {
          is_stale = true;
          continue;
        }
        if (answer.error_code != ErrorCode::none) {
          return Error{ErrorKind::limit, fmt::format("fetch from {}-{} at {}: {}\n  {}", options_.topic, answer.partition_index,
                                                     (*cursor)->offset, error_text(answer.error_code), remedy_for(answer.error_code))};
        }
        MR_TRY(take(**cursor, answer));
      }
    }
    std::fflush(stdout);
    if (!is_stale) return {};
    cluster_.pause(kRetryPause);
    return refresh();
  }

  Status take(Cursor& cursor, protocol::FetchResponse::PartitionData const& answer) {
    // Aborted transactions begin at their first offset and end with an abort marker.
    std::multimap<int64_t, int64_t> begins;
    for (auto const& aborted : answer.aborted_transactions) begins.emplace(aborted.first_offset, aborted.producer_id);
    std::set<int64_t> aborted_now;
    record::BatchReader batches(answer.records.view());
    record::BatchView batch;
    while (batches.next(batch)) {
      if (batch.magic() != 2) return Error{ErrorKind::unsupported, "the log holds message formats older than 2"};
      for (auto it = begins.begin(); it != begins.end() && it->first <= batch.last_offset().value;) {
        aborted_now.insert(it->second);
        it = begins.erase(it);
      }
      ByteView bytes;
      if (auto const fault = record::open_records(batch, {}, codecs_, scratch_, bytes); fault) {
        return Error{ErrorKind::corrupt, fmt::format("{}-{} at {}: {}", options_.topic, cursor.partition, batch.base_offset(), fault.message)};
      }
      bool const is_aborted = batch.is_transactional() && aborted_now.contains(batch.producer_id().value);
      record::RecordReader records(batch, bytes);
      record::RecordView record;
      while (records.next(record)) {
        if (batch.is_control()) {
          auto type = record::ControlType::unknown;
          if (!record::read_control_type(record, type) && type == record::ControlType::abort) aborted_now.erase(batch.producer_id().value);
          continue;
        }
        if (is_aborted || record.offset.value < cursor.offset) continue;
        if (cursor.end >= 0 && record.offset.value >= cursor.end) continue;
        if (options_.record_count_max >= 0 && record_count_ >= options_.record_count_max) return {};
        print(cursor.partition, record);
        ++record_count_;
      }
      if (records.fault()) return Error{ErrorKind::corrupt, records.fault().message};
      cursor.offset = std::max(cursor.offset, batch.next_offset().value);
    }
    return {};
  }

  void print(int32_t partition, record::RecordView const& record) {
    auto const text = [](std::optional<ByteView> const& bytes) { return bytes ? as_text(*bytes) : std::string_view(); };
    if (options_.cluster.as_json) {
      auto const json = [&](std::optional<ByteView> const& bytes) { return bytes ? Json(as_text(*bytes)) : Json(); };
      auto headers = Json::array();
      record::HeaderReader reader(record);
      record::HeaderView header;
      while (reader.next(header)) headers.add(Json::array().add(header.key).add(json(header.value)));
      auto const line = Json::object({{"topic", options_.topic},
                                      {"partition", partition},
                                      {"offset", record.offset.value},
                                      {"timestamp", record.timestamp},
                                      {"key", json(record.key)},
                                      {"value", json(record.value)},
                                      {"headers", headers}});
      fmt::print("{}\n", line.line());
      return;
    }
    // Written as they are: values may be binary.
    auto const write = [](std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stdout); };
    if (!options_.key_separator.empty()) {
      write(text(record.key));
      write(options_.key_separator);
    }
    write(text(record.value));
    write("\n");
  }

  Cluster& cluster_;
  ConsumeOptions const& options_;
  Uuid topic_id_;
  std::vector<Cursor> cursors_;
  CodecContext codecs_;
  std::vector<std::byte> scratch_;
  int64_t record_count_ = 0;
};

}  // namespace

int consume(ConsumeOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  Reader reader(**cluster, options);
  auto outcome = reader.open();
  if (outcome) outcome = reader.run();
  std::fflush(stdout);
  return outcome ? static_cast<int>(kOk) : report(outcome.error(), options.cluster);
}

}  // namespace millrace::cli
