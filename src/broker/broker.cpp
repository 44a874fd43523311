#include "millrace/broker/broker.h"

#include <atomic>

#include "millrace/broker/fetch_sessions.h"
#include "millrace/broker/forwarding.h"
#include "millrace/runtime/controller_client.h"
#include "millrace/runtime/driver.h"
#include "millrace/runtime/group_coordinators.h"

namespace millrace::broker {

namespace {

constexpr Duration kForwardTimeout = 30s;  // as long as clients wait by default

// How long the controller wants the client to wait: what an answer begins with, in most versions of most APIs.
Duration throttle_in(protocol::ApiInfo const& info, int16_t version, ByteView answer) {
  auto const& steps = info.response().root().plan(version).steps;
  if (steps.empty() || steps.front().field->name != "ThrottleTimeMs") return Duration::zero();
  Reader in(answer);
  Arena arena;
  protocol::ResponseHeader header;
  if (!protocol::decode(in, info.response_header_version(version), arena, header)) return Duration::zero();
  auto const throttle = in.i32();
  return in.ok() ? from_ms(std::max(throttle, 0)) : Duration::zero();
}

}  // namespace

Broker::Broker(env::Env& env, NodeConfig config, runtime::RunLists& run_lists, runtime::PartitionManager& partitions,
               runtime::ControllerClient& controller, ImagePtr first_image)
    : config_(std::move(config)),
      fetch_sessions_(std::make_unique<FetchSessions>(static_cast<size_t>(config_.fetch_session_count_max), env.random("fetch sessions"))),
      quotas_(config_.quota_windows),
      groups_(std::make_unique<runtime::GroupCoordinators>(
          env, run_lists, partitions, config_.node_id,
          runtime::CoordinatorOptions{config_.groups, config_.offsets_commit_timeout})),
      services_{env,        config_,          RoutingTable::product(), run_lists, partitions,
                controller, *fetch_sessions_, *groups_, quotas_,          recently_fenced_} {
  for (size_t i = 0; i <= env.reactor_count(); ++i) {
    auto& reactor = i < env.reactor_count() ? env.reactor(i) : env.control_reactor();
    threads_.push_back(std::make_unique<ThreadState>(reactor, run_lists.of(reactor), first_image));
  }
}

Broker::~Broker() = default;

void Broker::on_publication(metadata::Publication const& publication) {
  recently_fenced_.on_publication(publication, services_.env.control_reactor().now());
  groups_->on_publication(publication);
}

void Broker::stop_groups() { groups_->resign_all(); }

ThreadState& Broker::thread_of(env::Reactor& reactor) {
  for (auto& thread : threads_) {
    if (&thread->reactor == &reactor) return *thread;
  }
  MR_ASSERT(false && "a reactor of another node");
  return *threads_.front();
}

void Broker::on_request(net::Request request, std::unique_ptr<net::Answer> answer) {
  auto& connection = *request.connection;
  if (connection.handler_state == nullptr) {
    auto fresh = std::make_shared<ConnectionState>();
    fresh->thread = &thread_of(*connection.reactor);
    for (auto const& listener : config_.listeners) {
      if (listener.name == connection.listener_name) fresh->listener_kind = listener.kind;
    }
    connection.handler_state = std::move(fresh);
  }
  auto& state = *static_cast<ConnectionState*>(connection.handler_state.get());

  auto const prefix = protocol::peek_request(request.frame.view());
  if (!prefix.ok()) return answer->close(prefix.error().message);
  auto const* route = services_.routes.find(prefix->api_key, state.listener_kind);
  if (route == nullptr) {
    return answer->close(fmt::format("API {} is not served on listener {}", prefix->api_key, connection.listener_name));
  }
  state.thread->requests.of(route->key).came.add(1);
  // ApiVersions looks at its version itself: a client with a newer one must get an answer.
  auto const& info = protocol::api_info(route->key);
  if (!info.valid.contains(prefix->api_version) && route->key != ApiKey::api_versions) {
    return answer->close(fmt::format("{} v{} is not served", info.name, prefix->api_version));
  }
  auto context = std::make_unique<RequestContext>(services_, *state.thread, std::move(request.connection),
                                                  std::move(request.frame), request.arrived, std::move(answer));
  if (!context->read_header()) return context->close("the request header cannot be read");
  if (info.is_forwardable && state.listener_kind == ListenerKind::broker && !services_.controller.is_active()) {
    return forward(*route, std::move(context));
  }
  route->handle(std::move(context));
}

// The controller is elsewhere: it gets the frame as it came, and so does the client its answer. When nobody answers in
// time the handler finds that out in its own words.
void Broker::forward(Route const& route, ContextPtr context) {
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + kForwardTimeout;
  auto frame = context->frame();
  auto from = forwarded_from(context->connection(), context->user());
  services_.controller.forward(std::move(frame), std::move(from), deadline, reactor,
                               [&route, context = std::move(context)](std::optional<SharedBytes> answer) mutable {
                                 if (!answer) return route.handle(std::move(context));
                                 auto const& info = protocol::api_info(route.key);
                                 auto const throttle = throttle_in(info, context->version(), answer->view());
                                 context->reply_encoded(*std::move(answer), throttle);
                               });
}

RequestFigures Broker::request_figures() const {
  RequestFigures out;
  for (auto const& route : services_.routes.routes()) {
    ApiFigures figures{.name = protocol::api_info(route.key).name};
    for (auto const& thread : threads_) figures.add(thread->requests.of(route.key));
    out.apis.push_back(figures);
  }
  for (size_t i = 0; i < RequestCounters::kErrorCount; ++i) {
    int64_t total = 0;
    for (auto const& thread : threads_) total += thread->requests.errors[i].value();
    if (total > 0) out.errors.emplace_back(error_name(RequestCounters::error_at(i)), total);
  }
  for (auto const& thread : threads_) out.parked_fetches += thread->requests.parked_fetches.value();
  out.fetch_sessions = static_cast<int64_t>(fetch_sessions_->session_count());
  out.fetch_session_partitions = static_cast<int64_t>(fetch_sessions_->partition_count());
  return out;
}

void Broker::on_connection_closed(net::ConnectionInfo const& connection) {
  auto const state = std::static_pointer_cast<ConnectionState>(connection.handler_state);
  if (state == nullptr) return;
  auto const held = state->thread->held.extract(state.get());
  if (state->on_closed) std::move(state->on_closed)();
  if (state->follower_session != kNoSession) fetch_sessions_->remove(state->follower_session);
  if (auto const& of = state->heartbeats_of) {
    services_.controller.heartbeat_connection_ended({of->broker, of->epoch, of->in_controlled_shutdown});
  }
}

int64_t Broker::request_bytes_max(net::ConnectionInfo const&) const { return config_.request_bytes_max; }

bool Broker::may_overlap(ByteView frame_start) const {
  auto const prefix = protocol::peek_request(frame_start);
  return prefix.ok() && prefix->api_key == static_cast<int16_t>(ApiKey::produce);
}

void Broker::publish(ImagePtr image, env::Reactor& back, Task done) {
  struct Countdown {
    std::atomic<size_t> left;
    env::Reactor& back;
    Task done;
  };
  auto countdown = std::make_shared<Countdown>(threads_.size(), back, std::move(done));
  for (auto& thread : threads_) {
    thread->reactor.post([countdown, image, state = thread.get()] {
      state->image = image;
      if (countdown->left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      countdown->back.post(std::move(countdown->done));
    });
  }
}

}  // namespace millrace::broker
