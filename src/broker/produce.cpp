// Produce: checks what Kafka checks in its order, hands each partition's batch to the partition's driver, and answers
// when all of them have.
#include <atomic>
#include <unordered_map>

#include "handlers.h"
#include "leader_hint.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/produce.h"
#include "millrace/record/validate.h"
#include "millrace/runtime/partition_manager.h"

namespace millrace::broker {
namespace {

using protocol::ProduceRequest;
using protocol::ProduceResponse;

constexpr int16_t kFirstVersionWithTopicId = 13;
constexpr int16_t kFirstVersionWithLeaderHint = 10;
// Validation that decompresses or compresses leaves the reactor from this size on.
constexpr size_t kDearBytesMin = 64 * 1024;
// Up to this many parts duplicates are looked for one against one.
constexpr size_t kFewParts = 32;

ErrorCode to_error(record::Code code) { return static_cast<ErrorCode>(code); }

class ProduceJob final : public runtime::AppendSink, public Deadline, public std::enable_shared_from_this<ProduceJob> {
 public:
  explicit ProduceJob(ContextPtr context) : context_(std::move(context)) {}

  void start();
  void on_appended(uint32_t index) override;
  void on_answer(uint32_t index, runtime::AppendAnswer const& answer) override;

 private:
  struct Part {
    uint32_t topic = 0;                 // index in the request
    int32_t index = 0;                  // of the partition
    TopicId topic_id{};
    std::shared_ptr<runtime::PartitionDriver> partition;  // null: refused before any log was asked
    MutableByteView batch;
    std::optional<record::Verdict> verdict;
    runtime::AppendAnswer answer;
    std::atomic<bool> is_answered{false};
    bool is_appended = false;           // counted; by whoever runs the partition's driver
  };

  void on_deadline() override;
  bool has_request_fault();
  void fail_all(ErrorCode error, std::string message);
  void find_parts();
  bool replace_duplicate(Part& part);
  void prepare(Part& part, protocol::Records const& records);
  record::TopicRules rules_of(Part const& part, runtime::TopicConfig const& config) const;
  bool is_dear(Part const& part) const;
  void validate_here_or_on_pool();
  void validate(Part& part, CodecContext& codecs);
  void submit();
  void hand_over();
  void count_appended(Part& part, uint32_t answers_on_the_way);
  void release_order();
  void refuse(Part& part, ErrorCode error);
  void all_answered();
  void finish();
  bool wants_all() const { return request_.acks == -1; }
  RequestContext& context() { return *context_; }
  env::Reactor& reactor() { return context_->thread().reactor; }

  ContextPtr context_;
  ProduceRequest request_;
  std::deque<Part> parts_;  // in the order of the request; stable addresses
  std::unordered_map<TopicIdPartition, Part*> parts_by_id_;
  std::string fault_message_;
  std::atomic<uint32_t> unappended_{0};
  std::atomic<uint32_t> unanswered_{0};
  bool is_in_order_ = false;  // counted in the connection's unappended_produces
  bool is_finished_ = false;
};

void ProduceJob::start() {
  if (!context().decode(request_)) return;
  if (has_request_fault()) return;
  find_parts();
  validate_here_or_on_pool();
}

// Kafka looks at every first batch before it looks at any partition, and fails the whole request on a bad one, or on a
// transactional one without a transactional id.
bool ProduceJob::has_request_fault() {
  for (auto const& topic : request_.topic_data) {
    for (auto const& data : topic.partition_data) {
      if (data.records.is_null()) {
        // Kafka never answers this one; the client waits until it gives up, and so do its later requests.
        auto& held = context().thread().held[&context().connection_state()];
        held.unanswered = std::shared_ptr<RequestContext>(std::move(context_));
        return true;
      }
    }
  }
  bool is_transactional = false;
  for (auto const& topic : request_.topic_data) {
    for (auto const& data : topic.partition_data) {
      auto const first = record::look_at_first_batch(data.records.view());
      is_transactional = is_transactional || first.is_transactional;
      if (!first.fault) continue;
      auto const error = to_error(first.fault.code);
      fail_all(error, error == ErrorCode::unknown_server_error ? std::string() : first.fault.message);
      return true;
    }
  }
  if (!is_transactional || request_.transactional_id) return false;
  fail_all(ErrorCode::transactional_id_authorization_failed, {});
  return true;
}

void ProduceJob::fail_all(ErrorCode error, std::string message) {
  parts_.clear();
  parts_by_id_.clear();
  fault_message_ = std::move(message);
  for (uint32_t t = 0; t < request_.topic_data.size(); ++t) {
    for (auto const& data : request_.topic_data[t].partition_data) {
      auto& part = parts_.emplace_back();
      part.topic = t;
      part.index = data.index;
      refuse(part, error);
    }
  }
  finish();
}

void ProduceJob::find_parts() {
  bool const is_by_id = context().version() >= kFirstVersionWithTopicId;
  bool const are_acks_known = request_.acks >= -1 && request_.acks <= 1;
  auto const& image = context().image();
  for (uint32_t t = 0; t < request_.topic_data.size(); ++t) {
    auto const& topic = request_.topic_data[t];
    auto const* topic_image = is_by_id ? image.find_topic(topic.topic_id) : image.find_topic(topic.name);
    for (auto const& data : topic.partition_data) {
      auto& part = parts_.emplace_back();
      part.topic = t;
      part.index = data.index;
      if (topic_image == nullptr) {
        refuse(part, is_by_id ? ErrorCode::unknown_topic_id : ErrorCode::unknown_topic_or_partition);
        continue;
      }
      part.topic_id = topic_image->id;
      if (topic_image->find_partition(data.index) == nullptr) {
        refuse(part, ErrorCode::unknown_topic_or_partition);
        continue;
      }
      if (replace_duplicate(part)) continue;
      prepare(part, data.records);
      if (part.is_answered || are_acks_known) continue;
      part.partition = nullptr;
      refuse(part, ErrorCode::invalid_required_acks);
    }
  }
}

// A partition named twice: the later one counts, as in Kafka's map, and the earlier one has no answer.
bool ProduceJob::replace_duplicate(Part& part) {
  Part* earlier = nullptr;
  if (parts_.size() <= kFewParts) {
    for (auto& other : parts_) {
      if (&other == &part) break;
      if (other.topic_id == part.topic_id && other.index == part.index) earlier = &other;
    }
  } else {
    if (parts_by_id_.empty()) {
      for (auto& other : parts_) {
        if (&other != &part) parts_by_id_.emplace(TopicIdPartition{other.topic_id, other.index}, &other);
      }
    }
    auto const [at, is_new] = parts_by_id_.emplace(TopicIdPartition{part.topic_id, part.index}, &part);
    if (!is_new) earlier = at->second;
  }
  if (earlier == nullptr) return false;
  auto const& data = request_.topic_data[part.topic].partition_data;
  // The part just added is the last; its records are those of the entry that is being looked at.
  for (size_t i = data.size(); i-- > 0;) {
    if (data[i].index != part.index) continue;
    earlier->is_answered = false;
    earlier->answer = {};
    earlier->topic = part.topic;
    prepare(*earlier, data[i].records);
    break;
  }
  parts_.pop_back();
  return true;
}

void ProduceJob::prepare(Part& part, protocol::Records const& records) {
  auto const check = record::check_produce_records(records.view(), context().version());
  if (check.fault) return refuse(part, to_error(check.fault.code));
  // No transaction coordinator runs here, so no transaction can hold this partition: what Kafka answers to a
  // transactional id that it does not know.
  if (check.batch.has_header() && check.batch.is_transactional()) {
    return refuse(part, ErrorCode::invalid_producer_id_mapping);
  }
  part.batch = records.mutable_view().first(check.batch.size_bytes());
  part.partition = context().services().partitions.find({part.topic_id, part.index});
  if (part.partition == nullptr) return refuse(part, ErrorCode::not_leader_or_follower);
  if (auto const status = part.partition->status();
      status != runtime::PartitionStatus::leader && status != runtime::PartitionStatus::opening) {
    auto const error = part.partition->check_leader(kNoLeaderEpoch);
    part.partition = nullptr;
    refuse(part, error);
  }
}

record::TopicRules ProduceJob::rules_of(Part const& part, runtime::TopicConfig const& config) const {
  record::TopicRules rules;
  rules.partition = part.partition->identity().text;
  rules.batch_bytes_max = config.message_bytes_max;
  rules.record_body_bytes_max = config.decompressed_bytes_max;
  rules.is_compacted = config.log.is_compacting;
  rules.timestamp_type =
      config.is_log_append_time ? record::TimestampType::log_append_time : record::TimestampType::create_time;
  rules.timestamp_before_ms_max = config.timestamp_before_ms_max;
  rules.timestamp_after_ms_max = config.timestamp_after_ms_max;
  rules.codec = config.codec;
  rules.codec_level = config.codec_level;
  rules.depth = context_->services().config.validates_records ? record::Depth::records : record::Depth::header;
  return rules;
}

void ProduceJob::validate(Part& part, CodecContext& codecs) {
  auto const config = part.partition->config();
  auto const rules = rules_of(part, *config);
  part.verdict = record::validate(part.batch, rules, record::Origin::client, context_->services().env.wall_now(), codecs);
  codecs.shed();
}

bool ProduceJob::is_dear(Part const& part) const {
  record::BatchView const batch{ByteView(part.batch)};
  if (part.batch.size() < kDearBytesMin || !batch.has_header()) return false;
  return record::is_dear(batch, rules_of(part, *part.partition->config()));
}

void ProduceJob::validate_here_or_on_pool() {
  std::vector<Part*> dear;
  for (auto& part : parts_) {
    if (part.partition == nullptr) continue;
    if (is_dear(part)) dear.push_back(&part);
    else validate(part, context().thread().codecs);
  }
  if (dear.empty()) return submit();
  auto& pool = context().services().env.pool("");
  pool.run(
      reactor(),
      [self = shared_from_this(), dear = std::move(dear)] {
        CodecContext codecs;
        for (auto* part : dear) self->validate(*part, codecs);
      },
      [self = shared_from_this()] { self->submit(); });
}

void ProduceJob::submit() {
  uint32_t count = 0;
  for (auto& part : parts_) {
    if (part.partition == nullptr) continue;
    auto const& verdict = *part.verdict;
    if (verdict.is_accepted()) {
      ++count;
      if (verdict.rebuilt) part.batch = verdict.rebuilt->mutable_view();
      continue;
    }
    refuse(part, to_error(verdict.fault.code));
    if (verdict.answer_has_log_start()) part.answer.log_start_offset = part.partition->marks().log_start;
    part.partition = nullptr;
  }
  if (count == 0) return finish();

  auto& order = context().connection_state();
  auto* const only = count == 1 && parts_.size() == 1 ? parts_.front().partition.get() : nullptr;
  if (order.unappended_produces == 0 || (only != nullptr && order.produces_to == only)) return hand_over();
  MR_PROBE(context().services().env.hooks(), "produce.held");
  context().thread().held[&order].produce = [self = shared_from_this()] { self->hand_over(); };
}

void ProduceJob::hand_over() {
  auto& order = context().connection_state();
  auto* const only = parts_.size() == 1 ? parts_.front().partition.get() : nullptr;
  order.produces_to = only;
  ++order.unappended_produces;
  is_in_order_ = true;
  uint32_t count = 0;
  for (auto const& part : parts_) count += part.partition != nullptr ? 1 : 0;
  // One more each, so that neither runs out before all parts are handed over.
  unappended_.store(count + 1, std::memory_order_relaxed);
  unanswered_.store(count + 1, std::memory_order_relaxed);
  auto const self = shared_from_this();
  auto& run_list = context().thread().run_list;
  // A partition that is being opened, or replicas that lag: not longer than the client waits.
  context().thread().deadlines.add(*this, context().arrived() + from_ms(std::max(request_.timeout_ms, 0)));
  for (uint32_t i = 0; i < parts_.size(); ++i) {
    auto& part = parts_[i];
    if (part.partition == nullptr) continue;
    part.partition->append({.sink = self,
                            .index = i,
                            .batch = part.batch,
                            .append_time_ms = part.verdict->log_append_time,
                            .wants_all_replicas = wants_all()},
                           run_list);
  }
  auto const is_appended = unappended_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (unanswered_.fetch_sub(1, std::memory_order_acq_rel) == 1) return all_answered();
  if (is_appended) release_order();
  // Queued behind each other at one partition they are written together and in order. With acks=0 nothing may start
  // before it is known that this one does not close the connection.
  if (request_.acks != 0 && (only != nullptr || is_appended)) context_->let_next_produce_start();
}

void ProduceJob::on_appended(uint32_t index) { count_appended(parts_[index], 0); }

void ProduceJob::count_appended(Part& part, uint32_t answers_on_the_way) {
  if (std::exchange(part.is_appended, true)) return;
  if (unappended_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The answer, if that is all that is missing, brings the same news.
  if (unanswered_.load(std::memory_order_acquire) <= answers_on_the_way) return;
  auto const tell = [self = shared_from_this()] {
    if (self->is_finished_) return;
    // What an acks=1 waits for now is a sync, and Kafka has no limit for that.
    if (!self->wants_all()) Deadlines::remove(*self);
    self->release_order();
    self->context_->let_next_produce_start();
  };
  if (reactor().is_current()) tell();
  else reactor().post(tell);
}

// Everything of this request is in the log: a Produce of the same connection that goes elsewhere may follow.
void ProduceJob::release_order() {
  if (!std::exchange(is_in_order_, false)) return;
  auto& order = context().connection_state();
  if (--order.unappended_produces > 0) return;
  order.produces_to = nullptr;
  auto& held = context().thread().held;
  auto const mine = held.find(&order);
  if (mine == held.end() || !mine->second.produce) return;
  auto go_on = std::move(mine->second.produce);
  if (!mine->second.unanswered) held.erase(mine);
  std::move(go_on)();
}

void ProduceJob::on_answer(uint32_t index, runtime::AppendAnswer const& answer) {
  auto& part = parts_[index];
  part.answer = answer;
  part.is_answered.store(true, std::memory_order_release);
  count_appended(part, 1);
  if (unanswered_.fetch_sub(1, std::memory_order_acq_rel) == 1) all_answered();
}

void ProduceJob::all_answered() {
  if (reactor().is_current()) return finish();
  reactor().post([self = shared_from_this()] { self->finish(); });
}

void ProduceJob::on_deadline() {
  auto const self = shared_from_this();
  for (uint32_t i = 0; i < parts_.size(); ++i) {
    auto& part = parts_[i];
    if (part.partition == nullptr || part.is_answered.load(std::memory_order_acquire)) continue;
    part.partition->give_up(self, i, context().thread().run_list);
  }
  finish();
}

void ProduceJob::refuse(Part& part, ErrorCode error) {
  part.answer = {.error = error};
  part.is_answered.store(true, std::memory_order_relaxed);
}

void ProduceJob::finish() {
  if (std::exchange(is_finished_, true)) return;
  Deadlines::remove(*this);
  release_order();
  ProduceResponse response;
  auto& arena = context().arena();
  ArrayBuilder<ProduceResponse::TopicProduceResponse> topics(arena, request_.topic_data.size());
  ArrayBuilder<ProduceResponse::NodeEndpoint> endpoints(arena);
  std::vector<BrokerId> known_endpoints;
  bool has_error = false;
  for (size_t i = 0; i < parts_.size();) {
    auto const topic_index = parts_[i].topic;
    size_t end = i;
    while (end < parts_.size() && parts_[end].topic == topic_index) ++end;
    auto& topic = topics.add();
    topic.name = request_.topic_data[topic_index].name;
    topic.topic_id = request_.topic_data[topic_index].topic_id;
    topic.partition_responses = arena.array<ProduceResponse::PartitionProduceResponse>(end - i);
    for (size_t k = 0; i < end; ++i, ++k) {
      auto& part = parts_[i];
      auto& out = topic.partition_responses[k];
      runtime::AppendAnswer answer{.error = ErrorCode::request_timed_out};
      if (part.is_answered.load(std::memory_order_acquire)) answer = part.answer;
      out.index = part.index;
      out.error_code = answer.error;
      bool const has_failed = answer.error != ErrorCode::none;
      // Also of what failed after its append, as in Kafka.
      out.base_offset = answer.base_offset.value;
      out.log_append_time_ms = has_failed ? -1 : answer.append_time_ms;
      out.log_start_offset = answer.log_start_offset.value;
      has_error = has_error || has_failed;
      if (!has_failed) continue;
      if (!fault_message_.empty()) out.error_message = Str(fault_message_);
      if (part.verdict && part.verdict->answer_has_message()) {
        auto const& errors = part.verdict->record_errors;
        out.error_message = Str(part.verdict->fault.message);
        out.record_errors = arena.array<ProduceResponse::BatchIndexAndErrorMessage>(errors.size());
        for (size_t e = 0; e < errors.size(); ++e) out.record_errors[e] = {errors[e].index, Str(errors[e].message)};
      }
      if (answer.error == ErrorCode::not_leader_or_follower && context().version() >= kFirstVersionWithLeaderHint) {
        auto const hint = leader_hint(context().image(), part.topic_id, part.index);
        out.current_leader = {hint.leader.value, hint.epoch.value};
        add_endpoint(context(), hint.leader, endpoints, known_endpoints);
      }
    }
  }
  auto const wait = context().services().quotas.record(context().image(), context().user(), context().client_id(),
                                                       metadata::kProducerByteRate,
                                                       static_cast<int64_t>(context().frame().size()), reactor().now());
  if (request_.acks == 0) {
    if (has_error) context().close("a Produce with acks=0 failed");
    else context().reply_nothing(wait);
    return;
  }
  response.throttle_time_ms = static_cast<int32_t>(std::min<int64_t>(to_ms(wait), INT32_MAX));
  response.responses = topics.finish();
  response.node_endpoints = endpoints.finish();
  context().reply(response, wait);
}

}  // namespace

void handle_produce(ContextPtr context) { std::make_shared<ProduceJob>(std::move(context))->start(); }

}  // namespace millrace::broker
