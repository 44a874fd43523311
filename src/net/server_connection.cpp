#include "server_connection.h"

#include "millrace/base/assert.h"

namespace millrace::net {

// The way back of one request; from any thread to the connection's.
class ServerConnection::PendingAnswer final : public Answer {
 public:
  PendingAnswer(std::shared_ptr<Link> link, uint64_t number) : link_(std::move(link)), number_(number) {}
  ~PendingAnswer() override {
    if (link_) close("a request was dropped unanswered");
  }

  void send(env::Response response, Duration throttle) override {
    deliver({RequestOrder::Answered::with_response, std::move(response), {}}, throttle);
  }
  void send_nothing(Duration throttle) override { deliver({RequestOrder::Answered::with_nothing, {}, {}}, throttle); }
  void close(std::string reason) override {
    deliver({RequestOrder::Answered::by_closing, {}, std::move(reason)}, Duration::zero());
  }
  void let_next_produce_start() override {
    MR_ASSERT(link_ != nullptr);
    if (link_->reactor.is_current()) {
      if (link_->connection != nullptr) link_->connection->on_handed_over(number_);
      return;
    }
    link_->reactor.post([link = link_, number = number_] {
      if (link->connection != nullptr) link->connection->on_handed_over(number);
    });
  }

 private:
  void deliver(RequestOrder::Leaving answer, Duration throttle) {
    auto const link = std::exchange(link_, nullptr);
    MR_ASSERT(link != nullptr);  // answered twice
    if (link->reactor.is_current()) {
      if (link->connection != nullptr) link->connection->on_answered(number_, std::move(answer), throttle);
      return;
    }
    link->reactor.post([link, number = number_, answer = std::move(answer), throttle]() mutable {
      if (link->connection != nullptr) link->connection->on_answered(number, std::move(answer), throttle);
    });
  }

  std::shared_ptr<Link> link_;
  uint64_t const number_;
};

ServerConnection::ServerConnection(std::unique_ptr<env::Connection> connection, std::shared_ptr<ConnectionInfo> info,
                                   Handler& handler, Owner& owner, Logger& log, Settings settings,
                                   std::shared_ptr<BufferPool> const& pool, Counters& counters)
    : connection_(std::move(connection)), info_(std::move(info)), handler_(handler), owner_(owner), log_(log),
      settings_(settings), counters_(counters), link_(std::make_shared<Link>(connection_->reactor(), this)),
      memory_(pool->memory()), reader_(pool) {}

ServerConnection::~ServerConnection() {
  link_->connection = nullptr;
  end_wait_for_memory();
}

void ServerConnection::start() {
  last_active_ = link_->reactor.now();
  connection_->start(*this);
  arm_idle_timer(last_active_ + settings_.idle_max);
  update_reading();
}

void ServerConnection::on_readable() {
  if (is_finished_ || is_closing_) return;
  auto const room = reader_.room({.holds_requests = !order_.is_empty()});
  if (room.empty()) return wait_for_memory();
  auto const outcome = connection_->read_some(room);
  switch (outcome.state) {
    case env::ReadState::would_block: return;
    case env::ReadState::end: return on_end();
    case env::ReadState::failed: return finish("reading failed");
    case env::ReadState::some: break;
  }
  last_active_ = link_->reactor.now();
  read_bytes_ += outcome.count;
  counters_.bytes_in.add(static_cast<int64_t>(outcome.count));
  reader_.on_read(outcome.count);
  pump();
  if (!is_watched && !is_finished_ && reader_.is_inside_large_frame()) owner_.on_large_frame(*this);
}

void ServerConnection::wait_for_memory() {
  memory_ticket_ = memory_.join(static_cast<int64_t>(reader_.wanted_bytes()), static_cast<int64_t>(reader_.missing_bytes()));
  update_reading();
  owner_.on_memory_wanted(*this);
}

void ServerConnection::end_wait_for_memory() {
  if (auto const ticket = std::exchange(memory_ticket_, std::nullopt)) memory_.leave(*ticket);
}

bool ServerConnection::get_memory() {
  MR_ASSERT(memory_ticket_.has_value());
  FrameReader::Standing const standing{.holds_requests = !order_.is_empty(), .is_first = memory_.is_first(*memory_ticket_)};
  if (!is_closing_ && !order_.is_ending() && reader_.room(standing).empty()) return false;
  end_wait_for_memory();
  last_active_ = link_->reactor.now();
  update_reading();
  return true;
}

void ServerConnection::look_for_end_while_waiting() {
  auto const unread = connection_->unread();
  if (!unread.is_all || unread.bytes >= reader_.missing_bytes()) return;
  end_wait_for_memory();
  on_end();
}

std::optional<ServerConnection::LargeFrame> ServerConnection::large_frame() const {
  if (is_closing_ || !reader_.is_inside_large_frame()) return std::nullopt;
  LargeFrame frame{.held_bytes = reader_.held_bytes(), .received_bytes = reader_.received_bytes(),
                   .frame_bytes = reader_.frame_bytes(), .progress = read_bytes_, .is_ours = !is_reading_};
  if (is_waiting_for_memory()) {
    auto const unread = connection_->unread().bytes;
    frame.progress += unread;
    frame.is_ours = unread >= kUnreadOfWaitingMin || unread >= reader_.missing_bytes();
  }
  return frame;
}

// The peer may have closed its side only and still read. As with Kafka, which notices the end after the answer.
void ServerConnection::on_end() {
  if (order_.is_empty()) return finish(reader_.is_inside_frame() ? "the peer closed within a frame" : "the peer closed");
  is_half_closed_ = info_->has_ended = true;
  update_reading();
  half_closed_timer_ = link_->reactor.call_at(link_->reactor.now() + kHalfClosedMax, [this] {
    half_closed_timer_ = env::kNoTimer;
    finish("the peer closed");
  });
}

// Frames beyond the limit stay in the buffer, and nothing more is read, until requests have been answered.
void ServerConnection::take_frames() {
  auto const frame_bytes_max = handler_.request_bytes_max(*info_);
  while (!order_.is_full()) {
    auto frame = reader_.next_frame(frame_bytes_max);
    if (!frame) return finish(frame.error().message);  // as Kafka does: at once, whatever is still being answered
    if (!*frame) return;
    auto const is_produce = handler_.may_overlap((*frame)->view());
    order_.on_frame(std::move(**frame), last_active_, is_produce);
  }
}

// Starts and sends whatever may go. An answer that comes while a request is being started is handled by the loop that
// started it, so the stack stays flat.
void ServerConnection::pump() {
  if (is_pumping_ || is_finished_) return;
  is_pumping_ = true;
  size_t started_count = 0;
  while (!is_closing_) {
    while (auto leaving = order_.take_leaving()) {
      if (leaving->how == RequestOrder::Answered::by_closing) {
        close_after_sent(leaving->close_reason);
        break;
      }
      if (leaving->how == RequestOrder::Answered::with_response) send(std::move(leaving->response));
    }
    if (is_closing_) break;
    take_frames();
    if (is_finished_) break;
    if (connection_->unsent_bytes() > kUnsentBytesMax) {
      is_awaiting_sent_ = true;
      break;
    }
    if (!order_.has_startable(throttle_now())) break;
    if (started_count++ == kStartsPerTurnMax) {
      if (!std::exchange(is_pump_scheduled_, true)) link_->reactor.post(scheduled_pump());
      break;
    }
    start_one();
  }
  is_pumping_ = false;
  if (is_finished_ || is_closing_) return;
  if (is_draining_ && order_.running_count() == 0) return close_after_sent("the node stops");
  if (is_half_closed_ && order_.is_empty()) return close_after_sent("the peer closed");
  arm_throttle_timer();
  update_reading();
}

void ServerConnection::start_one() {
  auto started = order_.start_next();
  counters_.requests.add(1);
  handler_.on_request({std::move(started.frame), info_, started.arrived},
                      std::make_unique<PendingAnswer>(link_, started.number));
}

void ServerConnection::on_answered(uint64_t number, RequestOrder::Leaving answer, Duration throttle) {
  order_.on_answered(number, std::move(answer), throttle, throttle > Duration::zero() ? link_->reactor.now() : Mono{});
  schedule_pump();
}

void ServerConnection::on_handed_over(uint64_t number) {
  order_.on_handed_over(number);
  schedule_pump();
}

// Not at once: the answer may come from deep inside another connection's request.
void ServerConnection::schedule_pump() {
  if (is_pumping_ || is_pump_scheduled_ || is_finished_) return;
  is_pump_scheduled_ = true;
  link_->reactor.at_turn_end(scheduled_pump());
}

Task ServerConnection::scheduled_pump() {
  return [link = link_] {
    if (link->connection == nullptr) return;
    link->connection->is_pump_scheduled_ = false;
    link->connection->pump();
  };
}

void ServerConnection::send(env::Response response) {
  auto const bytes = response.bytes();
  MR_ASSERT(bytes <= INT32_MAX);
  auto length = SharedBytes::allocate(FrameReader::kLengthBytes);
  for (size_t i = 0; i < length.size(); ++i) {
    length.mutable_view()[i] = static_cast<std::byte>(bytes >> (8 * (length.size() - 1 - i)));
  }
  response.chunks.insert(response.chunks.begin(), std::move(length));
  counters_.bytes_out.add(bytes + static_cast<int64_t>(FrameReader::kLengthBytes));
  connection_->send(std::move(response));
}

void ServerConnection::update_reading() {
  auto const on = !order_.is_full() && !order_.is_ending() && !is_half_closed_ && !is_waiting_for_memory();
  if (on) connection_->set_read_low_water(reader_.low_water());
  if (on != is_reading_) connection_->set_reading(is_reading_ = on);
}

// The clock is looked at for connections that have been throttled.
Mono ServerConnection::throttle_now() const {
  return order_.throttled_until() == Mono{} ? Mono{} : link_->reactor.now();
}

void ServerConnection::arm_throttle_timer() {
  auto const until = order_.throttled_until();
  if (throttle_timer_ != env::kNoTimer || order_.is_empty() || until <= throttle_now()) return;
  throttle_timer_ = link_->reactor.call_at(until, [this] {
    throttle_timer_ = env::kNoTimer;
    pump();
  });
}

void ServerConnection::arm_idle_timer(Mono at) {
  if (settings_.idle_max <= Duration::zero()) return;
  idle_timer_ = link_->reactor.call_at(at, [this] { on_idle_timer(); });
}

// Armed once per idle period, not once per request. A connection that waits for us is not idle.
void ServerConnection::on_idle_timer() {
  idle_timer_ = env::kNoTimer;
  auto const now = link_->reactor.now();
  if (order_.running_count() > 0 || is_waiting_for_memory()) last_active_ = now;
  if (now - last_active_ >= settings_.idle_max) return finish("idle for too long");
  arm_idle_timer(last_active_ + settings_.idle_max);
}

void ServerConnection::on_sent() {
  last_active_ = link_->reactor.now();
  if (std::exchange(is_awaiting_sent_, false)) schedule_pump();
}

void ServerConnection::on_closed(std::string const& reason) { finish(reason); }

void ServerConnection::drain() {
  if (is_draining_ || is_closing_ || is_finished_) return;
  is_draining_ = true;
  order_.stop_starting();
  update_reading();
  schedule_pump();
}

void ServerConnection::close_after_sent(std::string_view reason) {
  is_closing_ = true;
  is_reading_ = false;
  log_.debug("net", "{} {}:{} closes: {}", info_->listener_name, info_->peer.ip, info_->peer.port, reason);
  connection_->close_after_sent();
}

void ServerConnection::finish(std::string_view reason) {
  if (is_finished_) return;
  is_finished_ = info_->has_ended = true;
  link_->connection = nullptr;
  end_wait_for_memory();
  log_.debug("net", "{} {}:{} closed: {}", info_->listener_name, info_->peer.ip, info_->peer.port, reason);
  for (auto const timer : {idle_timer_, throttle_timer_, half_closed_timer_}) link_->reactor.cancel(timer);
  handler_.on_connection_closed(*info_);
  owner_.on_finished(*this);
}

}  // namespace millrace::net
