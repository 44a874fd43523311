// Scripted members of classic groups, and what the whole run knows of their groups: who owned which partition in which
// generation, and which commits were acknowledged. The ledger judges each answer as it comes.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/run/actor.h"

namespace millrace::sim {

// What all members saw of one group.
class GroupLedger {
 public:
  struct Commit {
    int32_t partition{};
    int64_t value{};
    int32_t generation{};
    int32_t newest_generation{};  // that anybody had worked in when it was sent
    bool is_fenced = false;       // another process had taken its member's place when it was sent
  };

  GroupLedger(Run& run, std::string id, int32_t partition_count)
      : run_(run), id_(std::move(id)), partitions_(static_cast<size_t>(partition_count)) {}

  std::string const& id() const { return id_; }
  int32_t partition_count() const { return static_cast<int32_t>(partitions_.size()); }
  size_t commits_ok() const { return commits_ok_; }
  int32_t newest_generation() const { return newest_generation_; }

  // `owner` is the process, whatever its member id.
  void on_assigned(std::string const& owner, int32_t generation, std::vector<int32_t> const& partitions);
  // Values rise, so that an offset that goes back shows.
  Commit begin_commit(int32_t partition, int32_t generation, bool is_fenced);
  void on_committed(Commit const& commit);
  void on_unknown(Commit const& commit);
  // The least that a fetch that is sent now may find, by partition.
  std::vector<int64_t> floor() const;
  void on_fetched(int32_t partition, int64_t value, int64_t floor);

 private:
  struct Partition {
    int64_t next_value = 1;
    int64_t acknowledged = -1;
    int32_t acknowledged_in = -1;
    std::map<int64_t, int32_t> unknown;  // value -> generation
  };
  Run& run_;
  std::string const id_;
  std::vector<Partition> partitions_;
  std::map<std::pair<int32_t, int32_t>, std::string> owners_;  // (generation, partition)
  int32_t newest_generation_ = 0;
  size_t commits_ok_ = 0;
};

// What the members of a run share.
struct GroupRun {
  bool is_rough = true;   // members pause, die, leave and change
  bool is_still = false;  // nobody commits or joins any more
  bool misses_coordinator = false;  // members give up a connection on which nothing is heard for a session
  bool is_disturbed = false;  // all the time
  Duration disturbed{};   // last time that anything but a member got in the way
  std::vector<GroupLedger*> groups;
};

class GroupMember final : public Actor {
 public:
  static constexpr int32_t kSessionMs = 6'000;
  static constexpr int32_t kRebalanceMs = 15'000;
  static constexpr Duration kAnswerLimit = 30s;  // request.timeout.ms, more than a rebalance takes

  GroupMember(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared, GroupLedger& group, std::string name,
              std::optional<std::string> instance_id);

  GroupLedger const& group() const { return group_; }
  bool is_working() const { return doing_ == Doing::working; }
  std::string describe() const;
  int32_t generation() const { return generation_; }
  std::vector<int32_t> const& owned() const { return owned_; }

 private:
  enum class Doing : uint8_t { nothing, joining, syncing, working };
  enum class Patience : uint8_t { session, answer_limit };
  // A process that was taken for dead and is not.
  struct Ghost {
    std::string member_id;
    int32_t generation{};
    std::vector<int32_t> owned;
  };

  void on_connected() override;
  void on_disconnected() override;
  void act_later();
  void act();
  void join();
  void sync();
  void heartbeat();
  void commit(std::string const& member_id, int32_t generation, int32_t partition, bool is_ghost);
  void fetch();
  void leave();
  void forget();
  void begin_asking(Patience patience);
  void failed(ErrorCode error);
  // Where there are several brokers, another one may coordinate the group by now.
  void look_for_coordinator_after(ErrorCode error);
  void on_assignment(ByteView bytes);

  GroupRun& shared_;
  GroupLedger& group_;
  std::optional<std::string> const instance_id_;
  std::string member_id_;
  int incarnation_ = 0;
  Doing doing_ = Doing::nothing;
  bool is_asking_ = false;
  uint64_t asked_count_ = 0;
  Duration asked_{};
  int32_t generation_ = -1;
  bool leads_ = false;
  std::vector<std::string> others_;
  std::vector<int32_t> owned_;
  int metadata_ = 0;
  std::optional<Ghost> ghost_;
  Duration paused_until_{};
  bool is_ticking_ = false;
  std::string last_refusal_;
  Duration heard_{};  // last time that the coordinator counted it as alive
};

// Groups without members: commits, deletes the group, and looks whether it stays so.
class GroupDeleter final : public Actor {
 public:
  GroupDeleter(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared);
  size_t deleted_count() const { return deleted_.size(); }

 private:
  void on_connected() override;
  void act_later();
  void act();

  GroupRun& shared_;
  bool is_ticking_ = false;
  int made_ = 0;
  std::vector<std::string> deleted_;
};

// Commits one offset in each group, without being a member: from then on no group is forgotten while it is empty, and a
// generation is never counted twice.
class GroupStarter final : public Actor {
 public:
  GroupStarter(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared);
  bool is_done() const { return next_ == shared_.groups.size(); }

 private:
  void on_connected() override { commit(); }
  void commit();

  GroupRun& shared_;
  size_t next_ = 0;
};

// Asks for every offset and the state of every group, once.
class GroupAsker final : public Actor {
 public:
  GroupAsker(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared);
  bool is_done() const { return is_done_; }
  std::string const& told() const { return told_; }

 private:
  void on_connected() override { ask(0); }
  void ask(size_t index);
  void describe(size_t index);
  void again(size_t index);

  GroupRun& shared_;
  std::string told_;
  bool is_done_ = false;
};

}  // namespace millrace::sim
