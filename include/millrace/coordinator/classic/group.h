// One classic group as it is now: its members, who waits for what, and the rules about them that need no record, no
// clock and no other group. Soft state: loading makes it anew from the stored group.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/coordinator/events.h"
#include "millrace/coordinator/group_store.h"
#include "millrace/coordinator/timers.h"

namespace millrace::coordinator {

inline constexpr std::string_view kConsumerProtocolType = "consumer";

enum class GroupState : uint8_t { empty, preparing_rebalance, completing_rebalance, stable };
std::string_view name(GroupState state);  // as Kafka spells it

struct Member {
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id, client_host;
  int32_t rebalance_timeout_ms{}, session_timeout_ms{};
  std::vector<Protocol> protocols;  // as the member prefers them
  Blob assignment;
  std::optional<Ticket> join, sync;  // who waits
  bool is_new = false;               // its first Join has not been answered
  bool owes_sync = false;            // has been answered a Join of this generation, and has not synced
  Timer session;

  bool has_protocols(std::vector<Protocol> const& other) const;
  Blob metadata(std::string_view protocol) const;
};

class ClassicGroup {
 public:
  using Members = std::map<std::string, Member, std::less<>>;

  // As the log has it: stable with its members, or empty. `stored` null: a group that only has offsets.
  ClassicGroup(std::string id, StoredGroup const* stored);

  std::string const& id() const { return id_; }
  GroupState state() const { return state_; }
  GroupState previous_state() const { return previous_state_; }
  void transition_to(GroupState state, Wall now);
  int64_t state_timestamp_ms() const { return state_timestamp_ms_; }
  int32_t generation() const { return generation_; }
  std::optional<std::string> const& protocol_type() const { return protocol_type_; }
  std::optional<std::string> const& protocol() const { return protocol_; }
  std::optional<std::string> const& leader() const { return leader_; }
  bool is_leader(std::string_view member_id) const { return leader_ && *leader_ == member_id; }

  Members const& members() const { return members_; }
  Members& members() { return members_; }
  Member* find(std::string_view member_id);
  Member const* find(std::string_view member_id) const;
  bool has(std::string_view member_id) const { return members_.contains(member_id); }
  // The member that an instance id stands for; null if none.
  std::string const* static_member(std::string_view instance_id) const;
  // none, unknown_member_id or fenced_instance_id.
  ErrorCode validate_member(std::string_view member_id, std::optional<std::string> const& instance_id) const;
  // May a member with these protocols be in this group?
  bool supports(std::string_view protocol_type, std::vector<Protocol> const& protocols) const;

  Member& add(Member member, std::string_view protocol_type);
  Member remove(std::string_view member_id);  // it exists; its timer and its waiters are the caller's
  void update(Member& member, std::vector<Protocol> protocols, int32_t rebalance_timeout_ms,
              int32_t session_timeout_ms);
  // The same member under a new id. The old one's timer and waiters must be settled.
  Member& replace_static(std::string const& instance_id, std::string const& new_id);
  // Sets who waits for the Join and returns whom that replaces.
  std::optional<Ticket> await_join(Member& member, Ticket ticket);
  std::optional<Ticket> take_join(Member& member);
  size_t awaiting_join_count() const { return awaiting_join_count_; }
  bool has_all_joined() const { return awaiting_join_count_ == members_.size() && pending_.empty(); }
  bool owes_syncs() const;

  // Given an id (KIP-394) and not back yet.
  std::map<std::string, Timer, std::less<>>& pending() { return pending_; }
  std::map<std::string, Timer, std::less<>> const& pending() const { return pending_; }

  // The leader has joined, or one that has takes its place; false if nobody has.
  bool elect_joined_leader();
  // What most members like best of what all support. There are members.
  std::string select_protocol() const;
  // The next generation with the members there are; at least one.
  void begin_generation(Wall now);
  // Nobody is left; what the record of it says.
  StoredGroup emptied(Wall now) const;
  void become_empty(StoredGroup const& stored);
  int32_t rebalance_timeout_ms() const;
  StoredGroup to_stored() const;  // with its members and their assignments
  bool is_subscribed(std::string_view topic) const;
  bool uses_consumer_protocol() const { return protocol_type_ == kConsumerProtocolType; }
  bool knows_subscriptions() const { return subscribed_topics_.has_value(); }

  void check_invariants() const;
  std::string text() const;

  Timer join_timer, sync_timer;
  Duration initial_delay_left{};  // how much longer the first rebalance may wait for further members
  Duration initial_delay_now{};   // of the wait that join_timer stands for
  bool is_initial_wait = false;
  bool has_new_member = false;  // since that wait began

 private:
  void count_protocols(Member const& member, int32_t change);
  void find_subscriptions();

  std::string id_;
  GroupState state_ = GroupState::empty;
  GroupState previous_state_ = GroupState::empty;
  int64_t state_timestamp_ms_ = -1;
  std::optional<std::string> protocol_type_, protocol_, leader_;
  int32_t generation_ = 0;
  Members members_;
  std::map<std::string, std::string, std::less<>> static_members_;  // instance id → member id
  std::map<std::string, size_t, std::less<>> supporters_;           // protocol → members that know it
  std::map<std::string, Timer, std::less<>> pending_;
  size_t awaiting_join_count_ = 0;
  // Of a consumer group whose subscriptions could be read.
  std::optional<std::set<std::string, std::less<>>> subscribed_topics_;
};

}  // namespace millrace::coordinator
