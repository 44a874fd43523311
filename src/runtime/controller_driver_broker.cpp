// This node's own part in the cluster: its registrations, its questions to whoever is the active controller, and its
// block of producer ids.
#include "controller_wire.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/internal_topics.h"
#include "millrace/runtime/controller_driver.h"

namespace millrace::runtime {
namespace {

constexpr size_t kIdWaitersMax = 4096;

metadata::ApiError timed_out() { return {ErrorCode::request_timed_out, std::nullopt}; }

template <class T>
void post_back(env::Reactor& home, env::Reactor& back, Callback<void(T)> done, T value) {
  if (&home == &back) return std::move(done)(std::move(value));
  back.post([done = std::move(done), value = std::move(value)]() mutable { std::move(done)(std::move(value)); });
}

}  // namespace

// ---- where questions go

std::optional<RaftAddress> ControllerDriver::active_address() const {
  if (!is_started_ || is_closed_) return std::nullopt;
  auto const leader = raft_.machine().leader();
  if (leading_) return RaftAddress{options_.controller.node_id, "", 0};
  if (leader == kNoBroker || leader == options_.controller.node_id) return std::nullopt;
  return raft_.address_of(leader);
}

bool ControllerDriver::admit(Callback<void(metadata::ControllerAnswer)>& done, metadata::ControllerRequest const& request,
                             env::Reactor& back) {
  if (outstanding_.fetch_add(1, std::memory_order_relaxed) < kRequestsMax) {
    done = [this, done = std::move(done)](metadata::ControllerAnswer answer) mutable {
      outstanding_.fetch_sub(1, std::memory_order_relaxed);
      std::move(done)(std::move(answer));
    };
    return true;
  }
  outstanding_.fetch_sub(1, std::memory_order_relaxed);
  back.post([answer = metadata::error_answer(request, timed_out()), done = std::move(done)]() mutable {
    std::move(done)(std::move(answer));
  });
  return false;
}

void ControllerDriver::submit_here(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                                   Callback<void(metadata::ControllerAnswer)> done) {
  if (!admit(done, request, back)) return;
  reactor_.post([this, request = std::move(request), deadline, &back, done = std::move(done)]() mutable {
    look_for_pause();
    on_request(std::move(request), deadline, back, std::move(done));
  });
}

void ControllerDriver::submit(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                              Callback<void(metadata::ControllerAnswer)> done) {
  if (!admit(done, request, back)) return;
  reactor_.post([this, request = std::move(request), deadline, &back, done = std::move(done)]() mutable {
    ask(std::move(request), deadline, back, std::move(done));
  });
}

void ControllerDriver::ask(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                           Callback<void(metadata::ControllerAnswer)> done) {
  if (leading_ || is_alone_ || is_closed_) return on_request(std::move(request), deadline, back, std::move(done));
  ask_elsewhere(std::move(request), deadline, back, std::move(done));
}

void ControllerDriver::ask_elsewhere(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                                     Callback<void(metadata::ControllerAnswer)> done) {
  if (auto const* internal = std::get_if<metadata::CreateInternalTopic>(&request)) {
    auto topic = metadata::internal_topic(*publisher_.published(), options_.controller.statics, internal->name);
    if (!topic) return on_request(std::move(request), deadline, back, std::move(done));  // refused there
    metadata::CreateTopics creation;
    creation.topics.push_back(*std::move(topic));
    return ask_elsewhere(std::move(creation), deadline, back, [done = std::move(done)](metadata::ControllerAnswer any) mutable {
      auto& answer = std::get<metadata::CreateTopicsAnswer>(any);
      metadata::CreateInternalTopicAnswer out{answer.topics.empty() ? answer.error : answer.topics.front().error};
      if (out.error.code == ErrorCode::topic_already_exists) out.error = {};  // somebody else was first
      std::move(done)(std::move(out));
    });
  }
  if (!can_cross_processes(request)) return on_request(std::move(request), deadline, back, std::move(done));
  auto const line = line_of(request);
  auto on_answer = [this, &back, done = std::move(done)](metadata::ControllerAnswer answer) mutable {
    post_back(reactor_, back, std::move(done), std::move(answer));
  };
  channel_.send(line, make_controller_call(std::move(request), deadline, std::move(on_answer),
                                           [this](metadata::ControllerRequest again, Mono until,
                                                  Callback<void(metadata::ControllerAnswer)> then) {
                                             on_request(std::move(again), until, reactor_, std::move(then));
                                           }));
}

void ControllerDriver::forward(SharedBytes frame, ForwardedFrom from, Mono deadline, env::Reactor& back,
                               Callback<void(std::optional<SharedBytes>)> done) {
  reactor_.post([this, frame = std::move(frame), from = std::move(from), deadline, &back, done = std::move(done)]() mutable {
    // Not long: who leads without a majority resigns.
    if (leading_ && !is_active_ && !is_closed_ && until_active_.size() < kRequestsMax) {
      until_active_.emplace_back([this, frame = std::move(frame), from = std::move(from), deadline, &back, done = std::move(done)]() mutable {
        forward(std::move(frame), std::move(from), deadline, back, std::move(done));
      });
      return;
    }
    auto on_answer = [this, &back, done = std::move(done)](std::optional<SharedBytes> answer) mutable {
      post_back(reactor_, back, std::move(done), std::move(answer));
    };
    if (leading_ || is_alone_ || is_closed_) return on_answer(std::nullopt);
    channel_.send(ControllerChannel::Line::forwarded,
                  make_forward_call(std::move(frame), std::move(from), deadline, std::move(on_answer)));
  });
}

// ---- this node as a controller

void ControllerDriver::register_controller() {
  metadata::RegisterController request;
  auto& controller = request.controller;
  controller.id = options_.controller.node_id.value;
  controller.incarnation_id = local_broker_.incarnation_id;
  controller.endpoints = options_.controller_endpoints;
  controller.features = metadata::supported_features();
  is_registering_ = true;
  ask(std::move(request), reactor_.now() + options_.broker_start_deadline, reactor_,
      [this](metadata::ControllerAnswer const&) { is_registering_ = false; });  // the next publication looks again
}

// Whoever leads has its own registered with its first records.
void ControllerDriver::maybe_register_controller(metadata::Image const& image) {
  if (is_alone_ || !options_.is_controller || is_registering_ || is_closed_ || image.metadata_version() == 0) return;
  auto const* known = image.controllers.find(options_.controller.node_id.value);
  if (known != nullptr && (*known)->incarnation_id == local_broker_.incarnation_id) return;
  register_controller();
}

// ---- this node as a broker

void ControllerDriver::start_broker() {
  auto const deadline = reactor_.now() + options_.broker_start_deadline;
  auto broker = BrokerPresence(env_, *this, options_.controller.node_id, options_.controller.cluster_id, local_broker_,
                               options_.broker, {})
                    .registration();
  auto const* before = tip_.image().find_broker(broker.id);
  if (before != nullptr) {
    // A start whose registration was lost with the end of the log may have left its epoch in a mark.
    broker.previous_broker_epoch = std::min(local_broker_.previous_epoch.value_or(before->epoch), before->epoch);
  }
  auto const now = reactor_.now();
  {
    auto decision = controller_.decide(tip_.image(), metadata::ControllerRequest(std::move(broker)), now);
    auto const& answer = std::get<metadata::RegisterBrokerAnswer>(decision.answer);
    if (!answer.error.ok()) {
      return fail_start({ErrorKind::invalid, fmt::format("register this node as broker {}: {}", options_.controller.node_id,
                                                         answer.error.message.value_or("refused"))});
    }
    broker_epoch_ = answer.broker_epoch;
    if (!append_in_batches(decision.records)) return;
  }
  // The log is replayed and the partitions open on their own: nothing is gained by staying fenced.
  metadata::BrokerHeartbeat heartbeat;
  heartbeat.id = options_.controller.node_id;
  heartbeat.epoch = broker_epoch_;
  heartbeat.metadata_offset = tip_.image().offset.value;
  on_request(std::move(heartbeat), deadline, reactor_, [this](metadata::ControllerAnswer const& answer) {
    auto const& error = metadata::error_of(answer);
    if (!error.ok()) return fail_start({ErrorKind::invalid, "start as a broker: the controller did not answer in time"});
    if (ready_) std::move(ready_)(broker_epoch_);
    if (!offline_directories_.empty()) set_offline_directories(std::exchange(offline_directories_, {}));
  });
}

void ControllerDriver::start_presence() {
  auto config = options_.broker;
  config.session_timeout = options_.controller.broker_session;
  config.previous_epoch = local_broker_.previous_epoch;
  BrokerPresenceEvents events;
  events.on_registered = [this](int64_t epoch) { broker_epoch_ = epoch; };
  events.on_unfenced = [this] {
    if (ready_) std::move(ready_)(broker_epoch_);
  };
  events.on_alive = [this](Mono asked_at) { feed_pauses(pauses::event::HeartbeatAnswered{asked_at}); };
  events.on_failed = [this](Error const& error) { fail_start(error); };
  presence_ = std::make_unique<BrokerPresence>(env_, *this, options_.controller.node_id, options_.controller.cluster_id,
                                               local_broker_, config, std::move(events));
  presence_->start();
  if (reachable_) std::move(reachable_)();
}

// ---- a process that did not run

void ControllerDriver::arm_pause_watch() {
  reactor_.call_at(reactor_.now() + pauses_.interval(), [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || is_closed_) return;
    feed_pauses(pauses::event::Tick{});
    arm_pause_watch();
  });
}

// Before what others ask is answered: by the clock of the last tick, this node may lead no more.
void ControllerDriver::look_for_pause() {
  if (!is_closed_ && reactor_.now() >= pauses_.runs_until()) feed_pauses(pauses::event::Tick{});
}

void ControllerDriver::feed_pauses(pauses::Event const& event) {
  pauses::Effects effects;
  pauses_.on_event(event, reactor_.now(), effects);
  standing_.set(pauses_.sure_until());
  for (auto const& effect : effects) {
    if (auto const* noticed = std::get_if<pauses::effect::Noticed>(&effect)) {
      MR_PROBE(env_.hooks(), "controller.pause_noticed");
      env_.log().warn("node",
                      "this process did not run for {} ms: until the controller answers, others may lead what it led",
                      to_ms(noticed->silence));
      raft_.resign_at_once();
      if (presence_) presence_->ask_soon();
    } else {
      auto const& ended = std::get<pauses::effect::Ended>(effect);
      if (ended.has_heard) env_.log().info("node", "knows again what it leads, after {} ms", to_ms(ended.doubt));
      else env_.log().warn("node", "has heard of no controller for {} ms, and goes on with what it led", to_ms(ended.doubt));
    }
  }
}

void ControllerDriver::set_offline_directories(std::vector<DirectoryId> directories) {
  if (presence_) return presence_->set_offline_directories(std::move(directories));
  if (ready_ || !leading_) {  // it has not begun yet
    offline_directories_ = std::move(directories);
    return;
  }
  metadata::BrokerHeartbeat heartbeat;
  heartbeat.id = options_.controller.node_id;
  heartbeat.epoch = broker_epoch_;
  heartbeat.metadata_offset = tip_.image().offset.value;
  heartbeat.offline_directories = std::move(directories);
  on_request(std::move(heartbeat), reactor_.now() + options_.broker_start_deadline, reactor_,
             [](metadata::ControllerAnswer const&) {});
}

// ---- stop

void ControllerDriver::stop_broker(Task done) {
  reactor_.post([this, done = std::move(done)]() mutable {
    stopped_ = std::move(done);
    if (!options_.is_broker) return raft_.resign(std::move(stopped_));
    if (!presence_) return stop_step();
    presence_->shut_down([this] { raft_.resign(std::move(stopped_)); });
  });
}

void ControllerDriver::stop_step() {
  metadata::BrokerHeartbeat heartbeat;
  heartbeat.id = options_.controller.node_id;
  heartbeat.epoch = broker_epoch_;
  heartbeat.metadata_offset = tip_.image().offset.value;
  heartbeat.want_shut_down = true;
  on_request(std::move(heartbeat), reactor_.now() + options_.broker_start_deadline, reactor_,
             [this](metadata::ControllerAnswer const& any) {
               auto const& answer = std::get<metadata::BrokerHeartbeatAnswer>(any);
               if (answer.error.ok() && !answer.should_shut_down) return stop_step();
               raft_.resign(std::move(stopped_));
             });
}

// ---- producer ids

void ControllerDriver::next_producer_id(Mono, env::Reactor& back, Callback<void(Result<ProducerId>)> done) {
  Result<ProducerId> now = Error{ErrorKind::limit, "too many wait for producer ids"};
  {
    std::lock_guard lock(mutex_);
    if (next_id_ >= ids_end_ && id_waiters_.size() < kIdWaitersMax) {
      id_waiters_.push_back({&back, std::move(done)});
      if (!std::exchange(is_refilling_ids_, true)) reactor_.post([this] { refill_producer_ids(); });
      return;
    }
    if (next_id_ < ids_end_) {
      now = next_id_;
      next_id_ += 1;
    }
  }
  if (back.is_current()) return std::move(done)(std::move(now));
  back.post([now = std::move(now), done = std::move(done)]() mutable { std::move(done)(std::move(now)); });
}

void ControllerDriver::refill_producer_ids() {
  ask(metadata::AllocateProducerIds{options_.controller.node_id, broker_epoch_},
      reactor_.now() + options_.broker_start_deadline, reactor_, [this](metadata::ControllerAnswer const& any) {
               auto const& answer = std::get<metadata::AllocateProducerIdsAnswer>(any);
               std::deque<IdWaiter> served;
               std::vector<Result<ProducerId>> ids;
               bool again = false;
               {
                 std::lock_guard lock(mutex_);
                 if (answer.error.ok()) {
                   next_id_ = answer.first;
                   ids_end_ = answer.first + answer.count;
                 }
                 while (!id_waiters_.empty() && (next_id_ < ids_end_ || !answer.error.ok())) {
                   if (answer.error.ok()) {
                     ids.emplace_back(next_id_);
                     next_id_ += 1;
                   } else {
                     ids.emplace_back(Error{ErrorKind::would_block, "no block of producer ids could be had"});
                   }
                   served.push_back(std::move(id_waiters_.front()));
                   id_waiters_.pop_front();
                 }
                 again = !id_waiters_.empty();
                 is_refilling_ids_ = again;
               }
               for (size_t i = 0; i < served.size(); ++i) {
                 served[i].back->post([id = std::move(ids[i]), done = std::move(served[i].done)]() mutable {
                   std::move(done)(std::move(id));
                 });
               }
               if (again) refill_producer_ids();
             });
}

}  // namespace millrace::runtime
