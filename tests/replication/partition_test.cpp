// The partition machine as stories: each line is an event, then what it caused and the state after it, compared whole.
// Proves: the mark waits for the slowest in-sync replica and for the sync in flush mode, replies wait for the mark,
// epochs fence, min.insync is asked before and after the append, and nothing waits for ever.
#include <gtest/gtest.h>

#include <sstream>

#include "millrace/replication/partition.h"

namespace millrace::replication {
namespace {

std::vector<BrokerId> ids(std::string const& text) {
  std::vector<BrokerId> out;
  std::stringstream in(text);
  for (std::string one; std::getline(in, one, ',');) out.emplace_back(std::stoi(one));
  return out;
}

// lead EPOCH REPLICAS ISR MIN START END MARK [flush] | replicas REPLICAS ISR [PARTITION-EPOCH] | brokers ID:EPOCH[!|~],...
// (! fenced, ~ leaving) | check | answer CHANGE accepted ISR PARTITION-EPOCH | answer CHANGE refused|outdated | rules MIN end|synced | append END |
// sync END | start OFFSET | fetch TICKET REPLICA EPOCH OFFSET [BROKER-EPOCH [START [diverging]]] | await TICKET OFFSET | await-sync TICKET OFFSET |
// give-up TICKET | await-start TICKET OFFSET | follow EPOCH LEADER END MARK [flush|no-epochs] | cut START END |
// marks EPOCH MARK | wait MS | resign
std::vector<BrokerFact> facts(std::string const& text) {
  std::vector<BrokerFact> out;
  std::stringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    auto const colon = one.find(':');
    out.push_back({BrokerId(std::stoi(one)), std::stoll(one.substr(colon + 1)), one.back() != '!', one.back() == '~'});
  }
  return out;
}

Event parse(std::string const& line, PartitionMachine const& machine) {
  std::stringstream in(line);
  std::string verb, a, b, flush;
  in >> verb;
  auto const number = [&] { int64_t n = 0; in >> n; return n; };
  auto const offset = [&] { return Offset(number()); };
  auto const epoch = [&] { return LeaderEpoch(static_cast<int32_t>(number())); };
  if (verb == "lead") {
    BecomeLeader event;
    event.epoch = epoch();
    in >> a >> b;
    event.self = BrokerId(1);
    event.replicas = ids(a);
    event.in_sync_replicas = ids(b);
    event.min_in_sync = static_cast<int32_t>(number());
    event.log_start_offset = offset();
    event.end_offset = offset();
    event.synced_offset = event.end_offset;
    event.high_watermark = offset();
    if (in >> flush) event.counts_at = LeaderCountsAt::synced;
    return event;
  }
  if (verb == "follow") {
    BecomeFollower event;
    event.epoch = epoch();
    event.leader = BrokerId(static_cast<int32_t>(number()));
    event.end_offset = offset();
    event.high_watermark = offset();
    while (in >> flush) {
      if (flush == "flush") event.counts_at = LeaderCountsAt::synced;
      if (flush == "no-epochs") event.has_epochs = false;
    }
    return event;
  }
  if (verb == "replicas") {
    in >> a >> b;
    auto partition_epoch = machine.partition_epoch() + 1;
    in >> partition_epoch;
    return ReplicasChanged{partition_epoch, ids(a), ids(b)};
  }
  if (verb == "brokers") { in >> a; return BrokersChanged{facts(a)}; }
  if (verb == "check") return CheckInSync{};
  if (verb == "answer") {
    IsrAnswered event;
    event.change = static_cast<uint64_t>(number());
    in >> a;
    event.verdict = a == "accepted" ? IsrVerdict::accepted : a == "refused" ? IsrVerdict::refused : IsrVerdict::outdated;
    if (in >> b) event.in_sync_replicas = ids(b);
    event.partition_epoch = static_cast<int32_t>(number());
    return event;
  }
  if (verb == "cut") { auto const start = offset(); return Truncated{start, offset()}; }
  if (verb == "marks") { auto const at = epoch(); return LeaderMarks{at, offset()}; }
  if (verb == "await-start") {
    auto const ticket = static_cast<Ticket>(number());
    return AwaitLogStart{ticket, offset()};
  }
  if (verb == "rules") {
    auto const minimum = static_cast<int32_t>(number());
    in >> a;
    return RulesChanged{minimum, a == "synced" ? LeaderCountsAt::synced : LeaderCountsAt::end};
  }
  if (verb == "append") return Appended{offset()};
  if (verb == "sync") return Synced{offset()};
  if (verb == "start") return LogStartMoved{offset()};
  if (verb == "fetch") {
    auto const ticket = static_cast<Ticket>(number());
    auto const replica = BrokerId(static_cast<int32_t>(number()));
    auto const at_epoch = epoch();
    FollowerFetched event{ticket, replica, at_epoch, offset()};
    if (int64_t n = 0; in >> n) event.broker_epoch = n;
    if (int64_t n = 0; in >> n) event.log_start_offset = Offset(n);
    event.is_diverging = static_cast<bool>(in >> a) && a == "diverging";
    return event;
  }
  if (verb == "await") {
    auto const ticket = static_cast<Ticket>(number());
    return AwaitCommitted{ticket, offset()};
  }
  if (verb == "await-sync") {
    auto const ticket = static_cast<Ticket>(number());
    return AwaitSynced{ticket, offset()};
  }
  if (verb == "give-up") return GiveUp{static_cast<Ticket>(number())};
  EXPECT_EQ(verb, "resign");
  return Resign{};
}

std::string step(PartitionMachine& machine, std::string const& line, Mono now) {
  Effects out;
  machine.on_event(parse(line, machine), now, out);
  std::string text;
  for (auto const& reply : out.replies) text += fmt::format("reply #{} {}; ", reply.ticket, name(reply.outcome));
  if (out.isr_change) {
    auto const& change = *out.isr_change;
    text += fmt::format("ask #{} at {}/{}", change.id, change.leader_epoch, change.partition_epoch);
    for (auto const& member : change.members) text += fmt::format(" {}@{}", member.id, member.broker_epoch);
    text += "; ";
  }
  if (out.truncate_to) text += fmt::format("cut to {}; ", *out.truncate_to);
  if (out.mark_moved) text += "mark moved; ";
  return text + machine.text();
}

void tell(std::vector<std::pair<std::string, std::string>> const& story) {
  PartitionMachine machine;
  Mono now{1s};
  for (auto const& [event, expected] : story) {
    if (event.starts_with("wait ")) {
      now = now + from_ms(std::stoll(event.substr(5)));
      continue;
    }
    EXPECT_EQ(step(machine, event, now), expected) << "after: " << event;
    now = now + 1ms;
  }
}

}  // namespace

TEST(PartitionMachine, alone_commits_what_it_has_appended) {
  tell({{"lead 3 1 1 1 0 10 4", "mark moved; leader epoch 3 start 0 mark 10 end 10"},
        {"append 12", "mark moved; leader epoch 3 start 0 mark 12 end 12"},
        {"await 1 12", "reply #1 done; leader epoch 3 start 0 mark 12 end 12"},
        {"start 5", "leader epoch 3 start 5 mark 12 end 12"}});
}

TEST(PartitionMachine, mark_waits_for_the_slowest_in_sync_replica) {
  tell({{"lead 1 1,2,3 1,2 1 0 0 0", "leader epoch 1 start 0 mark 0 end 0 2:-1 3?:-1"},
        {"append 5", "leader epoch 1 start 0 mark 0 end 5 2:-1 3?:-1"},
        {"await 1 5", "leader epoch 1 start 0 mark 0 end 5 2:-1 3?:-1 waiting #1>5"},
        {"append 7", "leader epoch 1 start 0 mark 0 end 7 2:-1 3?:-1 waiting #1>5"},
        {"await 2 7", "leader epoch 1 start 0 mark 0 end 7 2:-1 3?:-1 waiting #1>5 #2>7"},
        {"fetch 9 2 1 0", "reply #9 done; leader epoch 1 start 0 mark 0 end 7 2:0 3?:-1 waiting #1>5 #2>7"},
        // A duplicate of the first batch waits for the first batch's mark, in front of the second.
        {"await 3 5", "leader epoch 1 start 0 mark 0 end 7 2:0 3?:-1 waiting #1>5 #3>5 #2>7"},
        {"fetch 9 2 1 5",
         "reply #9 done; reply #1 done; reply #3 done; mark moved; leader epoch 1 start 0 mark 5 end 7 2:5 3?:-1 waiting "
         "#2>7"},
        {"fetch 9 3 1 6",
         "reply #9 done; leader epoch 1 start 0 mark 5 end 7 2:5 3?:6 waiting #2>7"},
        {"replicas 1,2,3 1,2,3", "leader epoch 1 start 0 mark 5 end 7 2:5 3:6 waiting #2>7"},
        {"fetch 9 2 1 7", "reply #9 done; mark moved; leader epoch 1 start 0 mark 6 end 7 2:7 3:6 waiting #2>7"},
        {"replicas 1,2,3 1,2", "reply #2 done; mark moved; leader epoch 1 start 0 mark 7 end 7 2:7 3?:6"}});
}

TEST(PartitionMachine, flush_mode_counts_the_leader_at_its_synced_end) {
  tell({{"lead 1 1 1 1 0 0 0 flush", "leader epoch 1 start 0 mark 0 end 0 synced 0"},
        {"append 4", "leader epoch 1 start 0 mark 0 end 4 synced 0"},
        {"await 1 4", "leader epoch 1 start 0 mark 0 end 4 synced 0 waiting #1>4"},
        {"append 6", "leader epoch 1 start 0 mark 0 end 6 synced 0 waiting #1>4"},
        {"sync 4", "reply #1 done; mark moved; leader epoch 1 start 0 mark 4 end 6 synced 4"},
        {"sync 2", "leader epoch 1 start 0 mark 4 end 6 synced 4"},
        {"rules 1 end", "mark moved; leader epoch 1 start 0 mark 6 end 6"}});
}

TEST(PartitionMachine, epochs_fence_and_a_new_one_refuses_who_waits) {
  tell({{"lead 4 1,2 1,2 1 0 3 2", "mark moved; leader epoch 4 start 0 mark 2 end 3 2:-1"},
        {"await 1 3", "leader epoch 4 start 0 mark 2 end 3 2:-1 waiting #1>3"},
        {"fetch 2 2 3 3", "reply #2 fenced_leader_epoch; leader epoch 4 start 0 mark 2 end 3 2:-1 waiting #1>3"},
        {"fetch 2 2 5 3", "reply #2 unknown_leader_epoch; leader epoch 4 start 0 mark 2 end 3 2:-1 waiting #1>3"},
        {"fetch 2 7 4 3", "reply #2 not_a_replica; leader epoch 4 start 0 mark 2 end 3 2:-1 waiting #1>3"},
        {"fetch 2 2 4 9", "reply #2 offset_out_of_range; leader epoch 4 start 0 mark 2 end 3 2:-1 waiting #1>3"},
        {"lead 3 1 1 1 0 3 2", "leader epoch 4 start 0 mark 2 end 3 2:-1 waiting #1>3"},
        // What the follower had under the old epoch says nothing about the new one.
        {"lead 5 1,2 1,2 1 0 3 2", "reply #1 not_leader; leader epoch 5 start 0 mark 2 end 3 2:-1"},
        {"await 2 3", "leader epoch 5 start 0 mark 2 end 3 2:-1 waiting #2>3"},
        {"follow 6 2 2 2", "reply #2 not_leader; mark moved; follower epoch 6 start 0 mark 2 end 2"},
        {"await 3 2", "reply #3 not_leader; follower epoch 6 start 0 mark 2 end 2"},
        {"fetch 4 2 6 2", "reply #4 not_leader; follower epoch 6 start 0 mark 2 end 2"}});
}

TEST(PartitionMachine, acks_of_the_leader_alone_wait_for_its_sync_where_they_are_told_to) {
  tell({{"lead 1 1,2 1,2 2 0 0 0 flush", "leader epoch 1 start 0 mark 0 end 0 synced 0 2:-1"},
        {"append 5", "leader epoch 1 start 0 mark 0 end 5 synced 0 2:-1"},
        {"await-sync 1 5", "leader epoch 1 start 0 mark 0 end 5 synced 0 2:-1 waiting for sync #1>5"},
        {"append 7", "leader epoch 1 start 0 mark 0 end 7 synced 0 2:-1 waiting for sync #1>5"},
        {"await-sync 2 7", "leader epoch 1 start 0 mark 0 end 7 synced 0 2:-1 waiting for sync #1>5 #2>7"},
        {"give-up 1", "leader epoch 1 start 0 mark 0 end 7 synced 0 2:-1 waiting for sync #1>5 #2>7"},
        // Neither the mark nor min.insync matters to them.
        {"replicas 1,2 1", "leader epoch 1 start 0 mark 0 end 7 synced 0 2?:-1 waiting for sync #1>5 #2>7"},
        {"sync 6", "reply #1 done; leader epoch 1 start 0 mark 0 end 7 synced 6 2?:-1 waiting for sync #2>7"},
        {"await-sync 3 4", "reply #3 done; leader epoch 1 start 0 mark 0 end 7 synced 6 2?:-1 waiting for sync #2>7"},
        {"lead 2 1,2 1 2 0 7 0 flush", "reply #2 not_leader; leader epoch 2 start 0 mark 0 end 7 synced 7 2?:-1"},
        {"append 9", "leader epoch 2 start 0 mark 0 end 9 synced 7 2?:-1"},
        {"await-sync 4 9", "leader epoch 2 start 0 mark 0 end 9 synced 7 2?:-1 waiting for sync #4>9"},
        {"resign", "reply #4 not_leader; none epoch 2 start 0 mark 0 end 9 synced 7"},
        {"await-sync 5 9", "reply #5 not_leader; none epoch 2 start 0 mark 0 end 9 synced 7"}});
}

TEST(PartitionMachine, min_in_sync_holds_the_mark) {
  tell({{"lead 1 1,2 1,2 2 0 0 0", "leader epoch 1 start 0 mark 0 end 0 2:-1"},
        {"append 2", "leader epoch 1 start 0 mark 0 end 2 2:-1"},
        {"await 1 2", "leader epoch 1 start 0 mark 0 end 2 2:-1 waiting #1>2"},
        {"replicas 1,2 1", "leader epoch 1 start 0 mark 0 end 2 2?:-1 waiting #1>2"},
        {"fetch 9 2 1 2", "reply #9 done; leader epoch 1 start 0 mark 0 end 2 2?:2 waiting #1>2"},
        {"give-up 1", "reply #1 timed_out; leader epoch 1 start 0 mark 0 end 2 2?:2"},
        {"replicas 1,2 1,2", "mark moved; leader epoch 1 start 0 mark 2 end 2 2:2"}});
  // Fewer replicas than the rule asks for: all of them are enough.
  tell({{"lead 1 1 1 2 0 0 0", "leader epoch 1 start 0 mark 0 end 0"},
        {"append 2", "mark moved; leader epoch 1 start 0 mark 2 end 2"}});
}

TEST(PartitionMachine, a_write_for_all_replicas_needs_enough_of_them) {
  PartitionMachine machine;
  EXPECT_EQ(machine.may_append(false), Outcome::not_leader);
  step(machine, "lead 1 1,2 1 2 0 0 0", Mono{});
  EXPECT_EQ(machine.may_append(true), Outcome::not_enough_replicas);
  EXPECT_EQ(machine.may_append(false), Outcome::done);
  EXPECT_EQ(machine.check_epoch(LeaderEpoch(0)), Outcome::fenced_leader_epoch);
  EXPECT_EQ(machine.check_epoch(LeaderEpoch(2)), Outcome::unknown_leader_epoch);
  EXPECT_EQ(machine.check_epoch(kNoLeaderEpoch), Outcome::done);
  step(machine, "resign", Mono{});
  EXPECT_EQ(machine.check_epoch(kNoLeaderEpoch), Outcome::not_leader);
}

// What makes an ISR grow: the mark and the epoch's start reached, under the broker epoch that is registered. From the
// question on the larger set counts.
TEST(PartitionMachine, in_sync_set_grows_by_who_has_all_that_was_committed) {
  tell({{"lead 4 1,2,3 1,2 1 0 10 6", "mark moved; leader epoch 4 start 0 mark 6 end 10 2:-1 3?:-1"},
        {"brokers 2:20,3:30", "leader epoch 4 start 0 mark 6 end 10 2:-1 3?:-1"},
        // At the mark, but what earlier leaders committed may reach up to the epoch's start.
        {"fetch 9 3 4 7 30", "reply #9 done; leader epoch 4 start 0 mark 6 end 10 2:-1 3?:7"},
        // Of an earlier life: it may have lost since what it says it has.
        {"fetch 9 3 4 10 29", "reply #9 stale_broker_epoch; leader epoch 4 start 0 mark 6 end 10 2:-1 3?:7"},
        {"brokers 2:20,3:31", "leader epoch 4 start 0 mark 6 end 10 2:-1 3?:7"},
        {"fetch 9 3 4 10 31", "reply #9 done; ask #1 at 4/0 1@-1 2@-1 3@31; leader epoch 4 start 0 mark 6 end 10 2:-1 3+:10 changing"},
        {"append 12", "leader epoch 4 start 0 mark 6 end 12 2:-1 3+:10 changing"},
        {"fetch 9 2 4 12 20", "reply #9 done; mark moved; leader epoch 4 start 0 mark 10 end 12 2:12 3+:10 changing"},
        // Nobody knows what the controller did; the metadata will tell.
        {"answer 1 outdated", "leader epoch 4 start 0 mark 10 end 12 2:12 3+:10 changing"},
        {"replicas 1,2,3 1,2,3 5", "leader epoch 4 start 0 mark 10 end 12 2:12 3:10"},
        {"replicas 1,2,3 1 5", "leader epoch 4 start 0 mark 10 end 12 2:12 3:10"},
        {"answer 1 accepted 1 9", "leader epoch 4 start 0 mark 10 end 12 2:12 3:10"}});
}

TEST(PartitionMachine, who_is_fenced_or_leaving_does_not_join) {
  tell({{"lead 1 1,2 1 1 0 0 0", "leader epoch 1 start 0 mark 0 end 0 2?:-1"},
        {"brokers 2:20!", "leader epoch 1 start 0 mark 0 end 0 2?:-1"},
        {"fetch 9 2 1 0 20", "reply #9 done; leader epoch 1 start 0 mark 0 end 0 2?:0"},
        {"append 2", "mark moved; leader epoch 1 start 0 mark 2 end 2 2?:0"},
        {"brokers 2:20~", "leader epoch 1 start 0 mark 2 end 2 2?:0"},
        {"fetch 9 2 1 2 20", "reply #9 done; leader epoch 1 start 0 mark 2 end 2 2?:2"},
        {"brokers 2:20", "leader epoch 1 start 0 mark 2 end 2 2?:2"},
        // One that is about to join is waited for.
        {"append 3", "leader epoch 1 start 0 mark 2 end 3 2?:2"},
        {"fetch 9 2 1 3 20", "reply #9 done; ask #1 at 1/0 1@-1 2@20; mark moved; leader epoch 1 start 0 mark 3 end 3 2+:3 changing"},
        {"answer 1 refused", "leader epoch 1 start 0 mark 3 end 3 2?:3"},
        {"fetch 9 2 1 3 20", "reply #9 done; leader epoch 1 start 0 mark 3 end 3 2?:3"},
        {"wait 500", ""},
        {"fetch 9 2 1 3 20", "reply #9 done; ask #2 at 1/0 1@-1 2@20; leader epoch 1 start 0 mark 3 end 3 2+:3 changing"},
        {"answer 2 accepted 1,2 1", "leader epoch 1 start 0 mark 3 end 3 2:3"}});
}

TEST(PartitionMachine, in_sync_set_shrinks_by_who_lags_too_long) {
  tell({{"lead 1 1,2,3 1,2,3 2 0 0 0", "leader epoch 1 start 0 mark 0 end 0 2:-1 3:-1"},
        {"fetch 9 2 1 0", "reply #9 done; leader epoch 1 start 0 mark 0 end 0 2:0 3:-1"},
        {"append 4", "leader epoch 1 start 0 mark 0 end 4 2:0 3:-1"},
        {"fetch 9 2 1 4", "reply #9 done; leader epoch 1 start 0 mark 0 end 4 2:4 3:-1"},
        {"check", "leader epoch 1 start 0 mark 0 end 4 2:4 3:-1"},
        {"await 1 4", "leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 waiting #1>4"},
        {"wait 30001", ""},
        {"check", "ask #1 at 1/0 1@-1 2@-1; leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 changing waiting #1>4"},
        // The larger set counts until the metadata log tells of the smaller one.
        {"fetch 9 2 1 4", "reply #9 done; leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 changing waiting #1>4"},
        {"check", "leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 changing waiting #1>4"},
        {"answer 1 accepted 1,2 1", "leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 changing waiting #1>4"},
        {"replicas 1,2,3 1,2 1", "reply #1 done; mark moved; leader epoch 1 start 0 mark 4 end 4 2:4 3?:-1"},
        // Who follows as fast as the leader writes is never far behind, even if it never is at the end.
        {"append 6", "leader epoch 1 start 0 mark 4 end 6 2:4 3?:-1"},
        {"fetch 9 2 1 5", "reply #9 done; mark moved; leader epoch 1 start 0 mark 5 end 6 2:5 3?:-1"},
        {"append 9", "leader epoch 1 start 0 mark 5 end 9 2:5 3?:-1"},
        {"wait 29000", ""},
        {"fetch 9 2 1 6", "reply #9 done; mark moved; leader epoch 1 start 0 mark 6 end 9 2:6 3?:-1"},
        {"wait 900", ""},
        {"check", "leader epoch 1 start 0 mark 6 end 9 2:6 3?:-1"}});
}

// The controller keeps 3 eligible by a min.insync.replicas of 3, of which the leader hears later than of its answer.
TEST(PartitionMachine, what_an_in_sync_set_commits_goes_by_the_rules_it_was_made_by) {
  tell({{"lead 1 1,2,3 1,2,3 2 0 0 0", "leader epoch 1 start 0 mark 0 end 0 2:-1 3:-1"},
        {"append 4", "leader epoch 1 start 0 mark 0 end 4 2:-1 3:-1"},
        {"fetch 9 2 1 4", "reply #9 done; leader epoch 1 start 0 mark 0 end 4 2:4 3:-1"},
        {"wait 30001", ""},
        {"check", "ask #1 at 1/0 1@-1 2@-1; leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 changing"},
        {"answer 1 accepted 1,2 1", "leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 changing"},
        {"rules 3 end", "leader epoch 1 start 0 mark 0 end 4 2:4 3:-1 changing"},
        {"replicas 1,2,3 1,2 1", "leader epoch 1 start 0 mark 0 end 4 2:4 3?:-1"}});
}

TEST(PartitionMachine, enough_replicas_are_asked_for_again_after_the_append) {
  tell({{"lead 1 1,2,3 1,2,3 2 0 0 0", "leader epoch 1 start 0 mark 0 end 0 2:-1 3:-1"},
        {"append 2", "leader epoch 1 start 0 mark 0 end 2 2:-1 3:-1"},
        {"fetch 9 2 1 2", "reply #9 done; leader epoch 1 start 0 mark 0 end 2 2:2 3:-1"},
        {"fetch 9 3 1 2", "reply #9 done; mark moved; leader epoch 1 start 0 mark 2 end 2 2:2 3:2"},
        {"replicas 1,2,3 1", "leader epoch 1 start 0 mark 2 end 2 2?:2 3?:2"},
        // A duplicate of what is committed, while too few are in sync.
        {"await 1 2", "reply #1 not_enough_replicas_after_append; leader epoch 1 start 0 mark 2 end 2 2?:2 3?:2"}});
}

TEST(PartitionMachine, a_diverging_fetch_counts_for_nothing) {
  tell({{"lead 3 1,2 1,2 1 0 5 2", "mark moved; leader epoch 3 start 0 mark 2 end 5 2:-1"},
        {"fetch 9 2 3 5 -1 0 diverging", "reply #9 done; leader epoch 3 start 0 mark 2 end 5 2:-1"},
        {"fetch 9 2 3 3", "reply #9 done; mark moved; leader epoch 3 start 0 mark 3 end 5 2:3"}});
}

TEST(PartitionMachine, a_follower_takes_what_its_leader_sends_under_this_epoch) {
  tell({{"follow 3 2 8 4", "mark moved; follower epoch 3 start 0 mark 4 end 8"},
        {"append 10", "follower epoch 3 start 0 mark 4 end 10"},
        {"marks 2 9", "follower epoch 3 start 0 mark 4 end 10"},
        {"marks 3 12", "mark moved; follower epoch 3 start 0 mark 10 end 10"},
        {"marks 3 9", "follower epoch 3 start 0 mark 10 end 10"},
        {"start 6", "follower epoch 3 start 6 mark 10 end 10"},
        // After an unclean election what was thought committed may go.
        {"cut 6 7", "mark moved; follower epoch 3 start 6 mark 7 end 7"},
        {"cut 20 20", "mark moved; follower epoch 3 start 20 mark 20 end 20"},
        {"follow 4 -1 20 20 no-epochs", "mark moved; follower epoch 4 start 0 mark 20 end 20"},
        // A log without epochs keeps what is committed.
        {"follow 5 2 25 20 no-epochs", "cut to 20; mark moved; follower epoch 5 start 0 mark 20 end 25"}});
  PartitionMachine machine;
  step(machine, "follow 3 2 8 4 flush", Mono{});
  EXPECT_TRUE(machine.may_apply(LeaderEpoch(3), Offset(8)));
  EXPECT_FALSE(machine.may_apply(LeaderEpoch(2), Offset(8)));
  EXPECT_FALSE(machine.may_apply(LeaderEpoch(3), Offset(7)));
  EXPECT_FALSE(machine.may_fetch());
  step(machine, "sync 8", Mono{});
  EXPECT_TRUE(machine.may_fetch());
  // Both know epoch 2; the leader does not, and the follower does not.
  EXPECT_EQ(machine.truncation_point({LeaderEpoch(2), Offset(6)}, {LeaderEpoch(2), Offset(7)}), Offset(6));
  EXPECT_EQ(machine.truncation_point({LeaderEpoch(2), Offset(9)}, {LeaderEpoch(2), Offset(5)}), Offset(5));
  EXPECT_EQ(machine.truncation_point({LeaderEpoch(2), Offset(6)}, {LeaderEpoch(1), Offset(4)}), Offset(4));
  EXPECT_EQ(machine.truncation_point({LeaderEpoch(2), Offset(6)}, {kNoLeaderEpoch, Offset(-1)}), Offset(6));
}

TEST(PartitionMachine, deleted_records_are_gone_everywhere_before_it_is_said) {
  tell({{"lead 1 1,2,3 1,2 1 0 8 8", "mark moved; leader epoch 1 start 0 mark 8 end 8 2:-1 3?:-1"},
        {"brokers 2:20,3:30!", "leader epoch 1 start 0 mark 8 end 8 2:-1 3?:-1"},
        {"start 5", "leader epoch 1 start 5 mark 8 end 8 2:-1 3?:-1"},
        {"await-start 1 5", "leader epoch 1 start 5 mark 8 end 8 2:-1 3?:-1 waiting for start #1>5"},
        {"fetch 9 2 1 8 20 4", "reply #9 done; leader epoch 1 start 5 mark 8 end 8 2:8 3?:-1 waiting for start #1>5"},
        {"fetch 9 2 1 8 20 5", "reply #9 done; reply #1 done; leader epoch 1 start 5 mark 8 end 8 2:8 3?:-1"},
        {"start 6", "leader epoch 1 start 6 mark 8 end 8 2:8 3?:-1"},
        {"await-start 2 6", "leader epoch 1 start 6 mark 8 end 8 2:8 3?:-1 waiting for start #2>6"},
        {"brokers 2:20!,3:30!", "reply #2 done; leader epoch 1 start 6 mark 8 end 8 2:8 3?:-1"}});
}

}  // namespace millrace::replication
