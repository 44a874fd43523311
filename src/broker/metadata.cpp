// Metadata: brokers as the client's listener reaches them, topics by name or id, and topics made on first mention.
#include "cluster_view.h"
#include "handlers.h"
#include "millrace/broker/forwarding.h"
#include "millrace/broker/recently_fenced.h"
#include "millrace/metadata/topic_name.h"
#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/metadata.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

using Request = protocol::MetadataRequest;
using Response = protocol::MetadataResponse;
using Topic = Response::MetadataResponseTopic;

constexpr int16_t kFirstVersionWithNullForAll = 1;
constexpr int16_t kFirstVersionWithListenerNotFound = 2;
constexpr int16_t kFirstVersionWithAutoCreationFlag = 4;
constexpr int16_t kFirstVersionWithTopicIds = 12;  // 10 and 11 have the field, and may not use it
constexpr Duration kAutoCreationTimeout = 60s;
constexpr size_t kFrameSizeBytes = 4;

// The whole request is refused: each topic named in it, and nothing of the cluster.
void reply_refusal(ContextPtr context, Request const& request, ErrorCode code) {
  Response response;
  ArrayBuilder<Topic> topics(context->arena(), request.topics.size());
  for (auto const& asked : request.topics) {
    auto& topic = topics.add();
    topic.error_code = code;
    topic.name = asked.name.value_or("");
    topic.topic_id = asked.topic_id;
  }
  response.topics = topics.finish();
  response.error_code = code;
  context->reply(response);
}

class Answer {
 public:
  Answer(RequestContext& context, Request const& request)
      : context_(context), request_(request), topics_(context.arena(), request.topics.size()) {}

  void add_known(metadata::TopicImage const& topic) {
    auto& out = topics_.add();
    out.name = topic.name;
    out.topic_id = topic.id;
    out.is_internal = metadata::is_internal_topic(topic.name);
    if (request_.include_topic_authorized_operations) out.topic_authorized_operations = kTopicOperations;
    ArrayBuilder<Response::MetadataResponsePartition> partitions(context_.arena(), topic.partitions.size());
    topic.partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const& partition) {
      partitions.add(make_partition(index, *partition));
    });
    topics_.back().partitions = partitions.finish();
  }

  void add_error(std::optional<Str> name, TopicId const& id, ErrorCode code) {
    auto& out = topics_.add();
    out.error_code = code;
    out.name = name;
    out.topic_id = id;
    if (name) out.is_internal = metadata::is_internal_topic(*name);
  }

  void send() {
    Response response;
    auto nodes = reachable_nodes(context_, true);
    auto const& recently_fenced = context_.services().recently_fenced;
    auto const now = context_.thread().reactor.now();
    std::erase_if(nodes, [&](Node const& node) { return node.is_fenced && !recently_fenced.is_named(node.id, now); });
    ArrayBuilder<Response::MetadataResponseBroker> brokers(context_.arena(), nodes.size());
    for (auto const& node : nodes) brokers.add({node.id.value, node.host, node.port, node.rack});
    response.brokers = brokers.finish();
    response.cluster_id = context_.services().config.cluster_id;
    response.controller_id = any_active_broker(context_).value;
    response.topics = topics_.finish();
    if (request_.include_cluster_authorized_operations) response.cluster_authorized_operations = kClusterOperations;
    context_.reply(response);
  }

 private:
  enum class Reach { ok, not_alive, no_listener };

  Reach reach(BrokerId id) {
    for (auto const& [known, state] : reach_)
      if (known == id) return state;
    auto const* broker = context_.image().find_broker(id);
    auto state = Reach::ok;
    if (broker == nullptr || broker->is_fenced) state = Reach::not_alive;
    else if (!find_node(context_, *broker)) state = Reach::no_listener;
    reach_.emplace_back(id, state);
    return state;
  }

  Response::MetadataResponsePartition make_partition(int32_t index, metadata::PartitionImage const& partition) {
    Response::MetadataResponsePartition out;
    out.partition_index = index;
    out.leader_id = partition.leader.value;
    out.leader_epoch = partition.leader_epoch.value;
    out.replica_nodes = broker_ids(context_, partition.replicas);
    out.isr_nodes = broker_ids(context_, partition.isr);
    std::vector<BrokerId> offline;
    for (auto id : partition.replicas)
      if (reach(id) != Reach::ok) offline.push_back(id);
    out.offline_replicas = broker_ids(context_, offline);
    auto const leader = partition.leader == kNoBroker ? Reach::not_alive : reach(partition.leader);
    if (leader != Reach::ok) {
      bool const says_why = leader == Reach::no_listener && context_.version() >= kFirstVersionWithListenerNotFound;
      out.error_code = says_why ? ErrorCode::listener_not_found : ErrorCode::leader_not_available;
      out.leader_id = -1;
    }
    return out;
  }

  RequestContext& context_;
  Request const& request_;
  ArrayBuilder<Topic> topics_;
  std::vector<std::pair<BrokerId, Reach>> reach_;
};

// As the client's own request, which counts against its quota; for a controller in another process.
void forward_creation(RequestContext& context, metadata::CreateTopics const& request, Mono deadline) {
  using Wire = protocol::CreateTopicsRequest;
  Wire wire;
  wire.topics = context.arena().array<Wire::CreatableTopic>(request.topics.size());
  for (size_t i = 0; i < request.topics.size(); ++i) {
    wire.topics[i].name = request.topics[i].name;
    wire.topics[i].num_partitions = request.topics[i].partition_count;
    wire.topics[i].replication_factor = request.topics[i].replication_factor;
  }
  auto const frame = protocol::encode_request(0, context.client_id(), Wire::kValid.max, wire);
  if (!frame) return;  // too many names for one frame
  context.services().controller.forward(frame->slice(kFrameSizeBytes, frame->size() - kFrameSizeBytes),
                                        forwarded_from(context.connection(), context.user()), deadline,
                                        context.thread().reactor, [](std::optional<SharedBytes> const&) {});
}

// Asks the controller and does not wait: the client will ask again.
void auto_create(RequestContext& context, std::vector<Str> const& names) {
  auto& reactor = context.thread().reactor;
  auto& controller = context.services().controller;
  auto const deadline = reactor.now() + kAutoCreationTimeout;
  metadata::CreateTopics request;
  request.asker = {std::string(context.user()), std::string(context.client_id()), true};
  for (auto name : names) {
    if (metadata::is_internal_topic(name)) {
      controller.submit(metadata::CreateInternalTopic{std::string(name)}, deadline, reactor, [](auto) {});
      continue;
    }
    // This node's settings, whoever decides.
    auto& topic = request.topics.emplace_back();
    topic.name = std::string(name);
    topic.partition_count = context.services().config.default_partition_count;
    topic.replication_factor = context.services().config.default_replication_factor;
  }
  if (request.topics.empty()) return;
  if (!controller.is_active()) return forward_creation(context, request, deadline);
  controller.submit(std::move(request), deadline, reactor, [](auto) {});
}

}  // namespace

void handle_metadata(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto const version = context->version();
  auto const& image = context->image();
  bool const wants_all = request.topics.is_null() || (version < kFirstVersionWithNullForAll && request.topics.empty());
  Answer answer(*context, request);
  if (wants_all) {
    image.topics.for_each([&](std::string const&, metadata::TopicImagePtr const& topic) { answer.add_known(*topic); });
    return answer.send();
  }

  bool uses_ids = false;
  for (auto const& topic : request.topics) {
    bool const has_id = !topic.topic_id.is_zero();
    uses_ids |= has_id;
    if (version < kFirstVersionWithTopicIds && (has_id || !topic.name)) {
      return reply_refusal(std::move(context), request, ErrorCode::invalid_request);
    }
    if (!has_id && !topic.name) return reply_refusal(std::move(context), request, ErrorCode::unknown_server_error);
  }
  if (uses_ids) {
    // One id is enough for Kafka to look at ids alone.
    std::set<TopicId> seen;
    std::vector<metadata::TopicImage const*> known;
    for (auto const& topic : request.topics) {
      if (topic.topic_id.is_zero() || !seen.insert(topic.topic_id).second) continue;
      if (auto const* found = image.find_topic(topic.topic_id)) known.push_back(found);
      else answer.add_error(std::nullopt, topic.topic_id, ErrorCode::unknown_topic_id);
    }
    for (auto const* topic : known) answer.add_known(*topic);
    return answer.send();
  }

  bool const may_create = context->services().config.auto_create_topics &&
                          (version < kFirstVersionWithAutoCreationFlag || request.allow_auto_topic_creation);
  std::set<Str> seen;
  std::vector<Str> missing, to_create;
  for (auto const& topic : request.topics) {
    if (!seen.insert(*topic.name).second) continue;
    if (auto const* found = image.find_topic(*topic.name)) answer.add_known(*found);
    else missing.push_back(*topic.name);
  }
  for (auto name : missing) {
    bool const is_legal = !metadata::check_topic_name(name);
    answer.add_error(name, {}, is_legal ? ErrorCode::unknown_topic_or_partition : ErrorCode::invalid_topic_exception);
    if (is_legal && may_create) to_create.push_back(name);
  }
  if (!to_create.empty()) auto_create(*context, to_create);
  answer.send();
}

}  // namespace millrace::broker
