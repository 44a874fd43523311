#include "millrace/runtime/controller_channel.h"

namespace millrace::runtime {

ControllerChannel::ControllerChannel(env::Env& env, ControllerChannelOptions options,
                                     std::function<std::optional<RaftAddress>()> active)
    : env_(env), reactor_(env.control_reactor()), options_(options), active_(std::move(active)) {}

ControllerChannel::~ControllerChannel() = default;

void ControllerChannel::send(Line line, ControllerCallPtr call) {
  auto const index = static_cast<size_t>(line);
  auto& lane = lanes_[index];
  if (lane.queue.size() >= kQueuedMax || call->deadline <= reactor_.now()) return call->fail(ErrorCode::request_timed_out);
  if (call->deadline < lane.deadline_armed) arm_deadline(index, call->deadline);
  lane.queue.push_back(std::move(call));
  pump(index);
}

void ControllerChannel::on_leader_changed() {
  auto const active = active_();
  for (size_t i = 0; i < kLines; ++i) {
    auto& lane = lanes_[i];
    // What the old one was asked it may never answer; a new one is asked at once.
    if (lane.is_busy && (!active || lane.peer.id != active->id)) {
      lane.is_busy = false;
      lane.generation = ++generations_;
      lane.connection.reset();
    }
    reactor_.cancel(std::exchange(lane.retry_timer, env::kNoTimer));
    pump(i);
  }
}

void ControllerChannel::stop() {
  alive_ = std::make_shared<bool>(true);
  for (auto& lane : lanes_) {
    reactor_.cancel(std::exchange(lane.retry_timer, env::kNoTimer));
    reactor_.cancel(std::exchange(lane.deadline_timer, env::kNoTimer));
    lane = {};
  }
}

void ControllerChannel::pump(size_t index) {
  auto& lane = lanes_[index];
  while (!lane.is_busy && lane.retry_timer == env::kNoTimer && !lane.queue.empty()) {
    auto const active = active_();
    if (!active) break;  // on_leader_changed() comes here again
    if (active->id == options_.self) {
      auto const call = std::move(lane.queue.front());
      lane.queue.pop_front();
      call->run_here();
      continue;
    }
    lane.is_busy = true;
    lane.generation = ++generations_;
    bool const is_there = lane.connection && lane.connection->is_open() && lane.peer.id == active->id &&
                          lane.peer.host == active->host && lane.peer.port == active->port;
    if (is_there) {
      call(index);
    } else {
      open(index, *active);
    }
  }
}

void ControllerChannel::open(size_t index, RaftAddress const& peer) {
  auto& lane = lanes_[index];
  lane.connection.reset();
  lane.peer = peer;
  client::Options options;
  options.client_id = fmt::format("{}", options_.self);
  options.request_timeout = options_.request_timeout;
  auto const deadline = std::min(lane.queue.front()->deadline, reactor_.now() + options_.request_timeout);
  client::Connection::open(
      env_.network(), reactor_, peer.host, peer.port, std::move(options), deadline,
      [this, weak = std::weak_ptr(alive_), index,
       generation = lane.generation](Result<std::shared_ptr<client::Connection>> opened) {
        if (weak.expired() || lanes_[index].generation != generation || !lanes_[index].is_busy) return;
        if (!opened) return retry(index);
        lanes_[index].connection = *std::move(opened);
        call(index);
      });
}

void ControllerChannel::call(size_t index) {
  auto& lane = lanes_[index];
  auto& connection = *lane.connection;
  auto const id = connection.next_correlation_id();
  auto frame = lane.queue.front()->encode(connection, id);
  if (!frame) {
    env_.log().warn("controller", "ask node {}: {}", lane.peer.id, frame.error().message);
    auto const call = std::move(lane.queue.front());
    lane.queue.pop_front();
    lane.is_busy = false;
    call->fail(ErrorCode::unsupported_version);
    return pump(index);
  }
  auto const deadline = std::min(lane.queue.front()->deadline, reactor_.now() + options_.request_timeout);
  connection.send_frame(*std::move(frame), id, deadline,
                        [this, weak = std::weak_ptr(alive_), index,
                         generation = lane.generation](Result<SharedBytes> answer) mutable {
                          if (weak.expired() || lanes_[index].generation != generation) return;
                          on_answer(index, std::move(answer));
                        });
}

void ControllerChannel::on_answer(size_t index, Result<SharedBytes> answer) {
  auto& lane = lanes_[index];
  if (!lane.is_busy) return;
  if (!answer) {
    lane.connection.reset();
    return retry(index);
  }
  // It may send the next call while it is being answered.
  auto call = std::move(lane.queue.front());
  lane.queue.pop_front();
  if (!call->answered(*std::move(answer))) {
    lane.queue.push_front(std::move(call));
    return retry(index);
  }
  lane.is_busy = false;
  pump(index);
}

void ControllerChannel::retry(size_t index) {
  auto& lane = lanes_[index];
  lane.is_busy = false;
  lane.generation = ++generations_;
  lane.retry_timer = reactor_.call_at(reactor_.now() + kRetryPause, [this, index] {
    lanes_[index].retry_timer = env::kNoTimer;
    pump(index);
  });
}

void ControllerChannel::arm_deadline(size_t index, Mono at) {
  auto& lane = lanes_[index];
  reactor_.cancel(std::exchange(lane.deadline_timer, env::kNoTimer));
  lane.deadline_armed = at;
  if (at == Mono::never()) return;
  lane.deadline_timer = reactor_.call_at(at, [this, index] {
    lanes_[index].deadline_timer = env::kNoTimer;
    expire(index);
  });
}

void ControllerChannel::expire(size_t index) {
  auto& lane = lanes_[index];
  auto const now = reactor_.now();
  if (lane.is_busy && !lane.queue.empty() && lane.queue.front()->deadline <= now) {
    lane.is_busy = false;
    lane.generation = ++generations_;
    lane.connection.reset();
  }
  std::deque<ControllerCallPtr> kept, late;
  auto earliest = Mono::never();
  for (auto& call : std::exchange(lane.queue, {})) {
    bool const is_late = call->deadline <= now;
    if (!is_late) earliest = std::min(earliest, call->deadline);
    (is_late ? late : kept).push_back(std::move(call));
  }
  lane.queue = std::move(kept);
  arm_deadline(index, earliest);
  for (auto& call : late) call->fail(ErrorCode::request_timed_out);
  pump(index);
}

}  // namespace millrace::runtime
