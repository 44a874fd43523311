// The simulated network: TCP between machines with latency, windows, split reads, one-way cuts, resets at any byte
// and half-open peers. A file region's bytes are read when they are delivered to the peer.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/env/network.h"
#include "sim/node.h"

namespace millrace::sim {

class SimConnection;
class SimListener;

// How one connection behaves; drawn when it is made.
struct LinkStyle {
  Duration latency = std::chrono::microseconds(100);
  Duration jitter = std::chrono::microseconds(50);
  int64_t window_bytes = 256 * 1024;   // in flight and unread at the receiver
  int64_t segment_bytes_max = 64 * 1024;
  int64_t read_bytes_max = 1 << 30;    // one read_some() returns at most so much, down to single bytes
  std::optional<int64_t> reset_after;  // bytes delivered in one direction until the connection is reset
};

// Probabilities for the connections of a run.
struct NetworkFaults {
  double slow_link = 0;       // milliseconds instead of microseconds
  double small_window = 0;    // a few hundred bytes
  double byte_reads = 0;      // single-byte reads
  double split_reads = 0.3;   // reads of a random size
  double reset = 0;           // reset after a random number of bytes
  double refuse = 0;          // a connect fails
  double late_segment = 0;    // lost and sent again, or in a long queue: the connection waits, others do not
};

// Shared by the two ends of a connection; outlives both.
struct Link : std::enable_shared_from_this<Link> {
  // A lease that this connection is registered with, for as long as a byte of its region is on the way.
  struct HeldLease {
    std::shared_ptr<env::RegionLease> lease;
    ~HeldLease() {
      if (lease) lease->unregister_sender(this);
    }
  };
  struct Piece {
    SharedBytes bytes;
    std::shared_ptr<HeldLease> held;  // then `position` and `count` say what
    Position position;
    int64_t count{};
    Duration due{};
  };
  struct End {
    Machine* machine{};
    LifeId life{};
    NodeEnv* node{};              // null once the life is over
    SimReactor* reactor{};
    SimConnection* connection{};  // null once closed
    env::SocketAddress address;
    bool is_dead{};               // no more event for the connection object
    // What this end receives.
    std::deque<std::byte> received;
    bool has_end{};
    bool is_reset{};
    bool is_revoked{};            // the bytes that it sends are about to change: none of them leaves any more
    bool is_readable_posted{};
    // What this end sends: not yet given to the kernel, and under way to the other end.
    std::deque<Piece> unsent;
    int64_t unsent_bytes{};
    std::deque<Piece> flying;
    int64_t flying_bytes{};
    int64_t delivered_bytes{};
    Duration last_due{};
    bool is_delivery_scheduled{};
    bool is_closing{};            // FIN follows what is unsent
    bool is_fin_sent{};
    bool is_sent_posted{};
  };
  uint64_t number{};
  LinkStyle style;
  End ends[2];
};

class Network {
 public:
  explicit Network(World& world);
  ~Network();

  NetworkFaults& faults() { return faults_; }
  // Nothing gets from `from` to `to`; what is under way waits, and a sender gives up after a while.
  void cut(Machine const& from, Machine const& to);
  void heal(Machine const& from, Machine const& to);
  void heal_all();
  bool is_cut(Machine const& from, Machine const& to) const;
  // Resets every connection between the two (or of the one) now.
  void reset_connections(Machine const& machine);
  size_t open_links() const { return links_.size(); }

 private:
  friend class NodeNetwork;
  friend class SimConnection;
  friend class SimListener;
  struct Connecting;

  Machine* find(std::string const& host, Machine& self);
  LinkStyle draw_style();
  Duration draw_latency(Link const& link);
  void syn(std::shared_ptr<Connecting> const& attempt);
  void pump(Link& link, int side);
  void schedule_delivery(Link& link, int side);
  void deliver(Link& link, int side);
  void after_received(Link& link, int side);
  void post_readable(Link& link, int side);
  void send_reset(Link& link, int side);            // from `side` to the other end, after a latency
  void on_reset(Link& link, int side, std::string const& reason);
  void fail(Link& link, int side, std::string const& reason);  // an event for `side`, and it is dead
  void revoke(Link& link, int side);                // the bytes being sent are about to change
  void drop_outgoing(Link& link, int side);         // what the kernel has not taken yet
  void drop_flying(Link& link, int side);           // what is under way
  void forget(Link& link);
  void close(Link& link, int side, bool abort);     // the connection object is going away
  void stalled(Link& link, int side);

  World& world_;
  Random random_;
  NetworkFaults faults_;
  std::set<std::pair<uint32_t, uint32_t>> cuts_;
  std::map<std::pair<uint32_t, uint16_t>, SimListener*> listeners_;
  std::map<uint64_t, std::shared_ptr<Link>> links_;
  uint64_t next_link_ = 1;
  uint16_t next_port_ = 40000;
};

// One process's view of the network.
class NodeNetwork final : public env::Network {
 public:
  explicit NodeNetwork(NodeEnv& node) : node_(node) {}
  Result<std::unique_ptr<env::Listener>> listen(env::ListenOptions const& options, env::AcceptHandler handler) override;
  void connect(env::Reactor& reactor, std::string const& host, uint16_t port, Mono deadline,
               Callback<void(Result<std::unique_ptr<env::Connection>>)> done) override;
  void freeze(CrashKind kind);
  int64_t live_objects() const { return live_objects_; }
  // Destroys what a crash left in the kernel's hands; returns how much there was.
  size_t destroy_queued();

 private:
  friend class SimConnection;
  friend class SimListener;
  NodeEnv& node_;
  int64_t live_objects_ = 0;
  // Leases must not be given back inside the call that crashes: their owner may be in the middle of its work.
  std::vector<Link::Piece> graveyard_;
};

}  // namespace millrace::sim
