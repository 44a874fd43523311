// DescribeTopicPartitions: topics with their eligible leaders, a page at a time.
#include "cluster_view.h"
#include "handlers.h"
#include "millrace/metadata/topic_name.h"
#include "millrace/protocol/api/describe_topic_partitions.h"

namespace millrace::broker {
namespace {

using Request = protocol::DescribeTopicPartitionsRequest;
using Response = protocol::DescribeTopicPartitionsResponse;

constexpr int32_t kPartitionsPerPageMax = 2000;  // max.request.partition.size.limit

class Page {
 public:
  Page(RequestContext& context, int32_t room) : context_(context), topics_(context.arena()), room_(room) {}

  // False: the page is full, and `next` says where to go on.
  bool add(Str name, int32_t first_partition) {
    if (room_ <= 0) return stop(name, first_partition);
    auto const* topic = context_.image().find_topic(name);
    auto& out = topics_.add();
    out.name = name;
    out.is_internal = metadata::is_internal_topic(name);
    out.topic_authorized_operations = kTopicOperations;
    if (topic == nullptr) {
      out.error_code = metadata::check_topic_name(name) ? ErrorCode::invalid_topic_exception
                                                        : ErrorCode::unknown_topic_or_partition;
      return true;
    }
    out.topic_id = topic->id;
    ArrayBuilder<Response::DescribeTopicPartitionsResponsePartition> partitions(context_.arena());
    int32_t next = first_partition;
    for (; next < topic->partition_count() && room_ > 0; ++next, --room_) {
      auto const* partition = topic->find_partition(next);
      if (partition != nullptr) partitions.add(make(next, *partition));
    }
    topics_.back().partitions = partitions.finish();
    return next >= topic->partition_count() || stop(name, next);
  }

  void send() {
    Response response;
    response.topics = topics_.finish();
    response.next_cursor = next_;
    context_.reply(response);
  }

 private:
  bool stop(Str name, int32_t partition) {
    next_ = Response::Cursor{name, partition};
    return false;
  }

  Response::DescribeTopicPartitionsResponsePartition make(int32_t index, metadata::PartitionImage const& partition) {
    Response::DescribeTopicPartitionsResponsePartition out;
    out.partition_index = index;
    auto const* leader = context_.image().find_broker(partition.leader);
    bool const is_led = leader != nullptr && !leader->is_fenced;
    out.error_code = is_led ? ErrorCode::none : ErrorCode::leader_not_available;
    out.leader_id = is_led ? partition.leader.value : -1;
    out.leader_epoch = partition.leader_epoch.value;
    out.replica_nodes = broker_ids(context_, partition.replicas);
    out.isr_nodes = broker_ids(context_, partition.isr);
    out.eligible_leader_replicas = broker_ids(context_, partition.elr);
    out.last_known_elr = broker_ids(context_, partition.last_known_elr);
    std::vector<BrokerId> offline;
    for (auto id : partition.replicas) {
      auto const* broker = context_.image().find_broker(id);
      if (broker == nullptr || broker->is_fenced) offline.push_back(id);
    }
    out.offline_replicas = broker_ids(context_, offline);
    return out;
  }

  RequestContext& context_;
  ArrayBuilder<Response::DescribeTopicPartitionsResponseTopic> topics_;
  std::optional<Response::Cursor> next_;
  int32_t room_;
};

// The cursor is none that an answer gave for these topics.
void refuse(RequestContext& context, Request const& request) {
  Response response;
  ArrayBuilder<Response::DescribeTopicPartitionsResponseTopic> topics(context.arena(), request.topics.size());
  for (auto const& topic : request.topics) {
    auto& out = topics.add();
    out.name = topic.name;
    out.error_code = ErrorCode::invalid_request;
  }
  response.topics = topics.finish();
  context.reply(response);
}

}  // namespace

void handle_describe_topic_partitions(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  Str const from = request.cursor ? request.cursor->topic_name : Str();
  int32_t const from_partition = request.cursor ? request.cursor->partition_index : 0;
  std::set<Str> names;
  bool is_refused = from_partition < 0;
  if (request.topics.empty()) {
    context->image().topics.for_each_from(from, [&](std::string const& name, auto const&) {
      names.insert(name);
      return names.size() <= kPartitionsPerPageMax;  // each topic has a partition, so no page has more of them
    });
  } else {
    for (auto const& topic : request.topics)
      if (topic.name >= from) names.insert(topic.name);
    is_refused |= request.cursor && !names.contains(from);
  }
  if (is_refused) return refuse(*context, request);
  Page page(*context, std::clamp(request.response_partition_limit, 1, kPartitionsPerPageMax));
  for (auto name : names) {
    if (!page.add(name, name == from ? from_partition : 0)) break;
  }
  page.send();
}

}  // namespace millrace::broker
