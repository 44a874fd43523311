// FindCoordinator: the leader of the partition of an internal topic that a group, a transactional id or a share group's
// partition belongs to. The topic is made at the first request, as a 4.4 broker makes it.
#include "millrace/protocol/api/find_coordinator.h"
#include "cluster_view.h"
#include "handlers.h"
#include "millrace/bytes/hash.h"
#include "millrace/metadata/image.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

using Coordinator = protocol::FindCoordinatorResponse::Coordinator;

constexpr Str kNoError = "NONE";
constexpr Str kInvalidType = "The key type is unknown, or the version of the request does not have it.";
constexpr Str kInvalidShareKey = "The key of a share group's partition is GROUP:TOPIC-ID:PARTITION.";
constexpr Str kUnavailable = "The coordinator is not available.";
constexpr int16_t kFirstVersionWithKeys = 4;
constexpr int16_t kFirstVersionWithShareKeys = 6;
constexpr int8_t kShareKeyType = 2;
constexpr Duration kCreationTimeout = 30s;
// By key type: group, transaction, share group.
constexpr std::array<std::string_view, 3> kTopics{"__consumer_offsets", "__transaction_state", "__share_group_state"};

bool is_share_key(Str key) {
  auto const partition = key.rfind(':');
  if (partition == Str::npos || partition == 0) return false;
  auto const topic = key.rfind(':', partition - 1);
  if (topic == Str::npos || topic == 0) return false;
  auto const digits = key.substr(partition + 1);
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !digits.empty() && digits.size() < 10 && std::all_of(digits.begin(), digits.end(), is_digit) &&
         Uuid::parse(key.substr(topic + 1, partition - topic - 1)).ok();
}

void make_topic(RequestContext& context, std::string_view name) {
  if (context.image().find_topic(name) != nullptr) return;
  auto& reactor = context.thread().reactor;
  context.services().controller.submit(metadata::CreateInternalTopic{std::string(name)},
                                       reactor.now() + kCreationTimeout, reactor, [](auto) {});
}

Coordinator find(RequestContext& context, int8_t key_type, Str key) {
  Coordinator out{key, kNoBroker.value, "", -1, ErrorCode::invalid_request, kInvalidType};
  if (key_type < 0 || static_cast<size_t>(key_type) >= kTopics.size()) return out;
  if (key_type == kShareKeyType) {
    if (context.version() < kFirstVersionWithShareKeys) return out;
    out.error_message = kInvalidShareKey;
    if (!is_share_key(key)) return out;
  }
  out.error_code = ErrorCode::coordinator_not_available;
  out.error_message = kUnavailable;
  auto const name = kTopics[static_cast<size_t>(key_type)];
  make_topic(context, name);
  auto const* const topic = context.image().find_topic(name);
  if (topic == nullptr) return out;
  int32_t count = 0;
  topic->partitions.for_each([&](int32_t, auto const&) { ++count; });
  auto const* const partition = topic->find_partition(coordinator_partition(key, count));
  auto const* const leader = partition == nullptr ? nullptr : context.image().find_broker(partition->leader);
  if (leader == nullptr || leader->is_fenced) return out;
  auto const node = find_node(context, *leader);
  if (!node) return out;
  return {key, node->id.value, node->host, node->port, ErrorCode::none, kNoError};
}

}  // namespace

void handle_find_coordinator(ContextPtr context) {
  protocol::FindCoordinatorRequest request;
  if (!context->decode(request)) return;
  protocol::FindCoordinatorResponse response;
  if (context->version() < kFirstVersionWithKeys) {
    auto const found = find(*context, request.key_type, request.key);
    response.node_id = found.node_id;
    response.host = found.host;
    response.port = found.port;
    response.error_code = found.error_code;
    if (context->version() > 0) response.error_message = found.error_message;
  } else {
    auto& keys = request.coordinator_keys;
    response.coordinators = context->arena().array<Coordinator>(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) response.coordinators[i] = find(*context, request.key_type, keys[i]);
  }
  context->reply(response);
}

}  // namespace millrace::broker
