// Proves, as stories in text, that a quorum of one elects itself, commits nothing before it is durable, commits
// records of earlier epochs only with one of its own, and refuses what it cannot serve.
#include "millrace/raft/machine.h"

#include <gtest/gtest.h>

namespace millrace::raft {
namespace {

std::string text(Effect const& effect) {
  struct {
    std::string operator()(effect::PersistElection const& e) {
      return fmt::format("persist epoch={} leader={} voted={}", e.state.epoch, e.state.leader,
                         e.state.voted ? fmt::format("{}", e.state.voted->id) : "-");
    }
    std::string operator()(effect::AppendLeaderChange const& e) {
      return fmt::format("leader-change epoch={} base={} leader={} voters={} granting={}{}", e.epoch, e.base, e.leader,
                         e.voters.size(), e.granting_voters.size(), e.with_voters ? " with-voters" : "");
    }
    std::string operator()(effect::Append const& e) { return fmt::format("append id={} epoch={} base={}", e.id, e.epoch, e.base); }
    std::string operator()(effect::RefuseAppend const& e) { return fmt::format("refuse id={}", e.id); }
    std::string operator()(effect::BecameLeader const& e) { return fmt::format("lead epoch={} start={}", e.epoch, e.start); }
    std::string operator()(effect::Committed const& e) { return fmt::format("committed {}", e.high_watermark); }
  } visitor;
  return std::visit(visitor, effect);
}

class Story {
 public:
  explicit Story(LoadedState loaded, BrokerId self = BrokerId{1}) {
    auto made = Machine::create({{self, Uuid{{7}}}}, std::move(loaded), Hooks::none());
    EXPECT_TRUE(made);
    machine_ = std::make_unique<Machine>(*std::move(made));
  }
  std::string on(Event const& event) {
    Effects effects;
    machine_->on_event(event, Mono{}, effects);
    machine_->check_invariants();
    std::string out;
    for (auto const& effect : effects) out += text(effect) + "\n";
    return out;
  }
  Machine& machine() { return *machine_; }

 private:
  std::unique_ptr<Machine> machine_;
};

VoterSet voters(int count) {
  VoterSet set;
  for (int i = 1; i <= count; ++i) set.voters.push_back({{BrokerId{i}, i == 1 ? Uuid{{7}} : Uuid{{8}}}, {}});
  return set;
}

LoadedState fresh() {
  LoadedState loaded;
  loaded.voters = voters(1);
  return loaded;
}

TEST(RaftMachine, FreshNodeElectsItselfAndCommitsWhenDurable) {
  auto loaded = fresh();
  loaded.kraft_version = 1;
  loaded.voters_are_unwritten = true;
  Story story(loaded);
  EXPECT_EQ(story.on(event::Started{}), "persist epoch=1 leader=-1 voted=1\n");
  EXPECT_EQ(story.on(event::AppendRequested{5, LeaderEpoch{1}, 2}), "refuse id=5\n");
  EXPECT_EQ(story.on(event::ElectionPersisted{LeaderEpoch{1}}),
            "persist epoch=1 leader=1 voted=-\n"
            "leader-change epoch=1 base=0 leader=1 voters=1 granting=1 with-voters\n"
            "lead epoch=1 start=0\n");
  EXPECT_EQ(story.on(event::ElectionPersisted{LeaderEpoch{1}}), "");
  EXPECT_EQ(story.on(event::AppendRequested{6, LeaderEpoch{1}, 2}), "append id=6 epoch=1 base=3\n");
  EXPECT_EQ(story.on(event::AppendRequested{7, LeaderEpoch{1}, 1}), "append id=7 epoch=1 base=5\n");
  EXPECT_EQ(story.machine().high_watermark(), Offset{0});
  EXPECT_EQ(story.on(event::AppendDurable{Offset{3}}), "committed 3\n");
  EXPECT_EQ(story.on(event::AppendDurable{Offset{6}}), "committed 6\n");
  EXPECT_EQ(story.on(event::AppendDurable{Offset{5}}), "");
}

TEST(RaftMachine, RestartTakesTheNextEpochAndCommitsTheOldTailWithIt) {
  auto loaded = fresh();
  loaded.election = ElectionState{LeaderEpoch{4}, BrokerId{1}, {}};
  loaded.log_end = {Offset{100}, LeaderEpoch{4}};
  loaded.high_watermark = Offset{80};
  Story story(loaded);
  EXPECT_EQ(story.on(event::Started{}), "persist epoch=5 leader=-1 voted=1\n");
  EXPECT_EQ(story.on(event::ElectionPersisted{LeaderEpoch{5}}),
            "persist epoch=5 leader=1 voted=-\n"
            "leader-change epoch=5 base=100 leader=1 voters=1 granting=1\n"
            "lead epoch=5 start=100\n");
  EXPECT_EQ(story.on(event::AppendDurable{Offset{100}}), "");  // an old record alone commits nothing
  EXPECT_EQ(story.on(event::AppendDurable{Offset{101}}), "committed 101\n");
}

TEST(RaftMachine, RefusesAnAppendDecidedUnderAnotherEpoch) {
  Story story(fresh());
  story.on(event::Started{});
  story.on(event::ElectionPersisted{LeaderEpoch{1}});
  EXPECT_EQ(story.on(event::AppendRequested{9, LeaderEpoch{0}, 1}), "refuse id=9\n");
}

TEST(RaftMachine, DoesNotStartWhereItWouldLie) {
  auto create = [](LoadedState loaded, BrokerId self) {
    return Machine::create({{self, Uuid{{7}}}}, std::move(loaded), Hooks::none());
  };
  auto three = fresh();
  three.voters = voters(3);
  EXPECT_FALSE(create(three, BrokerId{1}));
  EXPECT_FALSE(create(fresh(), BrokerId{2}));
  auto wiped = fresh();  // same id, another directory
  wiped.voters.voters[0].key.directory = Uuid{{9}};
  EXPECT_FALSE(create(wiped, BrokerId{1}));
  auto forgotten = fresh();  // the log knows an epoch that the vote does not
  forgotten.election = ElectionState{LeaderEpoch{2}, BrokerId{1}, {}};
  forgotten.log_end = {Offset{10}, LeaderEpoch{3}};
  EXPECT_FALSE(create(forgotten, BrokerId{1}));
  auto short_log = fresh();  // a snapshot past the end of the log
  short_log.high_watermark = Offset{11};
  EXPECT_FALSE(create(short_log, BrokerId{1}));
}

}  // namespace
}  // namespace millrace::raft
