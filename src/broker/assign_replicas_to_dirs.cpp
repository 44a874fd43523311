// AssignReplicasToDirs: a broker tells the controller in which of its directories replicas lie.
#include "millrace/protocol/api/assign_replicas_to_dirs.h"

#include "ask_controller.h"
#include "handlers.h"

namespace millrace::broker {
namespace {

using Request = protocol::AssignReplicasToDirsRequest;
using Response = protocol::AssignReplicasToDirsResponse;

// The answer has the shape of the request, with an error for each partition.
void reply(RequestContext& context, Request const& request, metadata::AssignReplicasToDirectoriesAnswer const& answer) {
  auto& arena = context.arena();
  Response response;
  response.error_code = answer.error.code;
  if (!answer.error.ok()) return context.reply(response);
  auto next = answer.replicas.begin();
  ArrayBuilder<Response::DirectoryData> directories(arena, request.directories.size());
  for (auto const& directory : request.directories) {
    auto& directory_out = directories.add();
    directory_out.id = directory.id;
    ArrayBuilder<Response::TopicData> topics(arena, directory.topics.size());
    for (auto const& topic : directory.topics) {
      auto& topic_out = topics.add();
      topic_out.topic_id = topic.topic_id;
      ArrayBuilder<Response::PartitionData> partitions(arena, topic.partitions.size());
      for (auto const& partition : topic.partitions) {
        auto& out = partitions.add();
        out.partition_index = partition.partition_index;
        out.error_code = (next++)->second;
      }
      topic_out.partitions = partitions.finish();
    }
    directory_out.topics = topics.finish();
  }
  response.directories = directories.finish();
  context.reply(response);
}

}  // namespace

void handle_assign_replicas_to_dirs(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  metadata::AssignReplicasToDirectories to_controller;
  to_controller.broker = BrokerId{request.broker_id};
  to_controller.broker_epoch = request.broker_epoch;
  for (auto const& directory : request.directories) {
    for (auto const& topic : directory.topics) {
      for (auto const& partition : topic.partitions) {
        to_controller.replicas.push_back({directory.id, topic.topic_id, partition.partition_index});
      }
    }
  }
  // The request's arrays live in the context's arena.
  ask_controller<metadata::AssignReplicasToDirectoriesAnswer>(
      std::move(context), std::move(to_controller),
      [request](RequestContext& back, metadata::AssignReplicasToDirectoriesAnswer const& answer) {
        reply(back, request, answer);
      });
}

}  // namespace millrace::broker
