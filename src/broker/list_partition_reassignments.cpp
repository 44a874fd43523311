// ListPartitionReassignments: the partitions whose replicas are being moved.
#include "millrace/protocol/api/list_partition_reassignments.h"

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

bool is_asked(Request const& request, std::string const& name, int32_t index) {
  if (request.topics.is_null()) return true;
  return std::ranges::any_of(request.topics, [&](auto const& topic) {
    return topic.name == name && std::ranges::find(topic.partition_indexes, index) != topic.partition_indexes.end();
  });
}

}  // namespace

void handle_list_partition_reassignments(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto& arena = context->arena();
  Response response;
  response.error_message = std::nullopt;
  ArrayBuilder<Response::OngoingTopicReassignment> topics(arena);
  context->image().topics.for_each([&](std::string const& name, metadata::TopicImagePtr const& topic) {
    ArrayBuilder<Response::OngoingPartitionReassignment> partitions(arena);
    topic->partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const& partition) {
      if (partition->adding_replicas.empty() && partition->removing_replicas.empty()) return;
      if (!is_asked(request, name, index)) return;
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
