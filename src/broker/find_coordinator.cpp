// FindCoordinator, before there are coordinators: a clear refusal that no client takes for a reason to try again. The
// topic that the coordinator keeps its state in is made all the same, as a 4.4 broker makes it at this request.
#include "handlers.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/find_coordinator.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

constexpr Str kRefusal = "This node coordinates no groups or transactions.";
constexpr int16_t kFirstVersionWithKeys = 4;
constexpr Duration kCreationTimeout = 30s;
// By key type: group, transaction, share group.
constexpr std::array<std::string_view, 3> kTopics{"__consumer_offsets", "__transaction_state", "__share_group_state"};

void make_topic(RequestContext& context, int8_t key_type) {
  if (key_type < 0 || static_cast<size_t>(key_type) >= kTopics.size()) return;
  auto const name = kTopics[static_cast<size_t>(key_type)];
  if (context.image().find_topic(name) != nullptr) return;
  auto& reactor = context.thread().reactor;
  context.services().controller.submit(metadata::CreateInternalTopic{std::string(name)}, reactor.now() + kCreationTimeout,
                                       reactor, [](auto) {});
}

}  // namespace

void handle_find_coordinator(ContextPtr context) {
  protocol::FindCoordinatorRequest request;
  if (!context->decode(request)) return;
  make_topic(*context, request.key_type);
  protocol::FindCoordinatorResponse response;
  if (context->version() < kFirstVersionWithKeys) {
    response.node_id = kNoBroker.value;
    response.port = -1;
    response.error_code = ErrorCode::invalid_request;
    if (context->version() > 0) response.error_message = kRefusal;
    response.node_id = kNoBroker.value;
    response.port = -1;
  } else {
    auto& keys = request.coordinator_keys;
    response.coordinators = context->arena().array<protocol::FindCoordinatorResponse::Coordinator>(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      response.coordinators[i] = {keys[i], kNoBroker.value, "", -1, ErrorCode::invalid_request, kRefusal};
    }
  }
  context->reply(response);
}

}  // namespace millrace::broker
