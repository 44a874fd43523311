// What brokers ask of the controller about themselves: BrokerRegistration, BrokerHeartbeat, UnregisterBroker,
// AllocateProducerIds.
#include "ask_controller.h"
#include "handlers.h"
#include "millrace/protocol/api/allocate_producer_ids.h"
#include "millrace/protocol/api/broker_heartbeat.h"
#include "millrace/protocol/api/broker_registration.h"
#include "millrace/protocol/api/unregister_broker.h"

namespace millrace::broker {

void handle_broker_registration(ContextPtr context) {
  protocol::BrokerRegistrationRequest request;
  if (!context->decode(request)) return;
  metadata::RegisterBroker broker;
  broker.id = BrokerId{request.broker_id};
  broker.cluster_id = std::string(request.cluster_id);
  broker.incarnation_id = request.incarnation_id;
  for (auto const& l : request.listeners) {
    broker.endpoints.push_back({std::string(l.name), std::string(l.host), l.port, l.security_protocol});
  }
  for (auto const& f : request.features) {
    broker.features.push_back({std::string(f.name), f.min_supported_version, f.max_supported_version});
  }
  if (request.rack) broker.rack = std::string(*request.rack);
  broker.is_migrating_zk_broker = request.is_migrating_zk_broker;
  broker.directories.assign(request.log_dirs.begin(), request.log_dirs.end());
  broker.previous_broker_epoch = request.previous_broker_epoch;
  ask_controller<metadata::RegisterBrokerAnswer>(std::move(context), std::move(broker),
                                                 [](RequestContext& c, auto const& answer) {
                                                   protocol::BrokerRegistrationResponse response;
                                                   response.error_code = answer.error.code;
                                                   response.broker_epoch = answer.broker_epoch;
                                                   c.reply(response);
                                                 });
}

void handle_broker_heartbeat(ContextPtr context) {
  protocol::BrokerHeartbeatRequest request;
  if (!context->decode(request)) return;
  metadata::BrokerHeartbeat heartbeat;
  heartbeat.id = BrokerId{request.broker_id};
  heartbeat.epoch = request.broker_epoch;
  heartbeat.metadata_offset = request.current_metadata_offset;
  heartbeat.want_fence = request.want_fence;
  heartbeat.want_shut_down = request.want_shut_down;
  if (!request.offline_log_dirs.empty()) {
    heartbeat.offline_directories.emplace(request.offline_log_dirs.begin(), request.offline_log_dirs.end());
  }
  if (!request.cordoned_log_dirs.is_null()) {
    heartbeat.cordoned_directories.emplace(request.cordoned_log_dirs.begin(), request.cordoned_log_dirs.end());
  }
  HeartbeatsOf const sender{heartbeat.id, heartbeat.epoch, heartbeat.want_shut_down};
  ask_controller<metadata::BrokerHeartbeatAnswer>(std::move(context), std::move(heartbeat),
                                                  [sender](RequestContext& c, auto const& answer) {
                                                    if (answer.error.ok()) c.connection_state().heartbeats_of = sender;
                                                    protocol::BrokerHeartbeatResponse response;
                                                    response.error_code = answer.error.code;
                                                    response.is_caught_up = answer.is_caught_up;
                                                    response.is_fenced = answer.is_fenced;
                                                    response.should_shut_down = answer.should_shut_down;
                                                    c.reply(response);
                                                  });
}

void handle_unregister_broker(ContextPtr context) {
  protocol::UnregisterBrokerRequest request;
  if (!context->decode(request)) return;
  ask_controller<metadata::UnregisterBrokerAnswer>(std::move(context),
                                                   metadata::UnregisterBroker{BrokerId{request.broker_id}},
                                                   [](RequestContext& c, auto const& answer) {
                                                     protocol::UnregisterBrokerResponse response;
                                                     response.error_code = answer.error.code;
                                                     if (answer.error.message)
                                                       response.error_message = Str(*answer.error.message);
                                                     c.reply(response);
                                                   });
}

void handle_allocate_producer_ids(ContextPtr context) {
  protocol::AllocateProducerIdsRequest request;
  if (!context->decode(request)) return;
  ask_controller<metadata::AllocateProducerIdsAnswer>(
      std::move(context), metadata::AllocateProducerIds{BrokerId{request.broker_id}, request.broker_epoch},
      [](RequestContext& c, auto const& answer) {
        protocol::AllocateProducerIdsResponse response;
        response.error_code = answer.error.code;
        response.producer_id_start = answer.first.value;
        response.producer_id_len = answer.count;
        c.reply(response);
      });
}

}  // namespace millrace::broker
