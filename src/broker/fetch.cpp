// Fetch: sessions, the read itself, and waiting for bytes. Reads happen on the connection's thread as long as nothing
// must come from the disk; from the first partition that must, the rest is read on the directory's pool.
#include <unordered_map>

#include "millrace/broker/fetch_sessions.h"
#include "handlers.h"
#include "leader_hint.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/runtime/partition_manager.h"
#include "open_gate.h"
#include "read_replica.h"

namespace millrace::broker {
namespace {

using protocol::FetchRequest;
using protocol::FetchResponse;
using runtime::ReadLimit;

constexpr int16_t kFirstVersionWithTopLevelError = 13;  // before it, a refused request names its partitions
constexpr int16_t kFirstVersionWithReplicaState = 15;
constexpr int16_t kFirstVersionWithTopicId = 13;
constexpr int16_t kFirstVersionWithLeaderHint = 16;
constexpr int16_t kFirstVersionWithSessions = 7;
constexpr int16_t kFirstVersionWithRack = 11;
constexpr Duration kFetchOpenWaitMin = 500ms;  // for partitions that are being opened, also when nothing else is waited for
constexpr int kRegionsMax = 16;  // descriptors that one response may hold

struct Part {
  FetchItem item;
  TopicId topic_id{};
  std::shared_ptr<runtime::PartitionDriver> partition;  // null: `error` is the answer
  bool is_unknown = false;                              // refused before any log was asked
  ErrorCode error = ErrorCode::none;
  LeaderEpoch known_epoch{-1};                          // of the request's image
  bool is_leader_unsure = false;                        // we may lead no more, and cannot tell who does
  storage::Marks marks;
  storage::LogMark start;                               // where the asked offset lies, if it was looked up
  std::optional<env::Chunk> records;
  int64_t bytes = 0;
  std::vector<storage::AbortedTransaction> aborted;
  storage::EpochEnd diverging;
  bool is_diverging = false;
  BrokerId read_replica = kNoBroker;  // where this consumer should rather read

  void clear_result() {
    error = ErrorCode::none;
    is_leader_unsure = false;
    start = {};
    records.reset();
    bytes = 0;
    aborted.clear();
    is_diverging = false;
    read_replica = kNoBroker;
  }
};

class FetchJob : public std::enable_shared_from_this<FetchJob> {
 public:
  explicit FetchJob(ContextPtr context) : context_(std::move(context)) {}

  void start();

 private:
  RequestContext& context() { return *context_; }
  env::Reactor& reactor() { return context_->thread().reactor; }
  bool is_by_id() const { return context_->version() >= kFirstVersionWithTopicId; }
  bool is_follower() const { return replica_.value >= 0; }
  bool may_read_follower() const { return !is_follower() && context_->version() >= kFirstVersionWithRack; }
  bool is_incremental() const { return session_id_ != kNoSession && session_epoch_ > kFirstSessionEpoch; }

  bool open_session();
  std::vector<FetchItem> requested_items() const;
  void find_parts(std::vector<FetchItem> items);
  void begin();
  void record_follower();
  void on_recorded(Part& part, replication::Outcome outcome);
  void read();
  // Reads from `part` on. False: the rest needs the disk; `next_part_` is where to go on.
  bool read_parts(env::Wait wait);
  bool read_part(Part& part, env::Wait wait);
  bool find_divergence(Part& part);
  bool find_read_replica(Part& part);
  bool is_superseded(Part& part);
  void on_read();
  void park();
  void reply_error(ErrorCode error);
  bool throttle();
  void finish();
  void fill(Part& part, FetchResponse::PartitionData& out);

  ContextPtr context_;
  FetchRequest request_;
  BrokerId replica_ = kNoBroker;
  ReadLimit limit_ = ReadLimit::high_watermark;
  Mono deadline_;
  int64_t bytes_min_ = 0;
  int64_t bytes_max_ = 0;
  int32_t session_id_ = kNoSession;
  int32_t session_epoch_ = kFinalSessionEpoch;
  std::vector<Part> parts_;
  std::vector<env::Chunk> slots_;
  size_t followers_left_ = 0;

  // One pass over the parts.
  size_t next_part_ = 0;
  int64_t bytes_left_ = 0;
  int64_t bytes_read_ = 0;
  int regions_left_ = 0;
  bool needs_one_batch_ = true;
  bool has_read_error_ = false;
  bool has_divergence_ = false;
  bool has_read_replica_ = false;
  bool was_woken_ = false;
};

void FetchJob::start() {
  if (!context().decode(request_)) return;
  replica_ = BrokerId(context().version() >= kFirstVersionWithReplicaState ? request_.replica_state.replica_id
                                                                           : request_.replica_id);
  if (request_.isolation_level < 0 || request_.isolation_level > 1) return reply_error(ErrorCode::unknown_server_error);
  limit_ = is_follower()                  ? ReadLimit::end
           : request_.isolation_level == 1 ? ReadLimit::last_stable
                                           : ReadLimit::high_watermark;
  bytes_max_ = std::min(request_.max_bytes, context().services().config.fetch_bytes_max);
  if (!is_follower()) {
    auto const& quotas = context().services().quotas;
    bytes_max_ = std::min(bytes_max_, quotas.bytes_max(context().image(), context().user(), context().client_id(),
                                                       metadata::kConsumerByteRate));
  }
  bytes_min_ = std::min<int64_t>(request_.min_bytes, bytes_max_);
  deadline_ = context().arrived() + from_ms(request_.max_wait_ms);
  if (context().version() >= kFirstVersionWithSessions) {
    session_id_ = request_.session_id;
    session_epoch_ = request_.session_epoch;
  }
  if (!open_session()) return;
  if (std::none_of(parts_.begin(), parts_.end(), [](Part const& part) { return is_opening(part.partition); })) return begin();
  std::vector<std::shared_ptr<runtime::PartitionDriver>> partitions;
  partitions.reserve(parts_.size());
  for (auto const& part : parts_) partitions.push_back(part.partition);
  auto const wait = std::clamp(from_ms(request_.max_wait_ms), kFetchOpenWaitMin, kOpenWaitMax);
  when_open(context(), partitions, wait, [self = shared_from_this()] { self->begin(); });
}

void FetchJob::begin() {
  if (is_follower()) record_follower();
  else read();
}

std::vector<FetchItem> FetchJob::requested_items() const {
  std::vector<FetchItem> items;
  size_t count = 0;
  for (auto const& topic : request_.topics) count += topic.partitions.size();
  items.reserve(count);
  // A partition named twice: the later one counts, as in Kafka's map, but it keeps its first place.
  std::unordered_map<TopicIdPartition, size_t> seen_ids;
  constexpr size_t kFewItems = 32;
  for (auto const& topic : request_.topics) {
    size_t const topic_start = items.size();
    for (auto const& partition : topic.partitions) {
      FetchItem item;
      if (is_by_id()) item.topic_id = topic.topic_id;
      else item.topic = topic.topic;
      item.partition = partition.partition;
      item.current_leader_epoch = LeaderEpoch(partition.current_leader_epoch);
      item.offset = Offset(partition.fetch_offset);
      item.last_fetched_epoch = LeaderEpoch(partition.last_fetched_epoch);
      item.log_start = Offset(partition.log_start_offset);
      item.bytes_max = partition.partition_max_bytes;
      size_t same = items.size();
      if (count <= kFewItems) {
        for (size_t i = 0; i < items.size(); ++i) {
          if (items[i].partition == item.partition && items[i].topic_id == item.topic_id && items[i].topic == item.topic) same = i;
        }
      } else if (is_by_id()) {
        same = seen_ids.try_emplace({item.topic_id, item.partition}, items.size()).first->second;
      } else {
        // Names repeat within one topic entry at most; entries of the same name are the client's oddity.
        if (!topic.partitions.empty() && items.size() > topic_start && items.back().partition >= item.partition) {
          for (size_t i = topic_start; i < items.size(); ++i) {
            if (items[i].partition == item.partition) same = i;
          }
        }
      }
      if (same == items.size()) items.push_back(std::move(item));
      else items[same] = std::move(item);
    }
  }
  return items;
}

bool FetchJob::open_session() {
  auto& sessions = context().services().fetch_sessions;
  // Epoch 0 asks for a new session, -1 for none; both first end the one that they name.
  if (session_epoch_ == kFirstSessionEpoch || session_epoch_ == kFinalSessionEpoch) {
    if (session_id_ != kNoSession) sessions.remove(session_id_);
    session_id_ = kNoSession;
    find_parts(requested_items());
    return true;
  }
  std::vector<FetchItem> forgotten;
  for (auto const& topic : request_.forgotten_topics_data) {
    for (auto const partition : topic.partitions) {
      FetchItem item;
      if (is_by_id()) item.topic_id = topic.topic_id;
      else item.topic = topic.topic;
      item.partition = partition;
      forgotten.push_back(std::move(item));
    }
  }
  std::vector<FetchItem> items;
  auto const error = sessions.update(session_id_, session_epoch_, is_by_id(), requested_items(), forgotten,
                                     reactor().now(), items);
  if (error != ErrorCode::none) {
    FetchResponse response;
    response.error_code = error;
    context().reply(response);
    return false;
  }
  find_parts(std::move(items));
  return true;
}

void FetchJob::find_parts(std::vector<FetchItem> items) {
  auto const& image = context().image();
  auto& partitions = context().services().partitions;
  parts_.resize(items.size());
  metadata::TopicImage const* topic = nullptr;
  for (size_t i = 0; i < items.size(); ++i) {
    auto& part = parts_[i];
    part.item = std::move(items[i]);
    if (is_by_id()) {
      if (topic == nullptr || topic->id != part.item.topic_id) topic = image.find_topic(part.item.topic_id);
    } else if (topic == nullptr || topic->name != part.item.topic) {
      topic = image.find_topic(part.item.topic);
    }
    if (topic == nullptr) {
      part.is_unknown = true;
      part.error = is_by_id() ? ErrorCode::unknown_topic_id : ErrorCode::unknown_topic_or_partition;
      continue;
    }
    part.topic_id = topic->id;
    auto const* known = topic->find_partition(part.item.partition);
    if (known == nullptr) {
      part.is_unknown = true;
      part.error = ErrorCode::unknown_topic_or_partition;
      continue;
    }
    part.known_epoch = known->leader_epoch;
    part.partition = partitions.find({topic->id, part.item.partition});
    if (part.partition == nullptr) part.error = ErrorCode::not_leader_or_follower;
  }
}

// ---- Followers

void FetchJob::record_follower() {
  followers_left_ = 1;
  bool const has_state = context().version() >= kFirstVersionWithReplicaState;
  for (auto& part : parts_) {
    if (part.partition == nullptr) continue;
    ++followers_left_;
    runtime::ReplicaFetch const fetch{.replica = replica_,
                                      .broker_epoch = has_state ? request_.replica_state.replica_epoch : -1,
                                      .leader_epoch = part.item.current_leader_epoch,
                                      .offset = part.item.offset,
                                      .last_fetched_epoch = part.item.last_fetched_epoch,
                                      .log_start = part.item.log_start};
    part.partition->follower_fetched(
        fetch,
        [self = shared_from_this(), part = &part](replication::Outcome outcome) {
          // The driver may run on any thread; the job belongs to the connection's.
          auto const back = [self, part, outcome] {
            self->on_recorded(*part, outcome);
            if (--self->followers_left_ == 0) self->read();
          };
          if (self->reactor().is_current()) back();
          else self->reactor().post(back);
        },
        context().thread().run_list);
  }
  if (--followers_left_ == 0) read();
}

// Epochs and offsets that are wrong are found again when the log is read.
void FetchJob::on_recorded(Part& part, replication::Outcome outcome) {
  switch (outcome) {
    case replication::Outcome::not_a_replica:
      // Of the same epoch as we, and yet a replica: it knows of an assignment that has not come here yet.
      part.error = part.item.current_leader_epoch == kNoLeaderEpoch ? ErrorCode::not_leader_or_follower
                                                                    : ErrorCode::unknown_leader_epoch;
      break;
    case replication::Outcome::stale_broker_epoch:
    case replication::Outcome::not_leader: part.error = ErrorCode::not_leader_or_follower; break;
    default: return;
  }
  part.partition = nullptr;
}

// ---- Reading

void FetchJob::read() {
  for (auto& part : parts_) {
    if (part.partition != nullptr) part.clear_result();
  }
  next_part_ = 0;
  bytes_left_ = bytes_max_;
  bytes_read_ = 0;
  regions_left_ = kRegionsMax;
  needs_one_batch_ = true;
  has_read_error_ = false;
  has_divergence_ = false;
  has_read_replica_ = false;
  if (read_parts(env::Wait::no)) return on_read();
  auto& pool = context().services().env.pool(parts_[next_part_].partition->directory().path());
  pool.run(
      reactor(), [self = shared_from_this()] { self->read_parts(env::Wait::yes); },
      [self = shared_from_this()] { self->on_read(); });
}

bool FetchJob::read_parts(env::Wait wait) {
  for (; next_part_ < parts_.size(); ++next_part_) {
    auto& part = parts_[next_part_];
    if (part.partition == nullptr) {
      if (!part.is_unknown) has_read_error_ = true;
      continue;
    }
    if (!read_part(part, wait)) return false;
    // Who leads is known soon: a consumer that was told at once would ask again at once.
    if (part.error != ErrorCode::none && !part.is_leader_unsure) has_read_error_ = true;
    if (part.bytes == 0) continue;
    needs_one_batch_ = false;
    bytes_left_ -= part.bytes;
    bytes_read_ += part.bytes;
    if (std::holds_alternative<env::FileRegion>(*part.records) && --regions_left_ == 0) bytes_left_ = 0;
  }
  return true;
}

bool FetchJob::find_divergence(Part& part) {
  if (part.item.last_fetched_epoch < LeaderEpoch(0)) return false;
  auto const end = part.partition->epochs()->end_of(part.item.last_fetched_epoch, part.marks.end.offset);
  if (end.epoch < LeaderEpoch(0) || end.end < Offset(0)) {
    part.error = ErrorCode::offset_out_of_range;
    return true;
  }
  if (end.epoch >= part.item.last_fetched_epoch && end.end >= part.item.offset) return false;
  part.diverging = end;
  part.is_diverging = true;
  has_divergence_ = true;
  return true;
}

// Who is told of a nearer replica gets no records here.
bool FetchJob::find_read_replica(Part& part) {
  bool const may_be_sent = may_read_follower() && !request_.rack_id.empty() && context_->services().config.has_rack_aware_reads &&
                           part.partition->status() == runtime::PartitionStatus::leader;
  if (!may_be_sent) return false;
  part.read_replica = nearest_replica(context_->image(), *part.partition, context_->services().config.node_id,
                                      request_.rack_id, part.item.offset);
  if (part.read_replica == kNoBroker) return false;
  has_read_replica_ = true;
  return true;
}

// Its driver takes it for led here, but perhaps it is not any more: a consumer must not take its mark for the newest.
// Followers are refused by their epochs.
bool FetchJob::is_superseded(Part& part) {
  if (part.partition->status() != runtime::PartitionStatus::leader) return false;
  part.is_leader_unsure = part.partition->may_be_superseded(reactor().now());
  return part.is_leader_unsure || part.known_epoch > part.marks.epoch;
}

bool FetchJob::read_part(Part& part, env::Wait wait) {
  // Whoever can be sent to a follower may read there.
  part.error = may_read_follower() ? part.partition->check_replica(part.item.current_leader_epoch)
                                   : part.partition->check_leader(part.item.current_leader_epoch);
  if (part.error != ErrorCode::none) {
    if (part.error == ErrorCode::unknown_topic_or_partition && is_by_id()) part.error = ErrorCode::unknown_topic_id;
    return true;
  }
  part.marks = part.partition->marks();
  if (!is_follower() && is_superseded(part)) {
    part.error = ErrorCode::not_leader_or_follower;
    return true;
  }
  if (find_read_replica(part)) return true;
  if (find_divergence(part)) return true;
  if (part.item.offset < part.marks.log_start || part.item.offset > part.marks.end.offset) {
    part.error = ErrorCode::offset_out_of_range;
    return true;
  }
  auto const upper = part.partition->read_limit(limit_, part.marks);
  part.start = upper;
  if (part.item.offset >= upper.offset) {
    if (part.item.offset == part.marks.end.offset) part.start = part.marks.end;
    else part.start.offset = part.item.offset;
    return true;
  }
  auto const bytes_max = std::max<int64_t>(std::min<int64_t>(part.item.bytes_max, bytes_left_), 0);
  // Nothing fits any more: the marks are told all the same, as when max_bytes is used up.
  if (bytes_max == 0 && !needs_one_batch_) {
    part.start.offset = part.item.offset;
    return true;
  }
  storage::ReadRequest request;
  request.from = part.item.offset;
  request.bytes_max = bytes_max;
  request.upper = upper;
  request.at_least_one_batch = needs_one_batch_;
  request.without_cut_batch = is_follower();  // it would throw the piece away and fetch that batch anew
  request.with_aborted_transactions = limit_ == ReadLimit::last_stable;
  request.region_bytes_min = context_->services().config.region_bytes_min;
  request.wait = wait;
  auto result = part.partition->view().read(request);
  if (!result.ok()) {
    switch (result.error().kind) {
      case ErrorKind::would_block: return false;
      case ErrorKind::out_of_range:
        // Retention or a truncation came between; the marks say so in a moment.
        part.error = ErrorCode::offset_out_of_range;
        return true;
      case ErrorKind::limit:
        // All descriptors for regions are taken: served with a later Fetch, as when max_bytes is used up.
        part.start.offset = part.item.offset;
        bytes_left_ = 0;
        needs_one_batch_ = false;
        return true;
      default:
        context_->services().log().error("fetch", "read {}-{} at {}: {}", part.partition->identity().name.topic,
                                         part.item.partition, part.item.offset, result.error().message);
        part.error = result.error().kind == ErrorKind::corrupt ? ErrorCode::corrupt_message
                                                               : ErrorCode::kafka_storage_error;
        return true;
    }
  }
  part.start = result->start;
  part.aborted = std::move(result->aborted);
  if (result->is_first_batch_cut || !result->records) return true;
  part.records = std::move(result->records);
  part.bytes = result->bytes;
  return true;
}

void FetchJob::on_read() {
  bool const has_known = std::any_of(parts_.begin(), parts_.end(), [](Part const& part) { return !part.is_unknown; });
  bool const must_answer = request_.max_wait_ms <= 0 || !has_known || bytes_read_ >= bytes_min_ || has_read_error_ ||
                           has_divergence_ || has_read_replica_ || was_woken_ || reactor().now() >= deadline_;
  if (must_answer) finish();
  else park();
}

void FetchJob::park() {
  std::vector<runtime::WaitFor> waits;
  waits.reserve(parts_.size());
  for (auto& part : parts_) {
    if (part.partition == nullptr) continue;
    waits.push_back({part.partition, limit_, {part.item.offset, part.start.position}, part.item.bytes_max, part.marks});
    // What was read is read again when there is enough; a region must not hold its descriptor meanwhile.
    part.records.reset();
  }
  auto& connection = context().connection_state();
  auto const wait = runtime::FetchWait::park(reactor(), bytes_min_, deadline_, std::move(waits), [self = shared_from_this()] {
    self->context().connection_state().on_closed = {};
    self->context().thread().requests.parked_fetches.add(-1);
    // One wait a Fetch, as in Kafka: what is there now is the answer, even if it is less (a read ends with its segment).
    self->was_woken_ = true;
    self->read();
  });
  auto& parked_fetches = context().thread().requests.parked_fetches;
  parked_fetches.add(1);
  connection.on_closed = [weak = std::weak_ptr(wait), &parked_fetches] {
    auto const parked = weak.lock();
    if (parked == nullptr) return;
    parked_fetches.add(-1);
    parked->cancel();
  };
}

// ---- Answering

void FetchJob::reply_error(ErrorCode error) {
  FetchResponse response;
  response.error_code = error;
  if (context().version() < kFirstVersionWithTopLevelError) {
    auto& arena = context().arena();
    response.responses = arena.array<FetchResponse::FetchableTopicResponse>(request_.topics.size());
    for (size_t t = 0; t < request_.topics.size(); ++t) {
      auto const& topic = request_.topics[t];
      auto& out = response.responses[t];
      out.topic = topic.topic;
      out.partitions = arena.array<FetchResponse::PartitionData>(topic.partitions.size());
      for (size_t p = 0; p < topic.partitions.size(); ++p) {
        out.partitions[p].partition_index = topic.partitions[p].partition;
        out.partitions[p].error_code = error;
        out.partitions[p].high_watermark = -1;
        out.partitions[p].records = protocol::Records(ByteView{});
      }
    }
  }
  context().reply(response);
}

void FetchJob::fill(Part& part, FetchResponse::PartitionData& out) {
  out.partition_index = part.item.partition;
  out.error_code = part.error;
  out.high_watermark = -1;
  out.records = protocol::Records(ByteView{});
  if (!part.is_unknown) out.aborted_transactions = kNullArray;
  if (part.error != ErrorCode::none) return;
  out.high_watermark = part.partition->read_limit(ReadLimit::high_watermark, part.marks).offset.value;
  out.last_stable_offset = part.marks.last_stable.offset.value;
  out.log_start_offset = part.marks.log_start.value;
  out.preferred_read_replica = part.read_replica.value;
  if (part.is_diverging) {
    out.diverging_epoch = {part.diverging.epoch.value, part.diverging.end.value};
    return;
  }
  if (limit_ == ReadLimit::last_stable) {
    out.aborted_transactions = context().arena().array<FetchResponse::AbortedTransaction>(part.aborted.size());
    for (size_t i = 0; i < part.aborted.size(); ++i) {
      out.aborted_transactions[i] = {part.aborted[i].producer_id.value, part.aborted[i].first_offset.value};
    }
  }
  if (part.bytes == 0) return;
  if (!is_follower()) part.partition->count_fetched(part.bytes);
  out.records = protocol::Records::slot(static_cast<size_t>(part.bytes), static_cast<uint32_t>(slots_.size()));
  slots_.push_back(std::move(*part.records));
}

// A consumer above its quota gets nothing but the time that it has to wait: what was read is read again.
bool FetchJob::throttle() {
  if (is_follower()) return false;
  auto& quotas = context().services().quotas;
  auto const& image = context().image();
  auto const now = reactor().now();
  auto const wait =
      quotas.record(image, context().user(), context().client_id(), metadata::kConsumerByteRate, bytes_read_, now);
  if (wait <= Duration::zero()) return false;
  quotas.unrecord(image, context().user(), context().client_id(), metadata::kConsumerByteRate, bytes_read_, now);
  FetchResponse response;
  if (is_incremental()) {
    response.error_code = context().services().fetch_sessions.check_answer(session_id_, session_epoch_);
    if (response.error_code == ErrorCode::none) response.session_id = session_id_;
  }
  response.throttle_time_ms = static_cast<int32_t>(std::min<int64_t>(to_ms(wait), INT32_MAX));
  context().reply(response, wait);
  return true;
}

void FetchJob::finish() {
  if (throttle()) return;
  auto& sessions = context().services().fetch_sessions;
  auto& arena = context().arena();
  // Kafka answers those first that it asked a log about.
  std::stable_partition(parts_.begin(), parts_.end(), [](Part const& part) { return !part.is_unknown; });

  std::vector<bool> is_told;
  FetchResponse response;
  auto const told_of = [&](Part const& part) -> FetchTold {
    if (part.error != ErrorCode::none) return {};
    return {part.marks.high_watermark.offset.value, part.marks.log_start.value};
  };
  if (is_incremental()) {
    std::vector<FetchSessions::Answered> answered;
    answered.reserve(parts_.size());
    for (auto const& part : parts_) {
      answered.push_back({&part.item, told_of(part), part.bytes > 0, part.error != ErrorCode::none,
                          part.is_diverging || part.read_replica != kNoBroker});
    }
    response.error_code = sessions.answer(session_id_, session_epoch_, answered, is_told);
    if (response.error_code != ErrorCode::none) return context().reply(response);
    response.session_id = session_id_;
  } else if (session_epoch_ == kFirstSessionEpoch && context().version() >= kFirstVersionWithSessions &&
             !context().connection().has_ended) {  // who gave this Fetch up meanwhile will not go on with its session
    std::vector<FetchItem> items;
    std::vector<FetchTold> told;
    for (auto const& part : parts_) {
      items.push_back(part.item);
      told.push_back(told_of(part));
    }
    response.session_id = sessions.create(std::move(items), told, is_by_id(), is_follower(), reactor().now());
    if (is_follower()) context().connection_state().follower_session = response.session_id;
  }

  ArrayBuilder<FetchResponse::FetchableTopicResponse> topics(arena);
  ArrayBuilder<FetchResponse::NodeEndpoint> endpoints(arena);
  std::vector<BrokerId> known_endpoints;
  auto const is_told_at = [&](size_t i) { return is_told.empty() || is_told[i]; };
  auto const is_same_topic = [&](Part const& a, Part const& b) {
    return is_by_id() ? a.item.topic_id == b.item.topic_id : a.item.topic == b.item.topic;
  };
  for (size_t i = 0; i < parts_.size();) {
    if (!is_told_at(i)) {
      ++i;
      continue;
    }
    auto const first = i;
    ArrayBuilder<FetchResponse::PartitionData> partitions(arena);
    for (; i < parts_.size() && is_same_topic(parts_[first], parts_[i]); ++i) {
      if (!is_told_at(i)) continue;
      auto& part = parts_[i];
      auto& out = partitions.add();
      fill(part, out);
      bool const asked_wrong_broker = (part.error == ErrorCode::not_leader_or_follower && !part.is_leader_unsure) ||
                                      part.error == ErrorCode::fenced_leader_epoch;
      if (asked_wrong_broker && context().version() >= kFirstVersionWithLeaderHint) {
        auto const hint = leader_hint(context().image(), part.topic_id, part.item.partition);
        out.current_leader = {hint.leader.value, hint.epoch.value};
        if (!is_follower()) add_endpoint(context(), hint.leader, endpoints, known_endpoints);
      }
    }
    auto& topic = topics.add();
    topic.topic = parts_[first].item.topic;
    topic.topic_id = parts_[first].item.topic_id;
    topic.partitions = partitions.finish();
  }
  response.responses = topics.finish();
  response.node_endpoints = endpoints.finish();
  context().reply(response, slots_);
}

}  // namespace

void handle_fetch(ContextPtr context) {
  // A controller has no partitions but the metadata log.
  if (context->connection_state().listener_kind == ListenerKind::controller)
    return handle_raft_fetch(std::move(context));
  std::make_shared<FetchJob>(std::move(context))->start();
}

}  // namespace millrace::broker
