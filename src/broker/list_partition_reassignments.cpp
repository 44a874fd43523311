// ListPartitionReassignments: the partitions whose replicas are being moved.
#include "millrace/protocol/api/list_partition_reassignments.h"

#include <set>

#include "handlers.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {
namespace {

using Request = protocol::ListPartitionReassignmentsRequest;
using Response = protocol::ListPartitionReassignmentsResponse;

Array<int32_t> numbers(Arena& arena, std::vector<BrokerId> const& ids) {
  auto out = arena.array<int32_t>(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) out[i] = ids[i].value;
  return out;
}

}  // namespace

void handle_list_partition_reassignments(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto& arena = context->arena();
  Response response;
  response.error_message = std::nullopt;
  ArrayBuilder<Response::OngoingTopicReassignment> topics(arena);
  std::set<std::pair<Str, int32_t>> asked;
  if (!request.topics.is_null()) {
    for (auto const& topic : request.topics) {
      for (auto const index : topic.partition_indexes) asked.emplace(topic.name, index);
    }
  }
  context->image().topics.for_each([&](std::string const& name, metadata::TopicImagePtr const& topic) {
    ArrayBuilder<Response::OngoingPartitionReassignment> partitions(arena);
    topic->partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const& partition) {
      if (partition->adding_replicas.empty() && partition->removing_replicas.empty()) return;
      if (!request.topics.is_null() && !asked.contains({Str(name), index})) return;
      auto& out = partitions.add();
      out.partition_index = index;
      out.replicas = numbers(arena, partition->replicas);
      out.adding_replicas = numbers(arena, partition->adding_replicas);
      out.removing_replicas = numbers(arena, partition->removing_replicas);
    });
    auto made = partitions.finish();
    if (made.empty()) return;
    auto& out = topics.add();
    out.name = name;
    out.partitions = made;
  });
  response.topics = topics.finish();
  context->reply(response);
}

}  // namespace millrace::broker
