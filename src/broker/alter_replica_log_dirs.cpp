// AlterReplicaLogDirs: a partition that is where it is wanted stays; moving one between directories is not served.
#include "millrace/protocol/api/alter_replica_log_dirs.h"

#include "handlers.h"
#include "millrace/metadata/image.h"
#include "millrace/runtime/partition_manager.h"

namespace millrace::broker {
namespace {

using Request = protocol::AlterReplicaLogDirsRequest;
using Response = protocol::AlterReplicaLogDirsResponse;

ErrorCode answer_of(RequestContext& context, storage::LogDirectory const* wanted, Str topic, int32_t index) {
  if (wanted == nullptr) return ErrorCode::log_dir_not_found;
  if (wanted->is_offline()) return ErrorCode::kafka_storage_error;
  auto const* image = context.image().find_topic(topic);
  auto const partition = image == nullptr ? nullptr : context.services().partitions.find({image->id, index});
  if (partition == nullptr || partition->status() == runtime::PartitionStatus::opening)
    return ErrorCode::replica_not_available;
  return partition->directory_or_null() == wanted ? ErrorCode::none : ErrorCode::unsupported_version;
}

}  // namespace

void handle_alter_replica_log_dirs(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  std::map<Str, std::vector<Response::AlterReplicaLogDirPartitionResult>> topics;
  for (auto const& dir : request.dirs) {
    auto const& directories = context->services().partitions.directories();
    auto const found = std::ranges::find(directories, dir.path, [](auto const* d) { return Str(d->path()); });
    auto const* wanted = found == directories.end() ? nullptr : *found;
    for (auto const& topic : dir.topics) {
      for (auto const index : topic.partitions) {
        topics[topic.name].push_back({index, answer_of(*context, wanted, topic.name, index)});
      }
    }
  }
  auto& arena = context->arena();
  Response response;
  ArrayBuilder<Response::AlterReplicaLogDirTopicResult> results(arena, topics.size());
  for (auto& [name, partitions] : topics) {
    auto& out = results.add();
    out.topic_name = name;
    out.partitions = Array(partitions);
  }
  response.results = results.finish();
  context->reply(response);
}

}  // namespace millrace::broker
