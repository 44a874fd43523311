#include "wire.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace load {

Loop::Loop() : epoll_(epoll_create1(0)) {}
Loop::~Loop() { close(epoll_); }

bool Loop::run(std::function<bool()> const& is_done, Instant deadline) {
  while (!is_done()) {
    auto const now = Clock::now();
    if (now >= deadline) return false;
    while (!timers_.empty() && timers_.begin()->first <= now) {
      auto const task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      task();
    }
    auto const next = timers_.empty() ? deadline : std::min(deadline, timers_.begin()->first);
    auto const wait = std::chrono::ceil<Millis>(next - Clock::now()).count();
    epoll_event events[64];
    auto const count = epoll_wait(epoll_, events, 64, static_cast<int>(std::max<int64_t>(wait, 0)));
    for (int i = 0; i < count; ++i) static_cast<Connection*>(events[i].data.ptr)->on_readable();
  }
  return true;
}

void Connection::die(std::string const& why) {
  fmt::print(stderr, "group_load: {}\n", why);
  std::exit(1);
}

Connection::Connection(Loop& loop, std::string const& host, int port)
    : loop_(loop), socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    die(fmt::format("nobody listens at {}:{}", host, port));
  }
  int const on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = this;
  epoll_ctl(loop_.epoll_, EPOLL_CTL_ADD, socket_, &event);
}

Connection::~Connection() { close(socket_); }

// Requests are small and answers are read at once: the socket's buffer always has room.
void Connection::send(millrace::ByteView bytes) {
  if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    die(fmt::format("a request of {} bytes was not taken: {}", bytes.size(), std::strerror(errno)));
  }
}

void Connection::on_readable() {
  char buffer[65536];
  auto const count = recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) die("the broker closed a connection");
  received_.append(buffer, static_cast<size_t>(count));
  size_t at = 0;
  while (received_.size() - at >= 4) {
    millrace::Reader in(millrace::as_bytes(received_).subspan(at));
    auto const bytes = static_cast<size_t>(in.i32());
    if (received_.size() - at < 4 + bytes) break;
    auto const done = std::move(waiting_.front());
    waiting_.pop_front();
    auto const answer = received_.substr(at + 4, bytes);
    at += 4 + bytes;
    done(millrace::as_bytes(answer));
  }
  received_.erase(0, at);
}

}  // namespace load
