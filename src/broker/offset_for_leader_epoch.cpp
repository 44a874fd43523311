// OffsetForLeaderEpoch: where the records of an epoch end, from the published epochs.
#include "handlers.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/offset_for_leader_epoch.h"
#include "millrace/runtime/partition_manager.h"
#include "open_gate.h"

namespace millrace::broker {
namespace {

using protocol::OffsetForLeaderEpochRequest;
using protocol::OffsetForLeaderEpochResponse;

class EpochJob : public std::enable_shared_from_this<EpochJob> {
 public:
  explicit EpochJob(ContextPtr context) : context_(std::move(context)) {}
  void start();

 private:
  void reply();

  ContextPtr context_;
  OffsetForLeaderEpochRequest request_;
  std::vector<std::shared_ptr<runtime::PartitionDriver>> partitions_;  // in the order of the request; null: unknown
};

void EpochJob::start() {
  if (!context_->decode(request_)) return;
  for (auto const& topic : request_.topics) {
    auto const* topic_image = context_->image().find_topic(topic.topic);
    for (auto const& partition : topic.partitions) {
      bool const is_known = topic_image != nullptr && topic_image->find_partition(partition.partition) != nullptr;
      partitions_.push_back(
          is_known ? context_->services().partitions.find({topic_image->id, partition.partition}) : nullptr);
    }
  }
  when_open(*context_, partitions_, kOpenWaitMax, [self = shared_from_this()] { self->reply(); });
}

void EpochJob::reply() {
  auto& arena = context_->arena();
  OffsetForLeaderEpochResponse response;
  response.topics = arena.array<OffsetForLeaderEpochResponse::OffsetForLeaderTopicResult>(request_.topics.size());
  size_t next = 0;
  for (size_t t = 0; t < request_.topics.size(); ++t) {
    auto const& topic = request_.topics[t];
    auto& out = response.topics[t];
    out.topic = topic.topic;
    out.partitions = arena.array<OffsetForLeaderEpochResponse::EpochEndOffset>(topic.partitions.size());
    for (size_t p = 0; p < topic.partitions.size(); ++p) {
      auto const& asked = topic.partitions[p];
      auto const& partition = partitions_[next++];
      auto& one = out.partitions[p];
      one.partition = asked.partition;
      one.error_code = partition == nullptr ? ErrorCode::unknown_topic_or_partition
                                            : partition->check_leader(LeaderEpoch(asked.current_leader_epoch));
      if (one.error_code != ErrorCode::none) continue;
      auto const end = partition->epochs()->end_of(LeaderEpoch(asked.leader_epoch), partition->marks().end.offset);
      one.leader_epoch = end.epoch.value;
      one.end_offset = end.end.value;
    }
  }
  context_->reply(response);
}

}  // namespace

void handle_offset_for_leader_epoch(ContextPtr context) { std::make_shared<EpochJob>(std::move(context))->start(); }

}  // namespace millrace::broker
