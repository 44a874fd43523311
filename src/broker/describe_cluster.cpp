// DescribeCluster: brokers on a broker's listener, controllers on a controller's.
#include "cluster_view.h"
#include "handlers.h"
#include "millrace/protocol/api/describe_cluster.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

using Response = protocol::DescribeClusterResponse;

enum EndpointType : int8_t { kBrokers = 1, kControllers = 2 };

void refuse(ContextPtr context, ErrorCode code, Str message) {
  Response response;
  response.error_code = code;
  response.error_message = message;
  context->reply(response);
}

}  // namespace

void handle_describe_cluster(ContextPtr context) {
  protocol::DescribeClusterRequest request;
  if (!context->decode(request)) return;
  bool const is_controller = context->connection_state().listener_kind == ListenerKind::controller;
  auto const served = is_controller ? kControllers : kBrokers;
  if (is_controller && context->version() == 0) {
    return refuse(std::move(context), ErrorCode::invalid_request, "A controller answers from version 1 on.");
  }
  if (request.endpoint_type != kBrokers && request.endpoint_type != kControllers) {
    return refuse(std::move(context), ErrorCode::unsupported_endpoint_type, "Unsupported endpoint type.");
  }
  if (request.endpoint_type != served) {
    return refuse(std::move(context), ErrorCode::mismatched_endpoint_type,
                  is_controller ? "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
                                : "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER");
  }
  Response response;
  response.endpoint_type = served;
  response.cluster_id = context->services().config.cluster_id;
  ArrayBuilder<Response::DescribeClusterBroker> nodes(context->arena());
  if (is_controller) {
    response.controller_id = context->services().controller.active_controller().value;
    context->image().controllers.for_each([&](int32_t id, auto const& controller) {
      for (auto const& endpoint : controller->endpoints) {
        if (endpoint.listener != context->connection().listener_name) continue;
        bool const here = endpoint.host.empty() && BrokerId{id} == context->services().config.node_id;
        nodes.add({id, here ? Str(context->connection().local.ip) : Str(endpoint.host),
                   here ? context->connection().local.port : endpoint.port, std::nullopt, false});
      }
    });
  } else {
    response.controller_id = any_active_broker(*context).value;
    for (auto const& node : reachable_nodes(*context, request.include_fenced_brokers)) {
      nodes.add({node.id.value, node.host, node.port, node.rack, node.is_fenced});
    }
  }
  response.brokers = nodes.finish();
  if (request.include_cluster_authorized_operations) response.cluster_authorized_operations = kClusterOperations;
  context->reply(response);
}

}  // namespace millrace::broker
