// The quorum's algorithm, pure: events in, effects out; no clock, no disk, no network. Its driver performs the effects
// of one event in order and feeds completions back. Elections follow KRaft; a vote is durable before it is spoken, a
// record is committed when a majority of voters has it on disk and it belongs to the leader's own epoch or an earlier
// record of that epoch's leader change is.
//
// This machine is complete for a quorum of one voter. create() refuses more.
#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "millrace/base/hooks.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/raft/types.h"

namespace millrace::raft {

using AppendId = uint64_t;

enum class Role : uint8_t { unattached, candidate, leader };

struct MachineConfig {
  ReplicaKey self;
};

// What was found on disk at start.
struct LoadedState {
  std::optional<ElectionState> election;
  LogEnd log_end;
  Offset high_watermark{0};   // known to be committed: the end of the newest snapshot
  int16_t kraft_version = 0;
  VoterSet voters;            // from the log, a snapshot or the configuration
  // The voters are not in the log as they are here (they come from the bootstrap checkpoint, or this node's address
  // has changed): the next leader writes them there.
  bool voters_are_unwritten = false;
};

namespace event {
struct Started {};
struct ElectionPersisted {  // the last PersistElection is durable
  LeaderEpoch epoch;
};
struct AppendRequested {    // `record_count` records that the driver holds under `id`
  AppendId id{};
  LeaderEpoch epoch;        // of the leadership under which they were decided
  int32_t record_count{};
};
struct AppendDurable {      // everything below `end` is on disk
  Offset end;
};
}  // namespace event
using Event = std::variant<event::Started, event::ElectionPersisted, event::AppendRequested, event::AppendDurable>;

namespace effect {
// Write the file and sync it; then ElectionPersisted. Nothing that follows in the same list may be done before.
struct PersistElection {
  ElectionState state;
};
// Append the control batch that starts an epoch: LeaderChange, and when asked for KRaftVersion and KRaftVoters.
struct AppendLeaderChange {
  LeaderEpoch epoch;
  Offset base;
  std::vector<ReplicaKey> voters, granting_voters;
  BrokerId leader;
  bool with_voters = false;
};
// Append the records held under `id`, first offset `base`; sync; then AppendDurable.
struct Append {
  AppendId id{};
  LeaderEpoch epoch;
  Offset base;
};
struct RefuseAppend {  // not the leader of that epoch
  AppendId id{};
};
// This node leads `epoch`; its records begin at `start`.
struct BecameLeader {
  LeaderEpoch epoch;
  Offset start;
};
struct Committed {  // every record below is
  Offset high_watermark;
};
}  // namespace effect
using Effect = std::variant<effect::PersistElection, effect::AppendLeaderChange, effect::Append, effect::RefuseAppend,
                            effect::BecameLeader, effect::Committed>;
using Effects = std::vector<Effect>;

class Machine {
 public:
  // Errors: unsupported (more voters than one, or this node is not the one).
  static Result<Machine> create(MachineConfig config, LoadedState loaded, Hooks& hooks);

  void on_event(Event const& event, Mono now, Effects& out);

  Role role() const { return role_; }
  LeaderEpoch epoch() const { return election_.epoch; }
  BrokerId leader() const { return election_.leader; }
  ElectionState const& election() const { return election_; }
  LogEnd log_end() const { return log_end_; }
  Offset durable_end() const { return durable_end_; }
  Offset high_watermark() const { return high_watermark_; }
  Offset epoch_start() const { return epoch_start_; }
  VoterSet const& voters() const { return voters_; }
  int16_t kraft_version() const { return kraft_version_; }
  ReplicaKey const& self() const { return config_.self; }

  void check_invariants() const;

 private:
  Machine(MachineConfig config, LoadedState loaded, Hooks& hooks);
  void on(event::Started const&, Mono now, Effects& out);
  void on(event::ElectionPersisted const&, Mono now, Effects& out);
  void on(event::AppendRequested const&, Mono now, Effects& out);
  void on(event::AppendDurable const&, Mono now, Effects& out);
  void start_election(Effects& out);
  void become_leader(Effects& out);
  void advance_high_watermark(Effects& out);

  MachineConfig config_;
  Hooks* hooks_;
  Role role_ = Role::unattached;
  ElectionState election_;            // as last handed to PersistElection
  LeaderEpoch persisted_epoch_{-1};
  LogEnd log_end_;
  Offset durable_end_;
  Offset high_watermark_;
  Offset epoch_start_{-1};
  int16_t kraft_version_;
  VoterSet voters_;
  bool voters_are_unwritten_;
};

}  // namespace millrace::raft
