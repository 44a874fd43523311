// Proves when a broker is fenced before its session ends: each condition alone keeps it from being, and each is
// missed when it is switched off.
#include "millrace/metadata/fencing.h"

#include <gtest/gtest.h>

#include "one_mutant.h"

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
  EXPECT_EQ(run.ended(kOne, 5).reached(kOne, 5).refused(kOne, 5).take(), "probe 1 in 0; probe 1 in 0; ");  // it listens
  run = begun();
  EXPECT_EQ(run.ended(kOne, 5).unknown(kOne, 5).take(), "probe 1 in 0; probe 1 in 0; ");  // a fault on the way
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
