// A scripted member of a classic group: joins, syncs, heartbeats, and as the leader shares the partitions out. With
// `is_cooperative` it works as Kafka's cooperative-sticky consumers do: it goes on with what it owns while the group
// rebalances, gives up what it is not assigned any more, and then joins again.
#pragma once
#include <set>

#include "wire.h"

namespace load {

struct GroupOptions {
  std::string group_id;
  int32_t partition_count = 0;  // of the topic that is shared out; 0: assignments are a name
  int32_t session_timeout_ms = 45'000;
  Millis heartbeat_interval{3000};
  bool is_cooperative = false;
};

class Member {
 public:
  struct Events {
    std::function<void(Member&)> working;                       // has its assignment
    std::function<void(std::chrono::microseconds)> heard;       // a heartbeat was answered; how long that took
    std::function<void(Member&, int32_t, bool)> owns;           // a partition begins or ceases to be its
    std::function<void(Member&, millrace::ErrorCode)> refused;  // other than to rebalance
  };
  Member(Loop& loop, Connection& connection, GroupOptions const& options, Events const& events,
         std::optional<std::string> instance_id);

  void join();
  void stop() { ++life_; }  // asks nothing more and hears nothing more
  void start_heartbeats(Millis first);
  void spread_heartbeats(Millis first);  // the next one comes after `first`
  // Its metadata differs from now on, as after a change of its subscription.
  void change() { ++salt_; }

  bool is_working() const { return is_working_; }
  bool leads() const { return leads_; }
  int32_t generation() const { return generation_; }
  size_t group_size() const { return group_size_; }  // as the leader was told
  std::set<int32_t> const& owned() const { return owned_; }

  Millis join_delay{0};      // before it answers a rebalance with its Join
  bool is_scripted = false;  // does not join by itself

 private:
  void sync();
  void heartbeat();
  void schedule_heartbeat(Millis wait);
  void again() {
    if (!is_scripted) loop_.after(join_delay, guarded([this] { join(); }));
  }
  std::function<void()> guarded(std::function<void()> task);
  void on_joined(millrace::protocol::JoinGroupResponse const& answer);
  void on_assigned(millrace::ByteView bytes);
  void share_out(millrace::protocol::JoinGroupResponse const& answer);
  std::string metadata() const;

  Loop& loop_;
  Connection& connection_;
  GroupOptions const& options_;
  Events const& events_;
  std::optional<std::string> const instance_id_;
  std::string id_;
  int32_t generation_ = -1;
  bool leads_ = false, is_working_ = false, is_joining_ = false, has_heartbeats_ = false;
  size_t group_size_ = 0;
  uint64_t life_ = 0, beat_ = 0;
  int salt_ = 0;
  std::set<int32_t> owned_;
  std::map<std::string, std::string> shares_;  // by member, from the last Join that made it leader
};

}  // namespace load
