#include "millrace/runtime/broker_presence.h"

#include "millrace/metadata/features.h"

namespace millrace::runtime {

using namespace lifecycle;

BrokerPresence::BrokerPresence(env::Env& env, ControllerClient& controller, BrokerId id, std::string cluster_id,
                               LocalBroker local, BrokerLifecycleConfig config, BrokerPresenceEvents events)
    : env_(env),
      reactor_(env.control_reactor()),
      controller_(controller),
      id_(id),
      cluster_id_(std::move(cluster_id)),
      local_(std::move(local)),
      events_(std::move(events)),
      lifecycle_(config) {}

metadata::RegisterBroker BrokerPresence::registration() const {
  metadata::RegisterBroker out;
  out.id = id_;
  out.cluster_id = cluster_id_;
  out.incarnation_id = local_.incarnation_id;
  out.endpoints = local_.endpoints;
  out.features = metadata::supported_features();
  out.rack = local_.rack;
  out.directories = local_.directories;
  out.cordoned_directories.emplace();
  return out;
}

void BrokerPresence::start() { feed(event::Started{}); }

void BrokerPresence::on_published(metadata::Image const& image) {
  auto const* broker = image.find_broker(id_);
  bool const is_awaited = !image.brokers.for_each([&](BrokerId id, auto const& other) {
    return id == id_ || other->is_fenced || !other->is_in_controlled_shutdown;
  });
  feed(event::Published{image.offset, broker == nullptr ? -1 : broker->epoch, broker == nullptr || broker->is_fenced, is_awaited});
}

void BrokerPresence::set_offline_directories(std::vector<DirectoryId> directories) {
  offline_directories_ = std::move(directories);
  feed(event::NewsToTell{});
}

void BrokerPresence::shut_down(Task done) {
  if (lifecycle_.state() == BrokerLifecycle::State::ended || lifecycle_.state() == BrokerLifecycle::State::stopped) {
    return std::move(done)();
  }
  shut_down_ = std::move(done);
  feed(event::ShutdownRequested{});
}

void BrokerPresence::stop() {
  alive_.reset();
  reactor_.cancel(std::exchange(timer_, env::kNoTimer));
}

void BrokerPresence::feed(Event const& event) {
  if (alive_ == nullptr) return;
  Effects effects;
  lifecycle_.on_event(event, reactor_.now(), effects);
  perform(effects);
}

void BrokerPresence::perform(Effects const& effects) {
  for (auto const& effect : effects) {
    std::visit(
        [&]<class E>(E const& e) {
          if constexpr (std::is_same_v<E, effect::Register>) {
            auto request = registration();
            request.previous_broker_epoch = e.previous_epoch;
            controller_.submit(std::move(request), e.deadline, reactor_,
                               [this, weak = std::weak_ptr(alive_)](metadata::ControllerAnswer any) {
                                 if (weak.expired()) return;
                                 auto& answer = std::get<metadata::RegisterBrokerAnswer>(any);
                                 if (!answer.error.ok()) {
                                   env_.log().warn("node", "register as broker {}: {}", id_, answer.error.code);
                                 }
                                 feed(event::RegistrationAnswered{answer.error.code, answer.broker_epoch,
                                                                  answer.error.message.value_or("")});
                               });
          } else if constexpr (std::is_same_v<E, effect::Heartbeat>) {
            metadata::BrokerHeartbeat request;
            request.id = id_;
            request.epoch = e.epoch;
            request.metadata_offset = e.metadata_offset.value;
            request.want_shut_down = e.want_shut_down;
            if (!offline_directories_.empty()) request.offline_directories = offline_directories_;
            auto const asked_at = reactor_.now();
            auto on_answer = [this, weak = std::weak_ptr(alive_), asked_at](metadata::ControllerAnswer any) {
              if (weak.expired()) return;
              auto const& answer = std::get<metadata::BrokerHeartbeatAnswer>(any);
              if (!answer.error.ok()) {
                env_.log().warn("node", "heartbeat of broker {}: {}", id_, answer.error.code);
              } else if (!answer.is_fenced) {
                events_.on_alive(asked_at);
              }
              feed(event::HeartbeatAnswered{answer.error.code, answer.is_fenced, answer.should_shut_down});
            };
            controller_.submit(std::move(request), e.deadline, reactor_, std::move(on_answer));
          } else if constexpr (std::is_same_v<E, effect::SetTimer>) {
            reactor_.cancel(timer_);
            timer_ = reactor_.call_at(e.at, [this] {
              timer_ = env::kNoTimer;
              feed(event::TimerFired{});
            });
          } else if constexpr (std::is_same_v<E, effect::CancelTimer>) {
            reactor_.cancel(std::exchange(timer_, env::kNoTimer));
          } else if constexpr (std::is_same_v<E, effect::Registered>) {
            env_.log().info("node", "broker {} is registered with epoch {}", id_, e.epoch);
            events_.on_registered(e.epoch);
          } else if constexpr (std::is_same_v<E, effect::Unfenced>) {
            events_.on_unfenced();
          } else if constexpr (std::is_same_v<E, effect::ShutDown>) {
            if (shut_down_) std::move(shut_down_)();
          } else {
            static_assert(std::is_same_v<E, effect::Failed>);
            events_.on_failed({ErrorKind::invalid, fmt::format("register this node as broker {}: {}", id_, e.reason)});
          }
        },
        effect);
  }
}

}  // namespace millrace::runtime
