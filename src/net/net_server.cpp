#include "millrace/net/net_server.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "memory_queue.h"
#include "millrace/base/assert.h"
#include "server_connection.h"

namespace millrace::net {

namespace {

// A quarter leaves room for what requests turn into, for answers and for the page cache that the logs live in.
int64_t default_request_bytes_max(env::Limits const& limits) {
  if (limits.memory_bytes <= 0) return NetOptions::kRequestBytesMaxUnknown;
  return std::max(limits.memory_bytes / 4, NetOptions::kRequestBytesMaxLeast);
}

}  // namespace

// Kept alive by connections on their way and by tasks; everything of a Shard belongs to its reactor's thread.
class NetServer::Core final : public std::enable_shared_from_this<Core> {
 public:
  Core(env::Env& env, NetOptions options)
      : env_(env), options_(std::move(options)),
        memory_(std::make_shared<RequestMemory>(
            options_.request_bytes_max > 0 ? options_.request_bytes_max : default_request_bytes_max(env.limits()))) {
    for (size_t i = 0; i < env.reactor_count(); ++i) shards_.push_back(std::make_unique<Shard>(*this, env.reactor(i)));
  }

  Status listen(ListenerOptions const& options);
  std::vector<env::SocketAddress> addresses(std::string const& listener_name) const;
  void open(Handler& handler, std::optional<std::string> const& listener_name);
  void stop(Mono deadline, env::Reactor& back, Task done);
  NetStats stats() const;
  // Without the threads: destroys what is left.
  void abandon() {
    for (auto& shard : shards_) {
      shard->queue.clear();
      shard->connections.clear();
      shard->waiting.clear();
    }
    // The sockets' handlers hold what they belong to.
    for (auto& listening : listeners_) listening->sockets.clear();
    listeners_.clear();
  }

 private:
  struct Listening {
    std::string name;
    int64_t connections_max{};
    int64_t connection_count = 0;
    std::vector<std::unique_ptr<env::Listener>> sockets;
    bool is_paused = false;
    std::atomic<bool> is_open{false};
  };

  // The connections of one reactor.
  struct Shard final : ServerConnection::Owner {
    Shard(Core& c, env::Reactor& r) : core(c), reactor(r), pool(BufferPool::make(c.memory_)), queue(r, c.memory_, c.env_.log()) {}
    void on_finished(ServerConnection& connection) override {
      queue.forget(connection);
      core.on_finished(*this, connection);
    }
    void on_memory_wanted(ServerConnection& connection) override { queue.wait(connection); }
    void on_large_frame(ServerConnection& connection) override { queue.watch(connection); }

    Core& core;
    env::Reactor& reactor;
    std::shared_ptr<BufferPool> pool;
    MemoryQueue queue;
    Counters counters;
    std::unordered_map<uint64_t, std::unique_ptr<ServerConnection>> connections;
    std::vector<std::pair<std::shared_ptr<Listening>, std::unique_ptr<env::Connection>>> waiting;  // for open()
    bool is_draining = false;
  };

  void accept(std::shared_ptr<Listening> const& listening, std::unique_ptr<env::Connection> connection);
  void serve(Shard& shard, Listening& listening, std::unique_ptr<env::Connection> connection);
  bool admit(Listening& listening, std::string const& ip);
  void on_finished(Shard& shard, ServerConnection& connection);
  void leave(std::string const& listener_name, std::string const& ip);
  void update_pauses_locked();
  void report_stopped_locked();
  Shard& shard_of(env::Reactor& reactor);

  env::Env& env_;
  std::atomic<Handler*> handler_{nullptr};
  NetOptions const options_;
  std::shared_ptr<RequestMemory> const memory_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<uint64_t> next_id_{1};

  mutable std::mutex mutex_;  // guards all below; a leaf
  std::vector<std::shared_ptr<Listening>> listeners_;
  std::unordered_map<std::string, int64_t> connections_by_ip_;
  int64_t connection_count_ = 0;
  int64_t accepted_count_ = 0;
  int64_t refused_count_ = 0;
  bool is_stopping_ = false;
  env::Reactor* stopped_back_ = nullptr;
  Task stopped_;
};

Status NetServer::Core::listen(ListenerOptions const& options) {
  auto const listening = std::make_shared<Listening>();
  listening->name = options.name;
  listening->connections_max = options.connections_max;
  std::optional<Error> skipped;
  uint16_t port = 0;
  std::vector<std::unique_ptr<env::Listener>> sockets;
  {
    std::lock_guard const lock(mutex_);
    listeners_.push_back(listening);  // accepting may begin before this function ends
  }
  auto const forget = [&](Error error) -> Error {
    std::lock_guard const lock(mutex_);
    std::erase(listeners_, listening);
    return error;
  };
  for (auto address : options.addresses) {
    if (address.port == 0) address.port = port;
    auto socket = env_.network().listen(
        {.address = address, .congestion_control = options.congestion_control, .backlog = options.backlog,
         .send_buffer_bytes = options.send_buffer_bytes, .receive_buffer_bytes = options.receive_buffer_bytes},
        [self = shared_from_this(), listening](std::unique_ptr<env::Connection> connection) {
          self->accept(listening, std::move(connection));
        });
    if (!socket) {
      if (address.ip.find(':') == std::string::npos) return forget(std::move(socket).error());
      skipped = std::move(socket).error();
      continue;
    }
    port = (*socket)->local().port;
    sockets.push_back(*std::move(socket));
  }
  if (sockets.empty()) {
    return forget(skipped ? *std::move(skipped) : Error{ErrorKind::invalid, "listener " + options.name + " has no address"});
  }
  std::lock_guard const lock(mutex_);
  listening->sockets = std::move(sockets);
  return {};
}

std::vector<env::SocketAddress> NetServer::Core::addresses(std::string const& listener_name) const {
  std::lock_guard const lock(mutex_);
  std::vector<env::SocketAddress> found;
  for (auto const& listening : listeners_) {
    if (listening->name != listener_name) continue;
    for (auto const& socket : listening->sockets) found.push_back(socket->local());
  }
  return found;
}

NetServer::Core::Shard& NetServer::Core::shard_of(env::Reactor& reactor) {
  for (auto& shard : shards_) {
    if (&shard->reactor == &reactor) return *shard;
  }
  MR_ASSERT(false && "a connection of a foreign reactor");
  return *shards_.front();
}

bool NetServer::Core::admit(Listening& listening, std::string const& ip) {
  std::lock_guard const lock(mutex_);
  auto const found = options_.connections_per_ip_overrides.find(ip);
  auto const per_ip_max =
      found == options_.connections_per_ip_overrides.end() ? options_.connections_per_ip_max : found->second;
  auto& count = connections_by_ip_[ip];
  if (is_stopping_ || count >= per_ip_max) {
    if (count == 0) connections_by_ip_.erase(ip);
    ++refused_count_;
    return false;
  }
  ++count;
  ++accepted_count_;
  ++connection_count_;
  ++listening.connection_count;
  update_pauses_locked();
  return true;
}

// At its limit a listener accepts nothing; who comes waits in the kernel's queue, as with Kafka.
void NetServer::Core::update_pauses_locked() {
  for (auto& listening : listeners_) {
    bool const pause = connection_count_ >= options_.connections_max || listening->connection_count >= listening->connections_max;
    if (pause == listening->is_paused) continue;
    listening->is_paused = pause;
    for (auto& socket : listening->sockets) socket->pause(pause);
  }
}

void NetServer::Core::accept(std::shared_ptr<Listening> const& listening, std::unique_ptr<env::Connection> connection) {
  if (!admit(*listening, connection->peer().ip)) return;
  auto& shard = shard_of(connection->reactor());
  if (!listening->is_open.load()) shard.waiting.emplace_back(listening, std::move(connection));
  else serve(shard, *listening, std::move(connection));
}

void NetServer::Core::open(Handler& handler, std::optional<std::string> const& listener_name) {
  handler_ = &handler;
  {
    std::lock_guard const lock(mutex_);
    for (auto& listening : listeners_) {
      if (!listener_name || listening->name == *listener_name) listening->is_open = true;
    }
  }
  for (auto& each : shards_) {
    each->reactor.post([self = shared_from_this(), shard = each.get()] {
      for (auto& [listening, connection] : std::exchange(shard->waiting, {})) {
        if (listening->is_open.load()) {
          self->serve(*shard, *listening, std::move(connection));
        } else {
          shard->waiting.emplace_back(std::move(listening), std::move(connection));
        }
      }
    });
  }
}

void NetServer::Core::serve(Shard& shard, Listening& listening, std::unique_ptr<env::Connection> connection) {
  auto info = std::make_shared<ConnectionInfo>();
  info->id = next_id_++;
  info->listener_name = listening.name;
  info->local = connection->local();
  info->peer = connection->peer();
  info->reactor = &connection->reactor();
  auto const id = info->id;
  auto& slot = shard.connections[id];
  slot = std::make_unique<ServerConnection>(std::move(connection), std::move(info), *handler_, shard, env_.log(),
                                            ServerConnection::Settings{.idle_max = options_.idle_max}, shard.pool,
                                            shard.counters);
  slot->start();
  if (shard.is_draining) slot->drain();
}

void NetServer::Core::on_finished(Shard& shard, ServerConnection& connection) {
  auto found = shard.connections.find(connection.info().id);
  MR_ASSERT(found != shard.connections.end());
  // Its own call is still on the stack.
  shard.reactor.post([gone = std::shared_ptr<ServerConnection>(std::move(found->second))] {});
  shard.connections.erase(found);
  leave(connection.info().listener_name, connection.info().peer.ip);
}

void NetServer::Core::leave(std::string const& listener_name, std::string const& ip) {
  std::lock_guard const lock(mutex_);
  auto const count = connections_by_ip_.find(ip);
  MR_ASSERT(count != connections_by_ip_.end());
  if (--count->second == 0) connections_by_ip_.erase(count);
  --connection_count_;
  for (auto& listening : listeners_) {
    if (listening->name == listener_name) --listening->connection_count;
  }
  if (!is_stopping_) update_pauses_locked();
  report_stopped_locked();
}

void NetServer::Core::report_stopped_locked() {
  if (is_stopping_ && connection_count_ == 0 && stopped_) stopped_back_->post(std::move(stopped_));
}

void NetServer::Core::stop(Mono deadline, env::Reactor& back, Task done) {
  {
    std::lock_guard const lock(mutex_);
    MR_ASSERT(!is_stopping_);
    is_stopping_ = true;
    for (auto& listening : listeners_) listening->sockets.clear();
    stopped_back_ = &back;
    stopped_ = std::move(done);
    report_stopped_locked();
  }
  for (auto& each : shards_) {
    auto* const shard = each.get();
    shard->reactor.post([self = shared_from_this(), shard, deadline] {
      shard->is_draining = true;
      for (auto& [listening, connection] : std::exchange(shard->waiting, {})) {
        self->leave(listening->name, connection->peer().ip);
      }
      std::vector<ServerConnection*> all;
      for (auto& [id, connection] : shard->connections) all.push_back(connection.get());
      for (auto* connection : all) connection->drain();
      shard->reactor.call_at(deadline, [self, shard] {
        while (!shard->connections.empty()) shard->connections.begin()->second->finish("the node stops");
      });
    });
  }
}

NetStats NetServer::Core::stats() const {
  NetStats total;
  for (auto const& shard : shards_) {
    total.requests += shard->counters.requests.value();
    total.bytes_in += shard->counters.bytes_in.value();
    total.bytes_out += shard->counters.bytes_out.value();
    total.connections_stalled += shard->queue.closed_count();
  }
  total.request_bytes = memory_->used();
  total.request_bytes_max = memory_->bytes_max();
  std::lock_guard const lock(mutex_);
  total.connections = connection_count_;
  total.connections_accepted = accepted_count_;
  total.connections_refused = refused_count_;
  return total;
}

NetServer::NetServer(env::Env& env, NetOptions options) : core_(std::make_shared<Core>(env, std::move(options))) {}

NetServer::~NetServer() { core_->abandon(); }

Status NetServer::listen(ListenerOptions const& options) { return core_->listen(options); }

std::vector<env::SocketAddress> NetServer::addresses(std::string const& listener_name) const {
  return core_->addresses(listener_name);
}

void NetServer::open(Handler& handler) { core_->open(handler, std::nullopt); }
void NetServer::open(Handler& handler, std::string const& listener_name) { core_->open(handler, listener_name); }

void NetServer::stop(Mono deadline, env::Reactor& back, Task done) { core_->stop(deadline, back, std::move(done)); }

NetStats NetServer::stats() const { return core_->stats(); }

}  // namespace millrace::net
