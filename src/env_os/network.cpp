#include "network.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>

#include "connection.h"
#include "descriptor.h"
#include "disk.h"
#include "millrace/env_os/resolve.h"

namespace millrace::env_os {

namespace {

using Wait = boost::asio::posix::descriptor_base;

struct RawAddress {
  sockaddr_storage storage{};
  socklen_t size{};
  sockaddr* data() { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr const* data() const { return reinterpret_cast<sockaddr const*>(&storage); }
};

Result<RawAddress> to_raw(env::SocketAddress const& address) {
  RawAddress raw;
  auto& v4 = reinterpret_cast<sockaddr_in&>(raw.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(raw.storage);
  if (::inet_pton(AF_INET, address.ip.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    raw.size = sizeof v4;
  } else if (::inet_pton(AF_INET6, address.ip.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    raw.size = sizeof v6;
  } else {
    return Error{ErrorKind::invalid, address.ip + " is not a numeric address"};
  }
  return raw;
}

env::SocketAddress from_raw(RawAddress const& raw) {
  char text[INET6_ADDRSTRLEN] = "";
  if (raw.storage.ss_family == AF_INET) {
    auto const& v4 = reinterpret_cast<sockaddr_in const&>(raw.storage);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ntohs(v4.sin_port)};
  }
  auto const& v6 = reinterpret_cast<sockaddr_in6 const&>(raw.storage);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return {text, ntohs(v6.sin6_port)};
}

env::SocketAddress local_of(int descriptor) {
  RawAddress raw;
  raw.size = sizeof raw.storage;
  if (::getsockname(descriptor, raw.data(), &raw.size) != 0) return {};
  return from_raw(raw);
}

void set_option(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof value);
}

// What accepts for one address, on the first reactor's thread. Lives as long as a handler of the loop needs it.
class Acceptor final : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::vector<OsReactor*> const& reactors, std::atomic<size_t>& next_reactor, OsPools& pools, Logger& log,
           Descriptor descriptor, env::AcceptHandler handler)
      : reactors_(reactors), next_reactor_(next_reactor), pools_(pools), log_(log),
        descriptor_(reactors[0]->context(), descriptor.release()), handler_(std::move(handler)) {}

  void start() {
    reactors_[0]->post([self = shared_from_this()] { self->arm(); });
  }
  void pause(bool on) {
    is_paused_ = on;
    if (!on) start();
  }
  void close() {
    is_closed_ = true;
    auto closing = [self = shared_from_this()] {
      boost::system::error_code ignored;
      self->descriptor_.close(ignored);
    };
    if (reactors_[0]->is_current()) closing();
    else reactors_[0]->post(closing);
  }

 private:
  // Accepted in one go before other events get their turn.
  static constexpr int kAcceptsPerTurnMax = 32;
  // Waits this long when no descriptor or memory is left; the connections wait in the kernel's queue.
  static constexpr auto kExhaustedPause = 100ms;
  static constexpr auto kExhaustedLogEvery = 10s;

  void arm() {
    if (is_armed_ || is_paused_ || is_closed_) return;
    is_armed_ = true;
    descriptor_.async_wait(Wait::wait_read, [self = shared_from_this()](boost::system::error_code const& error) {
      self->is_armed_ = false;
      if (!error) self->accept_some();
    });
  }

  void accept_some() {
    for (int i = 0; i < kAcceptsPerTurnMax && !is_paused_ && !is_closed_; ++i) {
      RawAddress peer;
      peer.size = sizeof peer.storage;
      Descriptor accepted(
          ::accept4(descriptor_.native_handle(), peer.data(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!accepted) {
        switch (errno) {
          case EMFILE:
          case ENFILE:
          case ENOBUFS:
          case ENOMEM: return rest_exhausted(errno);
          case EAGAIN: return arm();
          default: continue;  // that one connection failed before it was accepted
        }
      }
      deal(std::move(accepted), from_raw(peer));
    }
    arm();
  }

  void deal(Descriptor accepted, env::SocketAddress peer) {
    auto local = local_of(accepted.get());
    auto& reactor = *reactors_[next_reactor_.fetch_add(1, std::memory_order_relaxed) % reactors_.size()];
    auto hand_over = [self = shared_from_this(), &reactor, accepted = std::move(accepted), local = std::move(local),
                      peer = std::move(peer)]() mutable {
      if (self->is_closed_) return;
      auto socket = std::make_shared<Socket>(reactor, self->pools_, accepted.release(), std::move(local), std::move(peer));
      self->handler_(std::make_unique<OsConnection>(std::move(socket)));
    };
    if (reactor.is_current()) hand_over();
    else reactor.post(std::move(hand_over));
  }

  void rest_exhausted(int error_number) {
    auto& reactor = *reactors_[0];
    if (reactor.now() >= next_exhausted_log_) {
      next_exhausted_log_ = reactor.now() + kExhaustedLogEvery;
      log_.warn("net", "{}; new connections wait", system_error("accept on", local_of(descriptor_.native_handle()).ip,
                                                                error_number).message);
    }
    reactor.call_at(reactor.now() + kExhaustedPause, [self = shared_from_this()] { self->arm(); });
  }

  std::vector<OsReactor*> const& reactors_;
  std::atomic<size_t>& next_reactor_;
  OsPools& pools_;
  Logger& log_;
  boost::asio::posix::stream_descriptor descriptor_;
  env::AcceptHandler handler_;
  bool is_armed_ = false;
  Mono next_exhausted_log_{};
  std::atomic<bool> is_paused_{false};
  std::atomic<bool> is_closed_{false};
};

class OsListener final : public env::Listener {
 public:
  OsListener(std::shared_ptr<Acceptor> acceptor, env::SocketAddress local)
      : acceptor_(std::move(acceptor)), local_(std::move(local)) {}
  ~OsListener() override { acceptor_->close(); }
  env::SocketAddress const& local() const override { return local_; }
  void pause(bool on) override { acceptor_->pause(on); }

 private:
  std::shared_ptr<Acceptor> acceptor_;
  env::SocketAddress local_;
};

// One outgoing connection: resolve on a pool, then try address after address until the deadline.
class Connector final : public std::enable_shared_from_this<Connector> {
 public:
  using Done = Callback<void(Result<std::unique_ptr<env::Connection>>)>;

  Connector(OsReactor& reactor, OsPools& pools, std::string host, uint16_t port, Mono deadline, Done done)
      : reactor_(reactor), pools_(pools), host_(std::move(host)), port_(port), deadline_(deadline), done_(std::move(done)),
        descriptor_(reactor.context()) {}

  void start() {
    timer_ = reactor_.call_at(deadline_, [self = shared_from_this()] {
      self->timer_ = env::kNoTimer;
      self->finish(Error{ErrorKind::io, fmt::format("connect to {}:{}: timed out", self->host_, self->port_)});
    });
    if (auto const numeric = to_raw({host_, port_})) {
      addresses_.push_back({host_, port_});
      return try_next();
    }
    auto found = std::make_shared<Result<std::vector<env::SocketAddress>>>(std::vector<env::SocketAddress>{});
    pools_.of_directory("resolver").run(
        reactor_, [self = shared_from_this(), found] { *found = resolve(self->host_, self->port_); },
        [self = shared_from_this(), found] {
          if (!*found) return self->finish(std::move(*found).error());
          self->addresses_ = *std::move(*found);
          self->try_next();
        });
  }

 private:
  void try_next() {
    if (!done_) return;
    if (next_address_ == addresses_.size()) {
      if (last_error_.empty()) return finish(Error{ErrorKind::io, fmt::format("connect to {}: no address", host_)});
      return finish(Error{is_refused_ ? ErrorKind::not_found : ErrorKind::io, last_error_});
    }
    address_ = addresses_[next_address_++];
    auto const raw = to_raw(address_);
    if (!raw) return fail_address(EINVAL);
    Descriptor socket(::socket(raw->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return fail_address(errno);
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
    if (::connect(socket.get(), raw->data(), raw->size) != 0 && errno != EINPROGRESS) return fail_address(errno);
    descriptor_.assign(socket.release());
    descriptor_.async_wait(Wait::wait_write, [self = shared_from_this()](boost::system::error_code const&) {
      if (self->done_) self->on_connected();
    });
  }

  void on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor_.native_handle(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      boost::system::error_code ignored;
      descriptor_.close(ignored);
      return fail_address(error);
    }
    int const connected = descriptor_.release();
    finish(std::unique_ptr<env::Connection>(std::make_unique<OsConnection>(
        std::make_shared<Socket>(reactor_, pools_, connected, local_of(connected), address_))));
  }

  void fail_address(int error_number) {
    if (error_number != ECONNREFUSED) is_refused_ = false;
    last_error_ = system_error("connect to", fmt::format("{}:{}", address_.ip, address_.port), error_number).message;
    try_next();
  }

  void finish(Result<std::unique_ptr<env::Connection>> result) {
    if (!done_) return;
    reactor_.cancel(timer_);
    boost::system::error_code ignored;
    if (descriptor_.is_open()) descriptor_.close(ignored);
    std::move(done_)(std::move(result));
  }

  OsReactor& reactor_;
  OsPools& pools_;
  std::string const host_;
  uint16_t const port_;
  Mono const deadline_;
  Done done_;
  boost::asio::posix::stream_descriptor descriptor_;
  env::TimerId timer_ = env::kNoTimer;
  std::vector<env::SocketAddress> addresses_;
  size_t next_address_ = 0;
  env::SocketAddress address_;
  std::string last_error_;
  bool is_refused_ = true;  // by every address that was tried
};

}  // namespace

Result<std::vector<env::SocketAddress>> resolve(std::string const& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int const error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return Error{ErrorKind::io, fmt::format("resolve {}: {}", host, ::gai_strerror(error))};
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> const freeing(found, ::freeaddrinfo);
  std::vector<env::SocketAddress> addresses;
  for (auto const* info = found; info != nullptr; info = info->ai_next) {
    if (info->ai_family != AF_INET && info->ai_family != AF_INET6) continue;
    RawAddress raw;
    std::memcpy(&raw.storage, info->ai_addr, info->ai_addrlen);
    auto address = from_raw(raw);
    address.port = port;
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(std::move(address));
  }
  if (addresses.empty()) return Error{ErrorKind::io, fmt::format("resolve {}: no IPv4 or IPv6 address", host)};
  return addresses;
}

bool is_numeric_address(std::string const& text) { return to_raw({text, 0}).ok(); }

OsNetwork::OsNetwork(std::vector<OsReactor*> reactors, OsPools& pools, Logger& log)
    : reactors_(std::move(reactors)), pools_(pools), log_(log) {}

Result<std::unique_ptr<env::Listener>> OsNetwork::listen(env::ListenOptions const& options, env::AcceptHandler handler) {
  MR_TRY_ASSIGN(auto const raw, to_raw(options.address));
  auto const text = fmt::format("{}:{}", options.address.ip, options.address.port);
  Descriptor descriptor(::socket(raw.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!descriptor) return system_error("socket for", text, errno);
  // Options of the listening socket are inherited by what it accepts.
  set_option(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(descriptor.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  if (raw.storage.ss_family == AF_INET6) set_option(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (options.send_buffer_bytes > 0) set_option(descriptor.get(), SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
  if (options.receive_buffer_bytes > 0) set_option(descriptor.get(), SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes);
  auto const& algorithm = options.congestion_control;
  if (!algorithm.empty() && ::setsockopt(descriptor.get(), IPPROTO_TCP, TCP_CONGESTION, algorithm.data(),
                                         static_cast<socklen_t>(algorithm.size())) != 0) {
    return system_error("congestion control", algorithm, errno);
  }
  if (::bind(descriptor.get(), raw.data(), raw.size) != 0) return system_error("bind to", text, errno);
  if (::listen(descriptor.get(), options.backlog) != 0) return system_error("listen on", text, errno);
  auto local = local_of(descriptor.get());
  auto acceptor = std::make_shared<Acceptor>(reactors_, next_reactor_, pools_, log_, std::move(descriptor), std::move(handler));
  acceptor->start();
  return std::unique_ptr<env::Listener>(std::make_unique<OsListener>(std::move(acceptor), std::move(local)));
}

void OsNetwork::connect(env::Reactor& reactor, std::string const& host, uint16_t port, Mono deadline,
                        Callback<void(Result<std::unique_ptr<env::Connection>>)> done) {
  // Only this environment's reactors exist beside it.
  auto& own = static_cast<OsReactor&>(reactor);
  auto connector = std::make_shared<Connector>(own, pools_, host, port, deadline, std::move(done));
  if (own.is_current()) connector->start();
  else own.post([connector] { connector->start(); });
}

}  // namespace millrace::env_os
