// ListOffsets: the special timestamps from the published marks, real ones looked up in the log on the disk pool.
#include <set>

#include "handlers.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/list_offsets.h"
#include "millrace/runtime/partition_manager.h"
#include "open_gate.h"

namespace millrace::broker {
namespace {

using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;
using runtime::ReadLimit;

constexpr int64_t kLatest = -1;
constexpr int64_t kEarliest = -2;
constexpr int64_t kLargestTimestamp = -3;
constexpr int64_t kEarliestLocal = -4;
constexpr int64_t kLatestTiered = -5;
constexpr int64_t kEarliestPendingUpload = -6;

constexpr int32_t kConsumer = -1;
constexpr int16_t kFirstVersionWithLeaderEpoch = 4;
constexpr int16_t kFirstVersionWithOffsetNotAvailable = 5;

// The first version in which a client may ask for it; a later one only makes it an error of the partition.
int16_t first_version_of(int64_t timestamp) {
  switch (timestamp) {
    case kLargestTimestamp: return 7;
    case kEarliestLocal: return 8;
    case kLatestTiered: return 9;
    case kEarliestPendingUpload: return 11;
    default: return timestamp < kEarliestPendingUpload ? INT16_MAX : 0;
  }
}

class ListOffsetsJob : public std::enable_shared_from_this<ListOffsetsJob> {
 public:
  explicit ListOffsetsJob(ContextPtr context) : context_(std::move(context)) {}
  void start();

 private:
  struct Part {
    ListOffsetsResponse::ListOffsetsPartitionResponse* out = nullptr;
    std::shared_ptr<runtime::PartitionDriver> partition;
    LeaderEpoch leader_epoch{-1};
    int64_t timestamp = 0;
    LeaderEpoch known_epoch{-1};  // of the request's image
  };
  using Out = ListOffsetsResponse::ListOffsetsPartitionResponse;

  void find(metadata::TopicImage const* topic, ListOffsetsRequest::ListOffsetsPartition const& asked, Out& out);
  void look_up();
  bool is_mark_unknown(Part& part, storage::Marks const& marks) const;
  bool is_leader_unsure(Part const& part, storage::Marks const& marks) const;
  bool answer_from_marks(Part& part);
  void answer_from_log(Part& part);
  void set(Out& out, int64_t timestamp, Offset offset, LeaderEpoch epoch) const {
    out.timestamp = timestamp;
    out.offset = offset.value;
    if (context_->version() >= kFirstVersionWithLeaderEpoch) out.leader_epoch = epoch.value;
  }
  ReadLimit limit() const {
    if (request_.replica_id != kConsumer) return ReadLimit::end;
    return request_.isolation_level == 1 ? ReadLimit::last_stable : ReadLimit::high_watermark;
  }

  ContextPtr context_;
  ListOffsetsRequest request_;
  ListOffsetsResponse response_;
  std::vector<Part> parts_;
};

void ListOffsetsJob::start() {
  if (!context_->decode(request_)) return;
  auto& arena = context_->arena();
  response_.topics = arena.array<ListOffsetsResponse::ListOffsetsTopicResponse>(request_.topics.size());
  for (size_t t = 0; t < request_.topics.size(); ++t) {
    auto const& topic = request_.topics[t];
    std::set<int32_t> seen, repeated;
    for (auto const& partition : topic.partitions) {
      if (!seen.insert(partition.partition_index).second) repeated.insert(partition.partition_index);
    }
    auto const* topic_image = context_->image().find_topic(topic.name);
    auto& out = response_.topics[t];
    out.name = topic.name;
    out.partitions = arena.array<Out>(seen.size());
    size_t count = 0;
    seen.clear();
    for (auto const& partition : topic.partitions) {
      // A partition named twice is refused, once.
      if (!seen.insert(partition.partition_index).second) continue;
      auto& one = out.partitions[count++];
      one.partition_index = partition.partition_index;
      if (repeated.contains(partition.partition_index)) one.error_code = ErrorCode::invalid_request;
      else find(topic_image, partition, one);
    }
  }
  std::vector<std::shared_ptr<runtime::PartitionDriver>> partitions;
  for (auto const& part : parts_) partitions.push_back(part.partition);
  when_open(*context_, partitions, kOpenWaitMax, [self = shared_from_this()] { self->look_up(); });
}

void ListOffsetsJob::find(metadata::TopicImage const* topic, ListOffsetsRequest::ListOffsetsPartition const& asked,
                          Out& out) {
  if (request_.isolation_level < 0 || request_.isolation_level > 1) {
    out.error_code = ErrorCode::unknown_server_error;
  } else if (context_->version() < first_version_of(asked.timestamp)) {
    out.error_code = ErrorCode::unsupported_version;
  } else if (topic == nullptr || topic->find_partition(asked.partition_index) == nullptr) {
    out.error_code = ErrorCode::unknown_topic_or_partition;
  } else if (auto partition = context_->services().partitions.find({topic->id, asked.partition_index})) {
    parts_.push_back({&out, std::move(partition), LeaderEpoch(asked.current_leader_epoch), asked.timestamp,
                      topic->find_partition(asked.partition_index)->leader_epoch});
  } else {
    out.error_code = ErrorCode::not_leader_or_follower;
  }
}

void ListOffsetsJob::look_up() {
  std::vector<Part*> in_log;
  for (auto& part : parts_) {
    part.out->error_code = part.partition->check_leader(part.leader_epoch);
    if (part.out->error_code == ErrorCode::none && !answer_from_marks(part)) in_log.push_back(&part);
  }
  if (in_log.empty()) return context_->reply(response_);
  auto& pool = context_->services().env.pool(in_log.front()->partition->directory().path());
  pool.run(
      context_->thread().reactor,
      [self = shared_from_this(), in_log = std::move(in_log)] {
        for (auto* part : in_log) self->answer_from_log(*part);
      },
      [self = shared_from_this()] { self->context_->reply(self->response_); });
}

// Another leader may have committed more since.
bool ListOffsetsJob::is_leader_unsure(Part const& part, storage::Marks const& marks) const {
  return part.known_epoch > marks.epoch || part.partition->may_be_superseded(context_->thread().reactor.now());
}

// A new leader does not know yet how far the old one had committed, nor an old one how far a new one has.
bool ListOffsetsJob::is_mark_unknown(Part& part, storage::Marks const& marks) const {
  if (request_.replica_id != kConsumer) return false;
  auto const epoch_start = part.partition->epochs()->latest();
  bool const is_new = epoch_start && epoch_start->start > marks.high_watermark.offset;
  if (!is_new && !is_leader_unsure(part, marks)) return false;
  part.out->error_code = context_->version() >= kFirstVersionWithOffsetNotAvailable ? ErrorCode::offset_not_available
                                                                                    : ErrorCode::leader_not_available;
  return true;
}

bool ListOffsetsJob::answer_from_marks(Part& part) {
  auto const marks = part.partition->marks();
  auto const epochs = part.partition->epochs();
  switch (part.timestamp) {
    case kLatest: {
      auto const end = part.partition->read_limit(limit(), marks).offset;
      if (is_mark_unknown(part, marks)) return true;
      set(*part.out, -1, end, marks.epoch);
      return true;
    }
    case kEarliest:
    case kEarliestLocal: {
      auto const first = epochs->earliest();
      set(*part.out, -1, marks.log_start, first && first->start <= marks.log_start ? first->epoch : kNoLeaderEpoch);
      return true;
    }
    case kLatestTiered:
    case kEarliestPendingUpload: set(*part.out, -1, Offset(-1), kNoLeaderEpoch); return true;
    default: return false;
  }
}

void ListOffsetsJob::answer_from_log(Part& part) {
  auto const marks = part.partition->marks();
  if (part.timestamp == kLargestTimestamp && is_leader_unsure(part, marks) && is_mark_unknown(part, marks)) return;
  auto const end = part.partition->read_limit(limit(), marks);
  auto const view = part.partition->view();
  auto const found = part.timestamp == kLargestTimestamp ? view.largest_timestamp(marks.log_start, end)
                                                         : view.offset_for_timestamp(part.timestamp, marks.log_start, end);
  if (!found.ok()) {
    context_->services().log().error("list offsets", "{}", found.error().message);
    part.out->error_code = ErrorCode::kafka_storage_error;
    return;
  }
  if (!*found) {
    // It may lie between what is known as committed and what is.
    if (!is_mark_unknown(part, marks)) set(*part.out, -1, Offset(-1), kNoLeaderEpoch);
    return;
  }
  auto epoch = (*found)->leader_epoch;
  if (epoch == kNoLeaderEpoch) epoch = part.partition->epochs()->epoch_of((*found)->offset).value_or(kNoLeaderEpoch);
  set(*part.out, (*found)->timestamp_ms, (*found)->offset, epoch);
}

}  // namespace

void handle_list_offsets(ContextPtr context) { std::make_shared<ListOffsetsJob>(std::move(context))->start(); }

}  // namespace millrace::broker
