// Connections to the other voters: two to each, so that a Fetch that waits does not hold back a Vote. One request at
// a time on each; a newer one takes the place of an older whose answer nobody waits for. Control reactor only.
#pragma once
#include <map>
#include <memory>

#include "millrace/client/connection.h"
#include "millrace/runtime/raft_driver.h"

namespace millrace::runtime {

class RaftPeers {
 public:
  // `driver` owns this.
  RaftPeers(env::Env& env, RaftDriver& driver) : env_(env), reactor_(env.control_reactor()), driver_(driver) {}

  void send(raft::effect::Send const& send);
  void stop();

 private:
  enum class Line : uint8_t { elections, fetches };
  struct Channel {
    std::shared_ptr<client::Connection> connection;
    RaftAddress address;
    bool is_busy = false;
    uint64_t generation = 0;  // of what is under way; what comes back for another is dropped
  };
  using Key = std::pair<BrokerId, Line>;

  void open(Key key, raft::effect::Send send, Mono deadline);
  void call(Key key, raft::effect::Send const& send, Mono deadline);
  template <class Response, class Request>
  void call_as(Key key, raft::RequestId id, Request const& request, Mono deadline,
               std::function<void(client::Reply<Response>&, raft::Response&, std::vector<SharedBytes>&)> read);
  void finish(Key key, raft::RequestId id, raft::Response response, std::vector<SharedBytes> records);
  void fail(Key key, raft::RequestId id, raft::event::Failure failure);
  void learn(auto const& endpoints, BrokerId leader);
  // Of an answer about the one partition; learns where the leader is. `top` is none only if that partition is there.
  raft::Verdict verdict_in(auto const& message);

  env::Env& env_;
  env::Reactor& reactor_;
  RaftDriver& driver_;
  std::map<Key, Channel> channels_;
  uint64_t generations_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::runtime
