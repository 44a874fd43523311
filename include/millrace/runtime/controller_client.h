// Where a handler goes with a change of metadata: the active controller, in this process or another.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/task.h"
#include "millrace/base/time.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/env/reactor.h"
#include "millrace/metadata/controller_api.h"
#include "millrace/metadata/fencing.h"
#include "millrace/raft/messages.h"
#include "millrace/raft/types.h"
#include "millrace/runtime/pause_watch.h"

namespace millrace::runtime {

// The metadata quorum as DescribeQuorum tells it.
struct QuorumReplica {
  raft::ReplicaKey key;
  Offset log_end;
  int64_t last_fetch_ms = -1;
  int64_t last_caught_up_ms = -1;
};
struct QuorumDescription {
  BrokerId leader = kNoBroker;
  LeaderEpoch epoch{-1};
  Offset high_watermark{-1};
  int16_t kraft_version = 0;
  std::vector<QuorumReplica> voters, observers;
  std::vector<raft::Voter> nodes;  // the voters' endpoints
  bool is_leader = false;          // this node; only a leader knows how far the others are
  int64_t leaders_seen = 0;        // in this life of the node
  Duration without_leader{};       // all the time in which it knew of none, but for that before the first
};

// Where a voter, a leader or a bootstrap server is reached.
struct RaftAddress {
  BrokerId id;  // bootstrap servers: -2, -3, ...
  std::string host;
  uint16_t port{};
};

// The answer to a request of another voter or an observer.
struct RaftAnswer {
  raft::Response response;
  std::vector<SharedBytes> records;   // of a Fetch: whole batches; of a FetchSnapshot: one piece
  std::optional<RaftAddress> leader;  // where to find the one that the response names
};

// On whose behalf a request is passed on to the controller.
struct ForwardedFrom {
  SharedBytes principal;           // as brokers tell each other
  std::vector<std::byte> address;  // of the client, 4 or 16 bytes
};

class ControllerClient {
 public:
  static constexpr size_t kRequestsMax = 4096;  // outstanding; above it a request is answered request_timed_out

  virtual ~ControllerClient() = default;

  // Any thread. Asks the active controller, in this process or another. `done` runs once on `back`'s thread: with what
  // was decided and committed, or with an error alone: request_timed_out at `deadline` (the change may still come),
  // not_controller. A deadline that has passed already changes nothing. What was decided here, every thread of this
  // node has an image of; what was decided elsewhere comes with a later publication.
  virtual void submit(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                      Callback<void(metadata::ControllerAnswer)> done) = 0;
  // The same, but decides here or not at all: not_controller when another process leads.
  virtual void submit_here(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                           Callback<void(metadata::ControllerAnswer)> done) {
    submit(std::move(request), deadline, back, std::move(done));
  }
  // Any thread. False: a client's request must be passed on.
  virtual bool is_active() const { return true; }
  // Any thread. Passes a client's request, a frame without its length, on to the active controller. `done` runs on
  // `back`'s thread with the answer's frame, or with nothing: this process is the active controller now, or there was
  // none until `deadline`; the request is to be answered here.
  virtual void forward(SharedBytes frame, ForwardedFrom from, Mono deadline, env::Reactor& back,
                       Callback<void(std::optional<SharedBytes>)> done) {
    static_cast<void>(frame), static_cast<void>(from), static_cast<void>(deadline);
    back.post([done = std::move(done)]() mutable { std::move(done)(std::nullopt); });
  }

  // Any thread. The connection that a broker's heartbeats came by is closed.
  virtual void heartbeat_connection_ended(metadata::fencing::HeartbeatConnectionEnded ended) { static_cast<void>(ended); }

  // Any thread. The next producer id of this node's block; asks the controller for another block when it is used up.
  virtual void next_producer_id(Mono deadline, env::Reactor& back, Callback<void(Result<ProducerId>)> done) = 0;

  // Any thread. A request of another member of the metadata quorum; `done` on `back`'s thread, or never if this node
  // stops before.
  virtual void submit_raft(raft::Request request, std::optional<RaftAddress> leader, env::Reactor& back,
                           Callback<void(RaftAnswer)> done) {
    static_cast<void>(request), static_cast<void>(leader), static_cast<void>(back), static_cast<void>(done);
  }

  // Any thread. Whether what this node leads counts as led by it; lives as long as this.
  virtual LeaderStanding const& standing() const {
    static LeaderStanding const kAlways{};
    return kAlways;
  }

  // Any thread.
  virtual QuorumDescription describe_quorum() const = 0;
  virtual BrokerId active_controller() const = 0;  // kNoBroker: none known
};

// Submits to the controller of this process and gives the typed answer:
//   submit_as<metadata::CreateTopicsAnswer>(controller, std::move(request), deadline, reactor, [..](auto answer) {...});
template <class Answer, class Done>
void submit_as(ControllerClient& controller, metadata::ControllerRequest request, Mono deadline, env::Reactor& back, Done done) {
  controller.submit_here(std::move(request), deadline, back,
                    [done = std::move(done)](metadata::ControllerAnswer answer) mutable {
                      done(std::get<Answer>(std::move(answer)));
                    });
}

}  // namespace millrace::runtime
