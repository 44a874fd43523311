// Proves when a broker is fenced before its session ends: each condition alone keeps it from being, and each is
// missed when it is switched off.
#include "millrace/metadata/fencing.h"

#include <gtest/gtest.h>

#include <array>

#include "../base/one_mutant.h"
#include "millrace/base/random.h"

namespace millrace::metadata {
namespace {

using namespace fencing;

constexpr Duration kSession = 9s;
constexpr BrokerId kOne{1}, kTwo{2};

// What a run of events leads to, in text.
class Watched {
 public:
  explicit Watched(Hooks& hooks = Hooks::none()) : fencing_(kSession, hooks) {}

  Watched& heard(BrokerId broker, int64_t epoch, bool is_fenced = false) {
    Effects out;
    fencing_.on_heard(broker, epoch, is_fenced, now_, out);
    return note(out);
  }
  Watched& seen(BrokerId broker, int64_t epoch, bool is_fenced = false, bool in_shutdown = false) {
    Effects out;
    fencing_.on_seen(broker, epoch, is_fenced, in_shutdown, now_, out);
    return note(out);
  }
  Watched& ended(BrokerId broker, int64_t epoch, bool in_shutdown = false) {
    return event(HeartbeatConnectionEnded{broker, epoch, in_shutdown});
  }
  Watched& reached(BrokerId broker, int64_t epoch) { return event(Probed{broker, epoch, ProbeResult::reached}); }
  Watched& refused(BrokerId broker, int64_t epoch) { return event(Probed{broker, epoch, ProbeResult::refused}); }
  Watched& unknown(BrokerId broker, int64_t epoch) { return event(Probed{broker, epoch, ProbeResult::unknown}); }
  Watched& after(Duration time) {
    now_ = now_ + time;
    return *this;
  }
  std::string take() { return std::exchange(text_, ""); }
  bool has_session(BrokerId broker, int64_t epoch) const { return fencing_.has_session(broker, epoch, now_); }

 private:
  Watched& event(Event const& event) {
    Effects out;
    fencing_.on_event(event, now_, out);
    return note(out);
  }
  Watched& note(Effects const& effects) {
    fencing_.check_invariants();
    for (auto const& effect : effects) {
      if (auto const* probe = std::get_if<Probe>(&effect)) {
        auto const wait = std::chrono::duration_cast<std::chrono::milliseconds>(probe->at - now_).count();
        text_ += fmt::format("probe {} in {}; ", probe->broker, wait);
      } else {
        text_ += fmt::format("fence {}; ", std::get<Fence>(effect).broker);
      }
    }
    return *this;
  }

  Fencing fencing_;
  Mono now_{};
  std::string text_;
};

TEST(Fencing, WhoIsProvedToBeGoneIsFencedAtOnce) {
  Watched run;
  EXPECT_EQ(run.heard(kOne, 5).take(), "probe 1 in 0; ");
  EXPECT_EQ(run.reached(kOne, 5).heard(kOne, 5).take(), "");
  EXPECT_EQ(run.ended(kOne, 5).take(), "probe 1 in 0; ");
  EXPECT_EQ(run.refused(kOne, 5).take(), "probe 1 in 50; ");
  EXPECT_EQ(run.after(50ms).refused(kOne, 5).take(), "fence 1; ");
}

TEST(Fencing, WhoIsOnItsWayOutIsTriedUntilItsListenerIsGone) {
  Watched run;
  run.heard(kOne, 5).reached(kOne, 5).take();
  EXPECT_EQ(run.ended(kOne, 5).take(), "probe 1 in 0; ");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run.reached(kOne, 5).after(50ms).take(), "probe 1 in 50; ");
  EXPECT_EQ(run.refused(kOne, 5).after(50ms).refused(kOne, 5).take(), "probe 1 in 50; fence 1; ");
}

TEST(Fencing, ASilentBrokerHasItsSession) {
  Watched run;
  run.heard(kOne, 5);
  EXPECT_TRUE(run.after(kSession - 1ms).has_session(kOne, 5));
  EXPECT_FALSE(run.has_session(kOne, 6));
  EXPECT_FALSE(run.after(1ms).has_session(kOne, 5));
  EXPECT_FALSE(run.has_session(kTwo, 5));
}

TEST(Fencing, ABrokerThatMayLiveIsLeftToItsSession) {
  auto const begun = [] { return Watched().heard(kOne, 5).reached(kOne, 5); };
  auto run = begun();
  run.take();
  EXPECT_EQ(run.ended(kOne, 5, true).take(), "");                           // it said so before
  EXPECT_EQ(run.ended(kOne, 4).take(), "");                                 // another registration's connection
  EXPECT_EQ(run.ended(kTwo, 5).take(), "");                                 // never heard of
  run = begun();
  run.take();
  EXPECT_EQ(run.ended(kOne, 5).reached(kOne, 5).refused(kOne, 5).take(), "probe 1 in 0; probe 1 in 50; probe 1 in 50; ");
  EXPECT_EQ(run.reached(kOne, 5).heard(kOne, 5).reached(kOne, 5).take(), "probe 1 in 50; ");  // it listens, and says so
  run = begun();
  run.take();
  EXPECT_EQ(run.ended(kOne, 5).unknown(kOne, 5).take(), "probe 1 in 0; probe 1 in 50; ");   // a fault on the way
  EXPECT_EQ(run.after(kSession).unknown(kOne, 5).take(), "");
  run = begun();
  run.ended(kOne, 5).refused(kOne, 5).take();
  EXPECT_EQ(run.heard(kOne, 5).refused(kOne, 5).take(), "");                // heard of between the two
  run = begun();
  run.ended(kOne, 5).refused(kOne, 5).take();
  EXPECT_EQ(run.heard(kOne, 6).refused(kOne, 5).take(), "probe 1 in 0; ");  // another process already
  EXPECT_EQ(Watched().heard(kOne, 5, true).take(), "");                         // fenced: there is nothing to watch
}

TEST(Fencing, ABrokerNeverReachedIsLeftToItsSession) {
  Watched run;
  EXPECT_EQ(run.heard(kOne, 5).refused(kOne, 5).take(), "probe 1 in 0; ");
  EXPECT_EQ(run.ended(kOne, 5).take(), "");
}

TEST(Fencing, OneBrokerASession) {
  Watched run;
  for (auto id : {kOne, kTwo}) run.heard(id, 5).reached(id, 5);
  run.ended(kOne, 5).ended(kTwo, 5).take();  // both at once: this node's network, perhaps
  EXPECT_EQ(run.refused(kOne, 5).refused(kTwo, 5).take(), "probe 1 in 50; probe 2 in 50; ");
  EXPECT_EQ(run.after(50ms).refused(kOne, 5).refused(kTwo, 5).take(), "fence 1; ");
  EXPECT_EQ(run.ended(kTwo, 5).take(), "");
  run.after(kSession).heard(kTwo, 5);
  EXPECT_EQ(run.ended(kTwo, 5).refused(kTwo, 5).refused(kTwo, 5).take(), "probe 2 in 0; probe 2 in 50; fence 2; ");
}

// The controller before this one fenced the first; its successor must not fence another one as soon.
TEST(Fencing, OneBrokerASessionUnderTwoControllers) {
  Watched run;
  for (auto id : {kOne, kTwo}) run.seen(id, 5).reached(id, 5);
  run.seen(kOne, 5, true).after(1s).seen(kTwo, 5).take();
  EXPECT_EQ(run.ended(kTwo, 5).take(), "");
  EXPECT_EQ(run.after(kSession - 1s).ended(kTwo, 5).take(), "probe 2 in 0; ");
  // One that said it would stop, or registers once more, was not taken to be gone.
  Watched other;
  for (auto id : {kOne, kTwo}) other.seen(id, 5).reached(id, 5);
  other.seen(kOne, 5, true, true).seen(kOne, 6, true).take();
  EXPECT_EQ(other.ended(kTwo, 5).take(), "probe 2 in 0; ");
}

// A storm: connections end, answers get lost, controllers take over from each other, in any order. Who lives may not be
// reached, but never refuses, and is never fenced early; of those that are dead, or seem so to a broken wall that refuses
// for them, one a session is, though that one again and again.
TEST(Fencing, InAStormNobodyWhoListensIsFencedAndOfOthersOneASession) {
  constexpr int kBrokers = 6, kControllers = 3, kSteps = 4000;
  int fenced_count = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    auto const chance = [&](int percent) { return static_cast<int>(random.between(0, 99)) < percent; };
    std::vector<Fencing> controllers(kControllers, Fencing(kSession, Hooks::none()));
    std::array<bool, kBrokers> refuses{}, fenced{};
    std::array<int64_t, kBrokers> epochs{};
    size_t last_fenced = kBrokers;  // none
    Mono fenced_at{};
    std::vector<std::pair<size_t, Probe>> probes;
    size_t active = 0;
    Mono now = Mono{} + kSession;
    auto const everybody_looks = [&] {
      for (size_t c = 0; c < kControllers; ++c) {
        if (c == active) continue;
        Effects out;
        for (int b = 0; b < kBrokers; ++b) controllers[c].on_seen(BrokerId{b}, epochs[b], fenced[b], false, now, out);
        for (auto const& effect : out) probes.emplace_back(c, std::get<Probe>(effect));
      }
    };
    auto const perform = [&](size_t c, Effects const& effects) {
      for (auto const& effect : effects) {
        if (auto const* probe = std::get_if<Probe>(&effect)) {
          probes.emplace_back(c, *probe);
          continue;
        }
        if (c != active) continue;  // it cannot append
        auto const broker = static_cast<size_t>(std::get<Fence>(effect).broker.value);
        EXPECT_TRUE(refuses[broker]) << "broker " << broker << " listens";
        EXPECT_TRUE(last_fenced == broker || now - fenced_at >= kSession);
        last_fenced = broker;
        fenced_at = now;
        fenced[broker] = true;
        ++fenced_count;
        everybody_looks();
      }
    };
    everybody_looks();
    for (int step = 0; step < kSteps; ++step) {
      now = now + std::chrono::milliseconds(random.between(0, 20));
      auto const broker = static_cast<size_t>(random.between(0, kBrokers - 1));
      Effects out;
      if (chance(5)) refuses[broker] = !refuses[broker];
      if (!refuses[broker] && chance(30)) {  // a heartbeat, perhaps of a new registration
        if (chance(3)) {
          epochs[broker] += 1;
          fenced[broker] = true;
        }
        fenced[broker] = false;
        controllers[active].on_heard(BrokerId{static_cast<int>(broker)}, epochs[broker], false, now, out);
        everybody_looks();
      }
      if (chance(30)) {
        controllers[active].on_event(HeartbeatConnectionEnded{BrokerId{static_cast<int>(broker)}, epochs[broker], false}, now, out);
      }
      perform(active, out);
      if (chance(2)) {
        everybody_looks();
        active = static_cast<size_t>(random.between(0, kControllers - 1));
        out.clear();
        for (int b = 0; b < kBrokers; ++b) controllers[active].on_seen(BrokerId{b}, epochs[b], fenced[b], false, now, out);
        perform(active, out);
      }
      for (size_t i = 0; i < probes.size();) {
        if (probes[i].second.at > now || chance(50)) {
          ++i;
          continue;
        }
        auto const [c, probe] = probes[i];
        probes.erase(probes.begin() + static_cast<ptrdiff_t>(i));
        auto const result = chance(20) ? ProbeResult::unknown
                            : refuses[static_cast<size_t>(probe.broker.value)] ? ProbeResult::refused
                                                                             : ProbeResult::reached;
        Effects then;
        controllers[c].on_event(Probed{probe.broker, probe.epoch, result}, now, then);
        controllers[c].check_invariants();
        perform(c, then);
      }
    }
  }
  EXPECT_GT(fenced_count, 50);
}

TEST(Fencing, NoticesBrokenRules) {
  auto const has_fenced = [](std::string const& text) { return text.find("fence") != std::string::npos; };
  OneMutant unreached("metadata.fence_unreached"), first("metadata.fence_at_first_refusal"), epoch("metadata.fence_other_epoch"),
      many("metadata.fence_many");
  auto const never_reached = [&](Hooks& hooks) {
    Effects out;
    Fencing machine(kSession, hooks);
    machine.on_heard(kOne, 5, false, Mono{}, out);
    for (Event const& event : {Event(HeartbeatConnectionEnded{kOne, 5, false}), Event(Probed{kOne, 5, ProbeResult::refused}),
                               Event(Probed{kOne, 5, ProbeResult::refused})}) {
      machine.on_event(event, Mono{}, out);
    }
    return std::holds_alternative<Fence>(out.back());
  };
  EXPECT_FALSE(never_reached(Hooks::none()));
  EXPECT_TRUE(never_reached(unreached));
  auto const once = [&](Hooks& hooks) { return has_fenced(Watched(hooks).heard(kOne, 5).reached(kOne, 5).ended(kOne, 5).refused(kOne, 5).take()); };
  EXPECT_FALSE(once(Hooks::none()));
  EXPECT_TRUE(once(first));
  auto const late = [&](Hooks& hooks) {
    Watched run(hooks);
    run.heard(kOne, 5).reached(kOne, 5).heard(kOne, 6).reached(kOne, 6).ended(kOne, 6).refused(kOne, 6);
    return has_fenced(run.refused(kOne, 5).take());
  };
  EXPECT_FALSE(late(Hooks::none()));
  EXPECT_TRUE(late(epoch));
  auto const two = [&](Hooks& hooks) {
    Watched run(hooks);
    for (auto id : {kOne, kTwo}) run.heard(id, 5).reached(id, 5).ended(id, 5).refused(id, 5).refused(id, 5);
    return run.take().find("fence 2") != std::string::npos;
  };
  EXPECT_FALSE(two(Hooks::none()));
  EXPECT_TRUE(two(many));
}

}  // namespace
}  // namespace millrace::metadata
