#include "sim/network.h"

namespace millrace::sim {
namespace {

constexpr Duration kStallTimeout = 20s;
constexpr size_t kBacklogMax = 512;

}  // namespace

// --- connection --------------------------------------------------------------------------------------------------

class SimConnection final : public env::Connection {
 public:
  SimConnection(NodeNetwork& network, std::shared_ptr<Link> link, int side)
      : network_(network), link_(std::move(link)), side_(side) {
    end().connection = this;
    ++network_.live_objects_;
  }
  ~SimConnection() override {
    --network_.live_objects_;
    world_network().close(*link_, side_, false);
  }

  env::SocketAddress const& local() const override { return link_->ends[side_].address; }
  env::SocketAddress const& peer() const override { return link_->ends[1 - side_].address; }
  env::Reactor& reactor() override { return *end().reactor; }

  void start(env::ConnectionEvents& events) override {
    check_thread();
    events_ = &events;
    if (end().is_reset) world_network().fail(*link_, side_, "reset by peer");
  }
  void set_reading(bool on) override {
    check_thread();
    is_reading_ = on;
    if (on) world_network().post_readable(*link_, side_);
  }
  env::ReadOutcome read_some(MutableByteView into) override;
  void set_read_low_water(size_t bytes) override {
    check_thread();
    low_water_ = bytes;
  }
  env::Unread unread() override {
    check_thread();
    if (node().is_dead() || end().is_dead || end().is_reset) return {0, true};
    return {end().received.size(), end().has_end};
  }
  void send(env::Response response) override;
  int64_t unsent_bytes() const override { return link_->ends[side_].unsent_bytes; }
  void close_after_sent() override {
    check_thread();
    if (end().is_dead || node().is_dead()) return;
    end().is_closing = true;
    world_network().pump(*link_, side_);
  }
  void reset() override {
    if (node().is_dead()) return;
    world_network().close(*link_, side_, true);
  }

  env::ConnectionEvents* events() const { return events_; }
  bool is_reading() const { return is_reading_; }
  size_t low_water() const { return low_water_; }

 private:
  Link::End& end() { return link_->ends[side_]; }
  NodeEnv& node() { return network_.node_; }
  Network& world_network() { return node().world().network(); }
  void check_thread() { MR_ASSERT(node().is_dead() || end().reactor->is_current()); }

  NodeNetwork& network_;
  std::shared_ptr<Link> link_;
  int side_;
  env::ConnectionEvents* events_ = nullptr;
  bool is_reading_ = false;
  size_t low_water_ = 1;
};

env::ReadOutcome SimConnection::read_some(MutableByteView into) {
  check_thread();
  auto& mine = end();
  if (node().is_dead() || mine.is_dead || mine.is_reset) return {env::ReadState::failed, 0};
  MR_ASSERT(!into.empty());
  if (mine.received.empty()) return {mine.has_end ? env::ReadState::end : env::ReadState::would_block, 0};
  auto count = std::min(into.size(), mine.received.size());
  auto& random = world_network().random_;
  count = std::min(count, static_cast<size_t>(link_->style.read_bytes_max));
  if (random.chance(world_network().faults_.split_reads)) count = 1 + random.below(count);
  std::copy_n(mine.received.begin(), count, into.begin());
  mine.received.erase(mine.received.begin(), mine.received.begin() + static_cast<int64_t>(count));
  world_network().pump(*link_, 1 - side_);  // the window has opened
  return {env::ReadState::some, count};
}

void SimConnection::send(env::Response response) {
  check_thread();
  auto& mine = end();
  if (node().is_dead() || mine.is_dead || mine.is_reset || mine.is_closing) return;
  for (auto& chunk : response.chunks) {
    Link::Piece piece;
    if (auto* region = std::get_if<env::FileRegion>(&chunk)) {
      if (region->bytes == 0) continue;
      auto held = std::make_shared<Link::HeldLease>();
      auto* const network = &world_network();
      bool const may_send = region->lease->register_sender(
          held.get(), [network, weak = link_->weak_from_this(), side = side_] {
            if (auto link = weak.lock()) network->revoke(*link, side);
          });
      if (!may_send) return world_network().revoke(*link_, side_);
      held->lease = std::move(region->lease);
      piece.held = std::move(held);
      piece.position = region->position;
      piece.count = region->bytes;
    } else {
      piece.bytes = std::move(std::get<SharedBytes>(chunk));
      piece.count = static_cast<int64_t>(piece.bytes.size());
      if (piece.count == 0) continue;
    }
    mine.unsent_bytes += piece.count;
    mine.unsent.push_back(std::move(piece));
  }
  world_network().pump(*link_, side_);
}

// --- listener ----------------------------------------------------------------------------------------------------

class SimListener final : public env::Listener {
 public:
  SimListener(NodeNetwork& network, env::SocketAddress local, env::AcceptHandler handler)
      : network_(network), local_(std::move(local)), handler_(std::make_shared<env::AcceptHandler>(std::move(handler))) {
    world_network().listeners_[{node().machine().number(), local_.port}] = this;
    ++network_.live_objects_;
  }
  ~SimListener() override {
    --network_.live_objects_;
    close();
  }
  env::SocketAddress const& local() const override { return local_; }
  void pause(bool on) override {
    is_paused_ = on;
    if (on) return;
    while (!backlog_.empty() && !is_paused_) {
      auto link = std::move(backlog_.front());
      backlog_.pop_front();
      accept(std::move(link));
    }
  }
  void close() {
    auto& listeners = world_network().listeners_;
    auto const found = listeners.find({node().machine().number(), local_.port});
    if (found != listeners.end() && found->second == this) listeners.erase(found);
    for (auto& link : std::exchange(backlog_, {})) world_network().send_reset(*link, 1);
  }
  bool offer(std::shared_ptr<Link> link) {
    if (backlog_.size() >= kBacklogMax) return false;
    auto& end = link->ends[1];
    end.machine = &node().machine();
    end.life = node().life();
    end.node = &node();
    end.reactor = &node().sim_reactor(next_reactor_++ % node().reactor_count());
    end.address = {node().machine().ip(), local_.port};
    if (is_paused_) backlog_.push_back(std::move(link));
    else accept(std::move(link));
    return true;
  }

 private:
  NodeEnv& node() { return network_.node_; }
  Network& world_network() { return node().world().network(); }
  void accept(std::shared_ptr<Link> link) {
    auto* reactor = link->ends[1].reactor;
    auto connection = std::make_unique<SimConnection>(network_, std::move(link), 1);
    reactor->post([handler = std::weak_ptr(handler_), made = std::move(connection)]() mutable {
      if (auto alive = handler.lock()) (*alive)(std::move(made));
    });
  }

  NodeNetwork& network_;
  env::SocketAddress local_;
  std::shared_ptr<env::AcceptHandler> handler_;
  std::deque<std::shared_ptr<Link>> backlog_;
  bool is_paused_ = false;
  size_t next_reactor_ = 0;
};

// --- one process's view ------------------------------------------------------------------------------------------

struct Network::Connecting {
  NodeEnv* node{};
  LifeId life{};
  SimReactor* reactor{};
  Machine* target{};
  uint16_t port{};
  Callback<void(Result<std::unique_ptr<env::Connection>>)> done;
  EventId timeout{};
  std::shared_ptr<Link> link;

  void finish(Result<std::unique_ptr<env::Connection>> result) {
    if (!done) return;
    node->world().cancel(timeout);
    reactor->post([call = std::move(done), value = std::move(result)]() mutable { std::move(call)(std::move(value)); });
  }
};

Result<std::unique_ptr<env::Listener>> NodeNetwork::listen(env::ListenOptions const& options, env::AcceptHandler handler) {
  if (node_.is_dead()) return Error{ErrorKind::cancelled, "listen: the node has crashed"};
  auto& network = node_.world().network();
  auto address = options.address;
  while (address.port == 0 || (options.address.port == 0 &&
                               network.listeners_.contains({node_.machine().number(), address.port}))) {
    address.port = network.next_port_++;
  }
  if (network.listeners_.contains({node_.machine().number(), address.port})) {
    return Error{ErrorKind::exists, fmt::format("listen on {}:{}: address in use", address.ip, address.port)};
  }
  return std::unique_ptr<env::Listener>(std::make_unique<SimListener>(*this, address, std::move(handler)));
}

void NodeNetwork::connect(env::Reactor& reactor, std::string const& host, uint16_t port, Mono deadline,
                          Callback<void(Result<std::unique_ptr<env::Connection>>)> done) {
  auto& world = node_.world();
  auto& network = world.network();
  auto attempt = std::make_shared<millrace::sim::Network::Connecting>();
  attempt->node = &node_;
  attempt->life = node_.life();
  attempt->reactor = static_cast<SimReactor*>(&reactor);
  attempt->port = port;
  attempt->done = std::move(done);
  if (node_.is_dead()) {
    attempt->reactor->post([keep = std::move(attempt->done)] {});
    return;
  }
  attempt->target = network.find(host, node_.machine());
  if (attempt->target == nullptr) {
    return attempt->finish(Error{ErrorKind::io, fmt::format("connect to {}:{}: no such host", host, port)});
  }
  if (network.random_.chance(network.faults_.refuse)) {
    return attempt->finish(Error{ErrorKind::not_found, fmt::format("connect to {}:{}: connection refused", host, port)});
  }
  auto const wait = deadline >= Mono::never() - 24h * 365 ? Duration(120s) : std::max(deadline - node_.mono_now(), Duration(1ms));
  attempt->timeout = world.schedule(world.now() + wait, node_.life(), "connect timeout", [attempt, host, port] {
    attempt->timeout = kNoEvent;
    attempt->finish(Error{ErrorKind::io, fmt::format("connect to {}:{}: timed out", host, port)});
  });
  network.syn(attempt);
}

void NodeNetwork::freeze(CrashKind kind) {
  auto& network = node_.world().network();
  for (auto it = network.listeners_.begin(); it != network.listeners_.end();) {
    it = it->first.first == node_.machine().number() ? network.listeners_.erase(it) : std::next(it);
  }
  auto links = network.links_;  // closing takes links out
  for (auto& [number, link] : links) {
    for (int side : {0, 1}) {
      auto& end = link->ends[side];
      if (end.life != node_.life() || end.node == nullptr) continue;
      end.node = nullptr;
      end.is_dead = true;
      end.received.clear();
      // What is on the wire arrives, or a part of it, or nothing; regions die with the files of the process. A
      // process's kernel then resets; a machine without power says nothing until it is asked.
      auto& flying = end.flying;
      auto const first_region = static_cast<size_t>(
          std::find_if(flying.begin(), flying.end(), [](auto& piece) { return piece.held != nullptr; }) - flying.begin());
      while (!flying.empty() && (flying.size() > first_region || network.random_.chance(0.5))) {
        end.flying_bytes -= flying.back().count;
        graveyard_.push_back(std::move(flying.back()));
        flying.pop_back();
      }
      std::move(end.unsent.begin(), end.unsent.end(), std::back_inserter(graveyard_));
      network.drop_outgoing(*link, side);
      if (kind == CrashKind::process) network.send_reset(*link, side);
    }
  }
}

size_t NodeNetwork::destroy_queued() {
  auto const count = graveyard_.size();
  graveyard_.clear();
  return count;
}

// --- the network -------------------------------------------------------------------------------------------------

Network::Network(World& world) : world_(world), random_(world.random("network")) {}
Network::~Network() = default;

bool Network::is_cut(Machine const& from, Machine const& to) const {
  return cuts_.contains({from.number(), to.number()});
}

void Network::cut(Machine const& from, Machine const& to) {
  cuts_.insert({from.number(), to.number()});
  world_.trace().note(world_.now(), "cut", from.name(), to.number());
}

void Network::heal(Machine const& from, Machine const& to) {
  if (cuts_.erase({from.number(), to.number()}) == 0) return;
  world_.trace().note(world_.now(), "heal", from.name(), to.number());
  for (auto& [number, link] : std::map(links_)) {
    for (int side : {0, 1}) {
      auto& end = link->ends[side];
      if (end.machine != &from || link->ends[1 - side].machine != &to) continue;
      if (!end.is_delivery_scheduled && !end.flying.empty()) schedule_delivery(*link, side);
      // A peer that died unheard answers now.
      if (end.node == nullptr && end.machine->is_running()) send_reset(*link, side);
    }
  }
}

void Network::heal_all() {
  for (auto const& [from, to] : std::set(cuts_)) {
    heal(*world_.machines()[from - 1], *world_.machines()[to - 1]);
  }
}

void Network::reset_connections(Machine const& machine) {
  for (auto& [number, link] : std::map(links_)) {
    if (link->ends[0].machine != &machine && link->ends[1].machine != &machine) continue;
    for (int side : {0, 1}) on_reset(*link, side, "connection reset by peer");
  }
}

Machine* Network::find(std::string const& host, Machine& self) {
  if (host == "localhost" || host == "127.0.0.1" || host == "::1") return &self;
  for (auto const& machine : world_.machines()) {
    if (machine->name() == host || machine->ip() == host) return machine.get();
  }
  return nullptr;
}

LinkStyle Network::draw_style() {
  LinkStyle style;
  style.latency = std::chrono::microseconds(30 + random_.below(300));
  style.jitter = style.latency / 2;
  if (random_.chance(faults_.slow_link)) {
    style.latency = std::chrono::milliseconds(1 + random_.below(50));
    style.jitter = style.latency;
  }
  if (random_.chance(faults_.small_window)) {
    style.window_bytes = 64 + static_cast<int64_t>(random_.below(4096));
    style.segment_bytes_max = 1 + static_cast<int64_t>(random_.below(512));
  }
  if (random_.chance(faults_.byte_reads)) style.read_bytes_max = 1 + static_cast<int64_t>(random_.below(7));
  if (random_.chance(faults_.reset)) style.reset_after = static_cast<int64_t>(random_.below(20'000));
  return style;
}

Duration Network::draw_latency(Link const& link) {
  // TCP waits 200 ms before it sends again, and twice as long each time.
  if (faults_.late_segment > 0 && random_.chance(faults_.late_segment)) return 200ms * (1 << random_.below(5));
  return link.style.latency + Duration(static_cast<int64_t>(random_.below(static_cast<uint64_t>(link.style.jitter.count()) + 1)));
}

void Network::syn(std::shared_ptr<Connecting> const& attempt) {
  auto& from = attempt->node->machine();
  auto& to = *attempt->target;
  auto const number = next_link_++;
  auto link = std::make_shared<Link>();
  link->number = number;
  link->style = draw_style();
  auto& end = link->ends[0];
  end.machine = &from;
  end.life = attempt->life;
  end.node = attempt->node;
  end.reactor = attempt->reactor;
  end.address = {from.ip(), next_port_++};
  if (next_port_ < 40000) next_port_ = 40000;
  if (is_cut(from, to)) return;  // the SYN is lost; only the deadline ends this
  // The client end may die first: its life's events are destroyed, this one belongs to the world.
  world_.schedule(world_.now() + draw_latency(*link), kWorldLife, "syn", [this, weak = std::weak_ptr(attempt), link] {
    auto alive = weak.lock();
    if (!alive || !alive->done || alive->node->is_dead()) return;
    auto& target = *alive->target;
    auto& source = alive->node->machine();
    auto const found = listeners_.find({target.number(), alive->port});
    bool const is_up = target.is_running() && !target.node()->is_dead();
    if (!is_up && random_.chance(0.3)) return;  // the machine is off: nobody answers
    bool const is_accepted = is_up && found != listeners_.end() && found->second->offer(link);
    if (is_accepted) links_[link->number] = link;
    if (is_cut(target, source)) return;  // a half-open connection: the answer is lost
    auto const life = alive->life;
    world_.schedule(world_.now() + draw_latency(*link), life, "syn ack", [this, alive, link, is_accepted] {
      if (!alive->done) {
        if (is_accepted) send_reset(*link, 0);
        return;
      }
      if (!is_accepted) {
        return alive->finish(Error{ErrorKind::not_found, fmt::format("connect to {}:{}: connection refused",
                                                              alive->target->name(), alive->port)});
      }
      alive->finish(std::unique_ptr<env::Connection>(
          std::make_unique<SimConnection>(alive->node->node_network(), link, 0)));
    });
  });
}

void Network::drop_outgoing(Link& link, int side) {
  auto& end = link.ends[side];
  end.unsent.clear();
  end.unsent_bytes = 0;
}

void Network::drop_flying(Link& link, int side) {
  auto& end = link.ends[side];
  end.flying.clear();
  end.flying_bytes = 0;
}

// Nobody is at either end. A reset that is late may still hold the link, and must not hold files of a process with it.
void Network::forget(Link& link) {
  for (int side : {0, 1}) drop_flying(link, side);
  links_.erase(link.number);
}

void Network::pump(Link& link, int side) {
  auto& from = link.ends[side];
  auto& to = link.ends[1 - side];
  if (from.is_dead || from.node == nullptr || from.is_fin_sent || from.is_revoked) return;
  bool const had_unsent = from.unsent_bytes > 0;
  while (!from.unsent.empty()) {
    auto const room = link.style.window_bytes - from.flying_bytes - static_cast<int64_t>(to.received.size());
    if (room <= 0) break;
    auto& front = from.unsent.front();
    auto const count = std::min({front.count, room, link.style.segment_bytes_max});
    Link::Piece piece;
    piece.count = count;
    if (front.held) {
      piece.held = front.held;
      piece.position = front.position;
      front.position += count;
    } else {
      piece.bytes = SharedBytes::copy_of(front.bytes.view().subspan(0, static_cast<size_t>(count)));
      front.bytes = front.bytes.slice(static_cast<size_t>(count), front.bytes.size() - static_cast<size_t>(count));
    }
    front.count -= count;
    if (front.count == 0) from.unsent.pop_front();
    from.unsent_bytes -= count;
    from.flying_bytes += count;
    from.last_due = std::max(from.last_due, world_.now() + draw_latency(link));
    piece.due = from.last_due;
    from.flying.push_back(std::move(piece));
  }
  if (had_unsent && from.unsent.empty() && from.connection != nullptr && !from.is_sent_posted) {
    from.is_sent_posted = true;
    from.reactor->post([weak = link.weak_from_this(), side] {
      auto alive = weak.lock();
      if (!alive) return;
      auto& end = alive->ends[side];
      end.is_sent_posted = false;
      if (end.is_dead || end.connection == nullptr || end.unsent_bytes > 0) return;
      if (end.connection->events() != nullptr) end.connection->events()->on_sent();
    });
  }
  if (from.is_closing && from.unsent.empty() && !from.is_fin_sent) {
    from.is_fin_sent = true;
    from.last_due = std::max(from.last_due, world_.now() + draw_latency(link));
    from.flying.push_back({{}, nullptr, {}, 0, from.last_due});  // an empty piece is the FIN
    fail(link, side, "closed after the last answer");
  }
  if (!from.is_delivery_scheduled && !from.flying.empty()) schedule_delivery(link, side);
}

void Network::schedule_delivery(Link& link, int side) {
  auto& from = link.ends[side];
  from.is_delivery_scheduled = true;
  world_.schedule(from.flying.front().due, kWorldLife, "deliver", [this, weak = link.weak_from_this(), side] {
    if (auto alive = weak.lock()) deliver(*alive, side);
  });
}

void Network::stalled(Link& link, int side) {
  // Retransmissions go nowhere; after a while the kernel gives the connection up.
  auto const stuck = link.ends[side].delivered_bytes;
  world_.schedule(world_.now() + kStallTimeout, kWorldLife, "stalled", [this, weak = link.weak_from_this(), side, stuck] {
    auto alive = weak.lock();
    if (!alive || alive->ends[side].delivered_bytes != stuck || alive->ends[side].is_delivery_scheduled) return;
    if (!alive->ends[side].flying.empty() || alive->ends[1 - side].node == nullptr) on_reset(*alive, side, "timed out");
  });
}

void Network::deliver(Link& link, int side) {
  auto& from = link.ends[side];
  auto& to = link.ends[1 - side];
  from.is_delivery_scheduled = false;
  if (from.flying.empty() || from.is_revoked) return;
  if (to.machine != nullptr && is_cut(*from.machine, *to.machine)) return stalled(link, side);
  auto piece = std::move(from.flying.front());
  from.flying.pop_front();
  from.flying_bytes -= piece.count;
  bool const is_fin = piece.count == 0;
  bool must_reset = false;
  if (piece.held) {
    auto storage = SharedBytes::allocate(static_cast<size_t>(piece.count));
    auto const got = read_for_delivery(piece.held->lease->file(), piece.position, storage.mutable_view());
    auto const count = got.ok() ? *got : size_t{0};
    must_reset = count < storage.size();  // an announced length is sent whole, or the connection closes
    piece.bytes = storage.slice(0, count);
    piece.held.reset();
  }
  if (link.style.reset_after && from.delivered_bytes + static_cast<int64_t>(piece.bytes.size()) > *link.style.reset_after) {
    piece.bytes = piece.bytes.slice(0, static_cast<size_t>(*link.style.reset_after - from.delivered_bytes));
    must_reset = true;
  }
  from.delivered_bytes += static_cast<int64_t>(piece.bytes.size());
  world_.trace().note(world_.now(), "deliver", from.machine->name(), link.number, side, piece.bytes.size(),
                      Trace::hash_of(piece.bytes.view()));
  if (to.is_closing && to.is_fin_sent && to.node != nullptr) {
    // It closed in good order after its last answer: what still comes is thrown away, without a reset.
  } else if (to.node == nullptr || to.connection == nullptr || to.is_dead) {
    // Nobody is there: its kernel, once it runs again, answers with a reset.
    if (to.machine != nullptr && to.machine->is_running() && !is_fin) send_reset(link, 1 - side);
    else if (!is_fin) stalled(link, side);
  } else if (!to.is_reset) {
    auto const view = piece.bytes.view();
    to.received.insert(to.received.end(), view.begin(), view.end());
    if (is_fin) to.has_end = true;
    post_readable(link, 1 - side);
  }
  if (must_reset) {
    // Both ends hear of it a little later: what was delivered before may still be read.
    for (int each : {0, 1}) {
      drop_outgoing(link, each);
      drop_flying(link, each);
      link.ends[each].is_closing = link.ends[each].is_fin_sent = true;
      send_reset(link, each);
    }
    return;
  }
  if (is_fin && from.connection == nullptr && (to.connection == nullptr || to.is_fin_sent)) forget(link);
  if (!from.flying.empty()) schedule_delivery(link, side);
  else pump(link, side);
}

void Network::post_readable(Link& link, int side) {
  auto& end = link.ends[side];
  if (end.is_dead || end.connection == nullptr || end.node == nullptr || end.is_readable_posted) return;
  auto const is_due = [this](Link& l, int s) {
    auto& mine = l.ends[s];
    if (mine.is_dead || mine.connection == nullptr || mine.connection->events() == nullptr) return false;
    if (!mine.connection->is_reading()) return false;
    if (mine.has_end) return true;
    // The low-water mark is a hint that the kernel caps at half the window, and now and then it wakes early.
    auto const want = std::min<size_t>(mine.connection->low_water(), static_cast<size_t>(l.style.window_bytes / 2 + 1));
    return !mine.received.empty() && (mine.received.size() >= want || random_.chance(0.1));
  };
  if (!is_due(link, side)) return;
  end.is_readable_posted = true;
  end.reactor->post([this, weak = link.weak_from_this(), side] {
    auto alive = weak.lock();
    if (!alive) return;
    auto& mine = alive->ends[side];
    mine.is_readable_posted = false;
    if (mine.is_dead || mine.connection == nullptr || !mine.connection->is_reading()) return;
    mine.connection->events()->on_readable();
    post_readable(*alive, side);  // level-triggered
  });
}

void Network::send_reset(Link& link, int side) {
  auto& to = link.ends[1 - side];
  if (to.machine == nullptr) return;
  world_.schedule(std::max(world_.now() + draw_latency(link), link.ends[side].last_due), kWorldLife, "rst",
                  [this, keep = link.shared_from_this(), side] {
                    auto& far = keep->ends[1 - side];
                    if (is_cut(*keep->ends[side].machine, *far.machine)) return;
                    on_reset(*keep, 1 - side, "connection reset by peer");
                  });
}

void Network::on_reset(Link& link, int side, std::string const& reason) {
  auto& end = link.ends[side];
  end.is_reset = true;
  end.received.clear();
  drop_flying(link, side);
  drop_outgoing(link, side);
  fail(link, side, reason);
}

void Network::revoke(Link& link, int side) {
  // Called by the lease's owner, who must not be called back: the rest follows as an event of its own.
  link.ends[side].is_revoked = true;
  world_.schedule(world_.now(), kWorldLife, "revoke", [this, keep = link.shared_from_this(), side] {
    if (keep->ends[side].connection != nullptr) send_reset(*keep, side);
    on_reset(*keep, side, "a log was truncated under an answer");
  });
}

void Network::fail(Link& link, int side, std::string const& reason) {
  auto& end = link.ends[side];
  if (end.is_dead || end.connection == nullptr || end.node == nullptr) return;
  if (end.connection->events() == nullptr) return;  // told by start()
  end.is_dead = true;
  end.reactor->post([weak = link.weak_from_this(), side, reason] {
    auto alive = weak.lock();
    if (!alive) return;
    auto* connection = alive->ends[side].connection;
    if (connection != nullptr && connection->events() != nullptr) connection->events()->on_closed(reason);
  });
}

void Network::close(Link& link, int side, bool abort) {
  auto& end = link.ends[side];
  bool const had_node = end.node != nullptr;
  // After a reset the object still exists but gets no event; its destructor comes here again and does nothing.
  if (end.connection == nullptr) return;
  end.connection = nullptr;
  bool const was_dead = end.is_dead;
  end.is_dead = true;
  drop_outgoing(link, side);
  if (!had_node || (was_dead && end.is_fin_sent) || end.is_reset) {
    if (link.ends[1 - side].connection == nullptr) forget(link);
    return;
  }
  if (abort || !end.received.empty()) {
    drop_flying(link, side);
    send_reset(link, side);
    if (link.ends[1 - side].connection == nullptr) forget(link);
    return;
  }
  end.is_fin_sent = true;
  end.last_due = std::max(end.last_due, world_.now() + draw_latency(link));
  end.flying.push_back({{}, nullptr, {}, 0, end.last_due});
  if (!end.is_delivery_scheduled) schedule_delivery(link, side);
}

}  // namespace millrace::sim
