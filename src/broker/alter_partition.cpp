// AlterPartition: leaders tell the controller who is in sync.
#include "millrace/protocol/api/alter_partition.h"

#include "ask_controller.h"
#include "handlers.h"

namespace millrace::broker {
namespace {

using Request = protocol::AlterPartitionRequest;
using Response = protocol::AlterPartitionResponse;

constexpr int16_t kFirstVersionWithBrokerEpochs = 3;
constexpr int8_t kRecoveryStateMax = 1;

metadata::PartitionIsrChange isr_change(Uuid const& topic, Request::PartitionData const& partition, int16_t version) {
  metadata::PartitionIsrChange change;
  change.topic = topic;
  change.partition = partition.partition_index;
  change.leader_epoch = LeaderEpoch{partition.leader_epoch};
  change.partition_epoch = partition.partition_epoch;
  change.recovery_state = static_cast<metadata::LeaderRecoveryState>(partition.leader_recovery_state);
  if (version >= kFirstVersionWithBrokerEpochs) {
    for (auto const& member : partition.new_isr_with_epochs)
      change.isr.push_back({BrokerId{member.broker_id}, member.broker_epoch});
  } else {
    for (auto const id : partition.new_isr) change.isr.push_back({BrokerId{id}, -1});
  }
  return change;
}

void fill(Response::PartitionData& out, metadata::PartitionIsrChanged const& changed, Arena& arena) {
  out.partition_index = changed.partition;
  out.error_code = changed.error;
  if (changed.error != ErrorCode::none) return;
  out.leader_id = changed.leader.value;
  out.leader_epoch = changed.leader_epoch.value;
  ArrayBuilder<int32_t> isr(arena, changed.isr.size());
  for (auto const id : changed.isr) isr.add() = id.value;
  out.isr = isr.finish();
  out.leader_recovery_state = static_cast<int8_t>(changed.recovery_state);
  out.partition_epoch = changed.partition_epoch;
}

// `counts`: how many partitions each topic of the request had.
void reply(RequestContext& context, std::vector<std::pair<TopicId, size_t>> const& counts,
           metadata::AlterPartitionAnswer const& answer) {
  Response response;
  response.error_code = answer.error.code;
  if (answer.error.ok()) {
    auto& arena = context.arena();
    ArrayBuilder<Response::TopicData> topics(arena, counts.size());
    auto next = answer.partitions.begin();
    for (auto const& [id, count] : counts) {
      auto& topic = topics.add();
      topic.topic_id = id;
      ArrayBuilder<Response::PartitionData> partitions(arena, count);
      for (size_t i = 0; i < count; ++i) fill(partitions.add(), *next++, arena);
      topic.partitions = partitions.finish();
    }
    response.topics = topics.finish();
  }
  context.reply(response);
}

}  // namespace

void handle_alter_partition(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  // Where nothing is asked, Kafka does not look at who asks.
  if (request.topics.empty()) return context->reply(Response{});
  metadata::AlterPartition to_controller;
  to_controller.broker = BrokerId{request.broker_id};
  to_controller.broker_epoch = request.broker_epoch;
  std::vector<std::pair<TopicId, size_t>> counts;
  for (auto const& topic : request.topics) {
    counts.emplace_back(topic.topic_id, topic.partitions.size());
    for (auto const& partition : topic.partitions) {
      if (partition.leader_recovery_state < 0 || partition.leader_recovery_state > kRecoveryStateMax) {
        Response response;
        response.error_code = ErrorCode::unknown_server_error;
        return context->reply(response);
      }
      to_controller.partitions.push_back(isr_change(topic.topic_id, partition, context->version()));
    }
  }
  ask_controller<metadata::AlterPartitionAnswer>(
      std::move(context), std::move(to_controller),
      [counts = std::move(counts)](RequestContext& back, metadata::AlterPartitionAnswer const& answer) {
        reply(back, counts, answer);
      });
}

}  // namespace millrace::broker
