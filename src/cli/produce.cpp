#include <fstream>
#include <iostream>

#include "cluster.h"
#include "millrace/bytes/hash.h"
#include "millrace/protocol/api/produce.h"
#include "millrace/record/builder.h"
#include "output.h"

namespace millrace::cli {
namespace {

constexpr int kAttemptCountMax = 20;
constexpr auto kRetryPause = std::chrono::milliseconds(100);
constexpr size_t kLineBytesMax = size_t{64} << 20;

bool can_retry(ErrorCode code) { return error_info(code).is_retriable; }

// Gathers records by partition and sends a partition's batch when it is full.
class Sender {
 public:
  Sender(Cluster& cluster, ProduceOptions const& options, Codec codec) : cluster_(cluster), options_(options), codec_(codec) {}

  Status open() {
    MR_TRY(refresh());
    if (options_.partition >= static_cast<int32_t>(leaders_.size())) {
      return Error{ErrorKind::invalid, fmt::format("{} has {} partitions; there is no partition {}", options_.topic,
                                                   leaders_.size(), options_.partition)};
    }
    pending_.resize(leaders_.size());
    for (auto const& header : options_.headers) {
      auto const view = std::string_view(header);
      auto const equals = view.find('=');
      if (equals == std::string_view::npos) {
        return Error{ErrorKind::invalid, fmt::format("--header '{}' is not NAME=VALUE", header)};
      }
      headers_.push_back({.key = view.substr(0, equals), .value = as_bytes(view.substr(equals + 1))});
    }
    return {};
  }

  Status add(std::optional<std::string_view> key, std::string_view value) {
    auto const index = choose_partition(key);
    auto& pending = pending_[index];
    if (!pending) {
      record::BatchOptions batch;
      batch.codec = codec_;
      pending.emplace(batch);
    }
    record::NewRecord record;
    record.timestamp = cluster_.wall_now().ms;
    if (key) record.key = as_bytes(*key);
    record.value = as_bytes(value);
    record.headers = headers_;
    pending->append(record);
    ++record_count_;
    if (static_cast<int64_t>(pending->size_bytes()) >= options_.batch_bytes_max) return send(index);
    return {};
  }

  Status flush() {
    for (size_t index = 0; index < pending_.size(); ++index) {
      if (pending_[index]) MR_TRY(send(index));
    }
    return {};
  }
  int64_t record_count() const { return record_count_; }

 private:
  Status refresh() {
    MR_TRY_ASSIGN(auto const reply, cluster_.metadata_of(options_.topic));
    if (reply.message.topics.empty()) return Error{ErrorKind::not_found, fmt::format("no answer about topic {}", options_.topic)};
    auto const& topic = reply.message.topics[0];
    if (topic.error_code != ErrorCode::none) {
      return Error{ErrorKind::not_found, fmt::format("{}: {}\n  {}", options_.topic, error_text(topic.error_code), remedy_for(topic.error_code))};
    }
    topic_id_ = topic.topic_id;
    leaders_.assign(topic.partitions.size(), -1);
    for (auto const& partition : topic.partitions) {
      if (partition.partition_index >= 0 && static_cast<size_t>(partition.partition_index) < leaders_.size()) {
        leaders_[static_cast<size_t>(partition.partition_index)] = partition.leader_id;
      }
    }
    return {};
  }

  size_t choose_partition(std::optional<std::string_view> key) {
    if (options_.partition >= 0) return static_cast<size_t>(options_.partition);
    if (!key) return next_++ % leaders_.size();
    return (murmur2(as_bytes(*key)) & 0x7fffffff) % leaders_.size();
  }

  Status send(size_t index) {
    auto const batch = pending_[index]->build(codecs_);
    pending_[index].reset();
    std::vector<protocol::ProduceRequest::PartitionProduceData> partitions(1);
    partitions[0].index = static_cast<int32_t>(index);
    partitions[0].records = ByteView(batch);
    ErrorCode last = ErrorCode::none;
    for (int attempt = 0; attempt < kAttemptCountMax; ++attempt) {
      std::vector<protocol::ProduceRequest::TopicProduceData> topics(1);
      topics[0].name = options_.topic;
      topics[0].topic_id = topic_id_;
      topics[0].partition_data = partitions;
      protocol::ProduceRequest request;
      request.acks = options_.acks;
      request.timeout_ms = static_cast<int32_t>(cluster_.options().timeout_ms);
      request.topic_data = topics;
      if (options_.acks == 0) return cluster_.send_to_node(leaders_[index], request);
      MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::ProduceResponse>(leaders_[index], request)));
      if (reply.message.responses.empty() || reply.message.responses[0].partition_responses.empty()) {
        return Error{ErrorKind::invalid, "the broker's answer names no partition"};
      }
      auto const& answer = reply.message.responses[0].partition_responses[0];
      if (answer.error_code == ErrorCode::none) return {};
      last = answer.error_code;
      if (!can_retry(last)) {
        return Error{ErrorKind::limit, fmt::format("write to {}-{}: {}\n  {}", options_.topic, index,
                                                   error_text(last, answer.error_message), remedy_for(last))};
      }
      cluster_.pause(kRetryPause);
      MR_TRY(refresh());
    }
    return Error{ErrorKind::limit, fmt::format("write to {}-{}: {} after {} tries", options_.topic, index, error_text(last), kAttemptCountMax)};
  }

  Cluster& cluster_;
  ProduceOptions const& options_;
  Codec const codec_;
  CodecContext codecs_;
  Uuid topic_id_;
  std::vector<int32_t> leaders_;
  std::vector<std::optional<record::BatchBuilder>> pending_;
  std::vector<record::HeaderView> headers_;
  size_t next_ = 0;
  int64_t record_count_ = 0;
};

Status send_lines(std::istream& in, Sender& sender, ProduceOptions const& options) {
  std::string line;
  while (std::getline(in, line)) {
    if (line.size() > kLineBytesMax) {
      return Error{ErrorKind::invalid, fmt::format("a line of {} bytes; at most {} are sent", line.size(), kLineBytesMax)};
    }
    std::string_view const view = line;
    auto const at = options.key_separator.empty() ? std::string_view::npos : view.find(options.key_separator);
    if (at == std::string_view::npos) MR_TRY(sender.add(std::nullopt, view));
    else MR_TRY(sender.add(view.substr(0, at), view.substr(at + options.key_separator.size())));
  }
  return sender.flush();
}

}  // namespace

int produce(ProduceOptions const& options) {
  auto const codec = codec_from_name(options.codec);
  if (!codec) {
    print_error(fmt::format("--compression '{}' is unknown", options.codec), "Use none, gzip, snappy, lz4 or zstd.");
    return kUsage;
  }
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  Sender sender(**cluster, options, *codec);
  if (auto opened = sender.open(); !opened) return report(opened.error(), options.cluster);

  Status sent;
  if (options.file.empty()) {
    sent = send_lines(std::cin, sender, options);
  } else {
    std::ifstream file(options.file, std::ios::binary);
    if (!file) {
      print_error(fmt::format("cannot read {}", options.file));
      return kUsage;
    }
    sent = send_lines(file, sender, options);
  }
  if (!sent) return report(sent.error(), options.cluster);
  if (options.cluster.as_json)
    fmt::print("{}\n", Json::object({{"records", sender.record_count()}}).line());
  else fmt::print(stderr, "{} records written to {}\n", sender.record_count(), options.topic);
  return kOk;
}

}  // namespace millrace::cli
