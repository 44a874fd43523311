// Fetches from one leader what the replicas in one log directory follow: ordinary Fetches of an incremental session, one
// at a time, the next one when what came has been appended. A directory that is slow holds back only its own replicas.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/client/connection.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

struct ReplicaFetchOptions {
  Duration wait_max = 500ms;                   // replica.fetch.wait.max.ms
  int32_t bytes_min = 1;                       // replica.fetch.min.bytes
  int32_t partition_bytes_max = 1 << 20;       // replica.fetch.max.bytes
  int32_t response_bytes_max = 10 << 20;       // replica.fetch.response.max.bytes
  Duration backoff = 1s;                       // replica.fetch.backoff.ms: what waits grow to
  Duration request_timeout = 30s;              // replica.socket.timeout.ms
};

// Where a leader's inter-broker listener is.
struct BrokerAddress {
  std::string host;
  uint16_t port{};
  friend bool operator==(BrokerAddress const&, BrokerAddress const&) = default;
};

class ReplicaFetcher final : public std::enable_shared_from_this<ReplicaFetcher> {
 public:
  static constexpr Duration kBackoffMin = 10ms;
  // A Fetch that is not answered for so long waits at the leader for records; a partition that comes new does not wait
  // for that one's end.
  static constexpr Duration kParkedAfter = 10ms;
  // Appending that takes longer than this holds back only its own partition.
  static constexpr Duration kStragglerWait = 100ms;
  // Above the answer's limit comes at least one batch whole, however large.
  static constexpr int64_t kOversizeBytesMax = 200 << 20;

  // `broker_epoch` is this node's, -1 until it is registered; it outlives this.
  ReplicaFetcher(env::Env& env, RunList& run_list, BrokerId self, BrokerId leader, std::atomic<int64_t> const& broker_epoch,
                 ReplicaFetchOptions options);

  BrokerId leader() const { return leader_; }

  // Any thread; carried out in the order of the calls.
  void set_address(std::optional<BrokerAddress> address);  // none: it is not registered
  void add(std::shared_ptr<PartitionDriver> partition, LeaderEpoch epoch);
  void remove(TopicIdPartition id);
  void registered();  // the broker epoch is known, or a new one
  void stop();

 private:
  enum class State : uint8_t {
    beginning,  // its driver was asked where to begin
    ready,
    fetching,   // in the Fetch that is under way
    applying,   // its driver appends or cuts
    waiting,    // until retry_at
  };
  struct Part {
    std::shared_ptr<PartitionDriver> driver;
    LeaderEpoch epoch;
    State state = State::beginning;
    FetchPosition position;
    Duration backoff{};
    Mono retry_at;
    uint64_t generation = 0;  // of what its driver was asked last
  };
  using Parts = std::map<TopicIdPartition, Part>;
  using Reply = client::Reply<protocol::FetchResponse>;

  env::Reactor& reactor() { return run_list_.reactor(); }
  template <class F>
  void on_reactor(F task);
  void ask_begin(TopicIdPartition const& id, Part& part);
  FollowDone when_applied(TopicIdPartition const& id, Part& part);
  void on_applied(TopicIdPartition const& id, uint64_t generation, FollowAnswer const& answer);
  void pump();
  void connect();
  void send();
  void on_reply(Result<Reply> reply);
  void on_partition(TopicIdPartition const& id, Part& part, protocol::FetchResponse::PartitionData const& data, SharedBytes const& frame);
  void ask_leaders_range(TopicIdPartition const& id, Part& part);
  void set_state(Part& part, State state);
  void back_off(Part& part);
  void lose_connection(std::string const& reason);
  void drop_connection();
  void maybe_interrupt();
  void arm(Mono when);
  // The next Fetch asks for a new one and still names the old one, which the leader then drops, as with Kafka.
  void close_session() { session_.clear(), session_epoch_ = 0; }

  env::Env& env_;
  RunList& run_list_;
  BrokerId const self_;
  BrokerId const leader_;
  std::atomic<int64_t> const& broker_epoch_;
  ReplicaFetchOptions const options_;

  // The reactor's.
  Parts parts_;
  std::optional<BrokerAddress> address_;
  std::shared_ptr<client::Connection> connection_;
  bool is_connecting_ = false;
  uint64_t connections_ = 0;  // what comes back for an earlier one is dropped
  Duration connect_backoff_{};
  Mono connect_at_;
  bool is_fetching_ = false;
  Mono fetch_sent_at_;
  size_t applying_ = 0;       // parts in that state
  Mono applying_since_;
  uint64_t generations_ = 0;
  std::map<TopicIdPartition, FetchPosition> session_;  // as the leader knows it
  int32_t session_id_ = 0;     // 0: the leader has never given one
  int32_t session_epoch_ = 0;  // of the next Fetch; 0: it asks for a new session
  env::TimerId timer_ = env::kNoTimer;
  Mono timer_at_ = Mono::never();
  bool is_stopped_ = false;
};

}  // namespace millrace::runtime
