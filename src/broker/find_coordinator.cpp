// FindCoordinator, before there are coordinators: a clear refusal that no client takes for a reason to try again.
#include "handlers.h"
#include "millrace/protocol/api/find_coordinator.h"

namespace millrace::broker {
namespace {

constexpr Str kRefusal = "This node coordinates no groups or transactions.";
constexpr int16_t kFirstVersionWithKeys = 4;

}  // namespace

void handle_find_coordinator(ContextPtr context) {
  protocol::FindCoordinatorRequest request;
  if (!context->decode(request)) return;
  protocol::FindCoordinatorResponse response;
  if (context->version() < kFirstVersionWithKeys) {
    response.node_id = kNoBroker.value;
    response.port = -1;
    response.error_code = ErrorCode::invalid_request;
    response.error_message = kRefusal;
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
