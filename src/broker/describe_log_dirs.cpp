// DescribeLogDirs: the log directories of this node, the room in them, and the partitions that they hold.
#include "millrace/protocol/api/describe_log_dirs.h"

#include <set>

#include "handlers.h"
#include "millrace/runtime/partition_manager.h"

namespace millrace::broker {
namespace {

using Request = protocol::DescribeLogDirsRequest;
using Response = protocol::DescribeLogDirsResponse;

class DescribeLogDirsJob : public std::enable_shared_from_this<DescribeLogDirsJob> {
 public:
  explicit DescribeLogDirsJob(ContextPtr context) : context_(std::move(context)) {}

  void start() {
    if (!context_->decode(request_)) return;
    for (auto* directory : context_->services().partitions.directories()) directories_.push_back({directory, {}, {}});
    find_partitions();
    // A full or failing disk may take its time to answer.
    auto& env = context_->services().env;
    env.pool("").run(
        context_->thread().reactor, [self = shared_from_this(), &env] { self->read_space(env); },
        [self = shared_from_this()] { self->reply(); });
  }

 private:
  struct Partition {
    int32_t index{};
    int64_t bytes{};
  };
  struct Directory {
    storage::LogDirectory* directory{};
    std::map<std::string, std::vector<Partition>> topics;
    std::optional<env::Space> space;
  };

  void find_partitions() {
    if (!request_.topics.is_null() && request_.topics.empty()) return;
    std::set<std::pair<Str, int32_t>> asked;
    if (!request_.topics.is_null()) {
      for (auto const& topic : request_.topics) {
        for (auto const index : topic.partitions) asked.emplace(topic.topic, index);
      }
    }
    for (auto const& partition : context_->services().partitions.all()) {
      auto const status = partition->status();
      if (status == runtime::PartitionStatus::opening || status == runtime::PartitionStatus::deleted) continue;
      auto const& name = partition->identity().name;
      if (!request_.topics.is_null() && !asked.contains({name.topic, name.partition})) continue;
      auto const* directory = partition->directory_or_null();
      for (auto& one : directories_) {
        if (one.directory == directory) one.topics[name.topic].push_back({name.partition, partition->size_bytes()});
      }
    }
  }

  void read_space(env::Env& env) {
    for (auto& one : directories_) {
      if (auto space = env.disk().space(one.directory->path())) one.space = *space;
    }
  }

  void reply() {
    auto& arena = context_->arena();
    Response response;
    response.results = arena.array<Response::DescribeLogDirsResult>(directories_.size());
    for (size_t i = 0; i < directories_.size(); ++i) {
      auto& out = response.results[i];
      auto& one = directories_[i];
      out.log_dir = one.directory->path();
      if (one.directory->is_offline()) {
        out.error_code = ErrorCode::kafka_storage_error;
        continue;
      }
      if (one.space) {
        out.total_bytes = one.space->total_bytes;
        out.usable_bytes = one.space->free_bytes;
      }
      ArrayBuilder<Response::DescribeLogDirsTopic> topics(arena, one.topics.size());
      for (auto& [name, partitions] : one.topics) {
        std::ranges::sort(partitions, {}, &Partition::index);
        auto& topic = topics.add();
        topic.name = name;
        topic.partitions = arena.array<Response::DescribeLogDirsPartition>(partitions.size());
        for (size_t k = 0; k < partitions.size(); ++k) {
          topic.partitions[k].partition_index = partitions[k].index;
          topic.partitions[k].partition_size = partitions[k].bytes;
        }
      }
      out.topics = topics.finish();
    }
    context_->reply(response);
  }

  ContextPtr context_;
  Request request_;
  std::vector<Directory> directories_;
};

}  // namespace

void handle_describe_log_dirs(ContextPtr context) { std::make_shared<DescribeLogDirsJob>(std::move(context))->start(); }

}  // namespace millrace::broker
