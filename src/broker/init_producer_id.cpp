// InitProducerId for idempotent producers: a fresh id of this node's block, at epoch 0.
#include "handlers.h"
#include "millrace/protocol/api/init_producer_id.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

constexpr Duration kBlockTimeout = 30s;

void reply_error(RequestContext& context, ErrorCode code) {
  protocol::InitProducerIdResponse response;
  response.error_code = code;
  response.producer_epoch = -1;
  context.reply(response);
}

}  // namespace

void handle_init_producer_id(ContextPtr context) {
  protocol::InitProducerIdRequest request;
  if (!context->decode(request)) return;
  if (request.transactional_id) {
    // No coordinator for transactions runs here: an error that no client takes for a reason to try again.
    return reply_error(*context, request.transactional_id->empty() ? ErrorCode::invalid_request
                                                                   : ErrorCode::unsupported_version);
  }
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + kBlockTimeout;
  controller.next_producer_id(deadline, reactor,
                              [context = std::move(context)](Result<ProducerId> id) {
                                if (!id) return reply_error(*context, ErrorCode::coordinator_load_in_progress);
                                protocol::InitProducerIdResponse response;
                                response.producer_id = id->value;
                                context->reply(response);
                              });
}

}  // namespace millrace::broker
