// OffsetCommit: partitions that do not exist are refused here, the group and its log decide about the others.
#include "millrace/protocol/api/offset_commit.h"
#include "group_requests.h"
#include "handlers.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {
namespace {

using protocol::OffsetCommitRequest;
using protocol::OffsetCommitResponse;

constexpr int16_t kFirstVersionWithTopicId = 10;
constexpr int16_t kFirstVersionWithGroupIdNotFound = 9;

}  // namespace

void handle_offset_commit(ContextPtr context) {
  OffsetCommitRequest request;
  if (!context->decode(request)) return;
  bool const is_by_id = context->version() >= kFirstVersionWithTopicId;
  coordinator::CommitOffsets commit;
  commit.group_id = request.group_id;
  commit.generation = request.generation_id_or_member_epoch;
  commit.member_id = request.member_id;
  commit.instance_id = owned(request.group_instance_id);
  commit.retention_ms = request.retention_time_ms;
  commit.knows_group_id_not_found = context->version() >= kFirstVersionWithGroupIdNotFound;
  OffsetCommitResponse response;
  auto& arena = context->arena();
  response.topics = arena.array<OffsetCommitResponse::OffsetCommitResponseTopic>(request.topics.size());
  std::vector<ErrorCode*> asked;  // where the coordinator's answers go
  for (size_t t = 0; t < request.topics.size(); ++t) {
    auto const& topic = request.topics[t];
    auto const& image = context->image();
    auto const* const known = is_by_id ? image.find_topic(topic.topic_id) : image.find_topic(topic.name);
    auto& out = response.topics[t];
    out.name = topic.name;
    out.topic_id = topic.topic_id;
    out.partitions = arena.array<OffsetCommitResponse::OffsetCommitResponsePartition>(topic.partitions.size());
    for (size_t p = 0; p < topic.partitions.size(); ++p) {
      auto const& partition = topic.partitions[p];
      out.partitions[p].partition_index = partition.partition_index;
      if (known == nullptr) {
        out.partitions[p].error_code = is_by_id ? ErrorCode::unknown_topic_id : ErrorCode::unknown_topic_or_partition;
      } else if (known->find_partition(partition.partition_index) == nullptr) {
        out.partitions[p].error_code = ErrorCode::unknown_topic_or_partition;
      } else {
        asked.push_back(&out.partitions[p].error_code);
        commit.partitions.push_back({known->name, known->id, partition.partition_index, partition.committed_offset,
                                     partition.committed_leader_epoch,
                                     std::string(partition.committed_metadata.value_or(""))});
      }
    }
  }
  if (asked.empty()) return context->reply(response);
  auto const group_id = commit.group_id;
  ask_coordinator<coordinator::CommitAnswer>(
      std::move(context), std::move(commit), group_id,
      [response, asked = std::move(asked)](RequestContext& back, coordinator::CommitAnswer const& answer) {
        for (size_t i = 0; i < asked.size(); ++i) *asked[i] = answer.partitions[i];
        back.reply(response);
      });
}

}  // namespace millrace::broker
