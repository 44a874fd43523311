// OffsetDelete: forgets what a group has committed for some partitions.
#include "millrace/protocol/api/offset_delete.h"
#include "group_requests.h"
#include "handlers.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {
namespace {

using protocol::OffsetDeleteRequest;
using protocol::OffsetDeleteResponse;

}  // namespace

void handle_offset_delete(ContextPtr context) {
  OffsetDeleteRequest request;
  if (!context->decode(request)) return;
  coordinator::DeleteOffsets removal;
  removal.group_id = request.group_id;
  OffsetDeleteResponse response;
  auto& arena = context->arena();
  response.topics = arena.array<OffsetDeleteResponse::OffsetDeleteResponseTopic>(request.topics.size());
  std::vector<ErrorCode*> asked;
  for (size_t t = 0; t < request.topics.size(); ++t) {
    auto const& topic = request.topics[t];
    auto const* const known = context->image().find_topic(topic.name);
    auto& out = response.topics[t];
    out.name = topic.name;
    out.partitions = arena.array<OffsetDeleteResponse::OffsetDeleteResponsePartition>(topic.partitions.size());
    for (size_t p = 0; p < topic.partitions.size(); ++p) {
      auto const index = topic.partitions[p].partition_index;
      out.partitions[p].partition_index = index;
      if (known == nullptr || known->find_partition(index) == nullptr) {
        out.partitions[p].error_code = ErrorCode::unknown_topic_or_partition;
        continue;
      }
      asked.push_back(&out.partitions[p].error_code);
      removal.partitions.emplace_back(std::string(topic.name), index);
    }
  }
  auto const group_id = removal.group_id;
  ask_coordinator<coordinator::DeleteOffsetsAnswer>(
      std::move(context), std::move(removal), group_id,
      [response, asked = std::move(asked)](RequestContext& back,
                                           coordinator::DeleteOffsetsAnswer const& answer) mutable {
        response.error_code = answer.error;
        if (answer.error != ErrorCode::none)
          response.topics = {};
        else
          for (size_t i = 0; i < asked.size(); ++i) *asked[i] = answer.partitions[i];
        back.reply(response);
      });
}

}  // namespace millrace::broker
