// A broker's registration and its heartbeats as stories: events in, what it does and where it stands, compared whole.
// Proves that it registers once it knows the registration before it, says that it has caught up as soon as it has, asks
// again after failures with growing pauses, comes back after its session was lost, leaves in order, and gives up when
// nobody answers.
#include "millrace/runtime/broker_lifecycle.h"

#include <gtest/gtest.h>

#include <sstream>

namespace millrace::runtime {
namespace {

using namespace lifecycle;

class Story {
 public:
  explicit Story(BrokerLifecycleConfig config = {}) : machine_(config) {}

  // One line an event; what it caused stands below it after "  ", and the state after "=".
  std::string tell(std::string const& events) {
    std::stringstream in(events);
    std::string out;
    for (std::string line; std::getline(in, line);) {
      std::stringstream words(line);
      std::string word;
      words >> word;
      int64_t a = -1, b = -1;
      std::string flag;
      Event event;
      if (word == "wait") {  // MS
        words >> a;
        now_ = now_ + from_ms(a);
        continue;
      }
      if (word == "start") event = event::Started{};
      if (word == "image") {  // OFFSET EPOCH [fenced | awaited]
        words >> a >> b >> flag;
        event = event::Published{Offset{a}, b, flag == "fenced", flag == "awaited"};
      }
      if (word == "registered") {
        words >> a;
        event = event::RegistrationAnswered{ErrorCode::none, a, ""};
      }
      if (word == "refused") {  // ERROR
        words >> a;
        event = event::RegistrationAnswered{static_cast<ErrorCode>(a), -1, "no"};
      }
      if (word == "ok") {
        words >> flag;
        event = event::HeartbeatAnswered{ErrorCode::none, flag == "fenced", flag == "go"};
      }
      if (word == "error") {
        words >> a;
        event = event::HeartbeatAnswered{static_cast<ErrorCode>(a), true, false};
      }
      if (word == "stop") event = event::ShutdownRequested{};
      if (word == "news") event = event::NewsToTell{};
      if (word == "timer") {
        EXPECT_NE(timer_, Mono::never());
        now_ = timer_;
        timer_ = Mono::never();
        event = event::TimerFired{};
      }
      Effects effects;
      machine_.on_event(event, now_, effects);
      machine_.check_invariants();
      out += "> " + line + "\n";
      for (auto const& effect : effects) out += text(effect);
      out += "= " + machine_.text() + "\n";
    }
    return out;
  }

 private:
  static int64_t ms(Mono at) { return at == Mono::never() ? -1 : to_ms(at.since_start); }

  std::string text(Effect const& effect) {
    return std::visit(
        [&]<class E>(E const& e) -> std::string {
          if constexpr (std::is_same_v<E, effect::Register>) {
            return fmt::format("  register after {} until {}\n", e.previous_epoch, ms(e.deadline));
          } else if constexpr (std::is_same_v<E, effect::Heartbeat>) {
            return fmt::format("  heartbeat {} at {}{} until {}\n", e.epoch, e.metadata_offset,
                               e.want_shut_down ? " wants to go" : "", ms(e.deadline));
          } else if constexpr (std::is_same_v<E, effect::SetTimer>) {
            timer_ = e.at;
            return fmt::format("  timer at {}\n", ms(e.at));
          } else if constexpr (std::is_same_v<E, effect::CancelTimer>) {
            timer_ = Mono::never();
            return "";
          } else if constexpr (std::is_same_v<E, effect::Registered>) {
            return fmt::format("  has epoch {}\n", e.epoch);
          } else if constexpr (std::is_same_v<E, effect::Unfenced>) {
            return "  serves\n";
          } else if constexpr (std::is_same_v<E, effect::ShutDown>) {
            return "  gone\n";
          } else {
            return fmt::format("  failed: {}\n", e.reason.substr(0, 32));
          }
        },
        effect);
  }

  BrokerLifecycle machine_;
  Mono now_{};
  Mono timer_ = Mono::never();
};

TEST(BrokerLifecycle, registers_and_serves_when_its_own_registration_has_come_back) {
  EXPECT_EQ(Story().tell("start\nimage 7 3 fenced\nregistered 9\nimage 9 9 fenced\nok\nimage 10 9\ntimer\nok"),
            R"(> start
  timer at 60000
= starting epoch -1
> image 7 3 fenced
  register after 3 until 4500
  timer at 60000
= registering epoch -1 image 7 epoch 3 fenced asking
> registered 9
  has epoch 9
  timer at 2000
= fenced epoch 9 image 7 epoch 3 fenced
> image 9 9 fenced
  heartbeat 9 at 9 until 4500
= fenced epoch 9 image 9 epoch 9 fenced asking
> ok
  timer at 2000
= fenced epoch 9 image 9 epoch 9 fenced
> image 10 9
  serves
= running epoch 9 image 10 epoch 9
> timer
  heartbeat 9 at 10 until 6500
= running epoch 9 image 10 epoch 9 asking
> ok
  timer at 4000
= running epoch 9 image 10 epoch 9
)");
}

TEST(BrokerLifecycle, who_may_have_lost_something_names_no_registration_before) {
  BrokerLifecycleConfig config;
  config.previous_epoch = -1;
  EXPECT_EQ(Story(config).tell("start\nimage 7 3"), R"(> start
  timer at 60000
= starting epoch -1
> image 7 3
  register after -1 until 4500
  timer at 60000
= registering epoch -1 image 7 epoch 3 asking
)");
}

// The metadata log may be newer than an old copy of the data, or older than what the controller knows.
TEST(BrokerLifecycle, names_the_registration_that_its_data_goes_with_whatever_the_image_says) {
  BrokerLifecycleConfig config;
  config.previous_epoch = 5;
  for (std::string const image : {"3", "7", "-1"}) {
    auto const told = Story(config).tell("start\nimage 7 " + image);
    EXPECT_NE(told.find("register after 5 until 4500\n"), std::string::npos) << told;
  }
  // Once registered, it has told.
  auto const told = Story(config).tell("start\nimage 7 7\nregistered 9\nimage 9 9 fenced\nerror 77\ntimer");
  EXPECT_NE(told.find("register after 9 until "), std::string::npos) << told;
}

TEST(BrokerLifecycle, asks_again_with_growing_pauses_and_ends_when_nobody_registers_it) {
  BrokerLifecycleConfig config;
  config.registration_timeout = 500ms;
  EXPECT_EQ(Story(config).tell("start\nimage 0 -1\nrefused 7\ntimer\nrefused 41\ntimer\nrefused 7\ntimer"), R"(> start
  timer at 500
= starting epoch -1
> image 0 -1
  register after -1 until 500
  timer at 500
= registering epoch -1 image 0 epoch -1 asking
> refused 7
  timer at 100
= registering epoch -1 image 0 epoch -1
> timer
  register after -1 until 500
  timer at 500
= registering epoch -1 image 0 epoch -1 asking
> refused 41
  timer at 300
= registering epoch -1 image 0 epoch -1
> timer
  register after -1 until 500
  timer at 500
= registering epoch -1 image 0 epoch -1 asking
> refused 7
  timer at 500
= registering epoch -1 image 0 epoch -1
> timer
  failed: no controller answered within 0 
= ended epoch -1 image 0 epoch -1
)");
}

TEST(BrokerLifecycle, what_will_not_change_ends_it_at_once) {
  // INCONSISTENT_CLUSTER_ID; DUPLICATE_BROKER_REGISTRATION may pass.
  EXPECT_NE(Story().tell("start\nimage 0 -1\nrefused 104").find("failed: no"), std::string::npos);
  EXPECT_EQ(Story().tell("start\nimage 0 -1\nrefused 101").find("failed"), std::string::npos);
}

TEST(BrokerLifecycle, is_fenced_and_comes_back_and_registers_anew_when_its_epoch_is_unknown) {
  auto const begin = std::string("start\nimage 0 -1\nregistered 5\nimage 5 5 fenced\nok\nimage 6 5\n");
  auto const told = Story().tell(begin + "image 9 5 fenced\nok\nimage 10 5\ntimer\nerror 77\ntimer\nregistered 12");
  EXPECT_EQ(told.substr(told.find("> image 9")), R"(> image 9 5 fenced
  heartbeat 5 at 9 until 4500
= fenced epoch 5 image 9 epoch 5 fenced asking
> ok
  timer at 2000
= fenced epoch 5 image 9 epoch 5 fenced
> image 10 5
= running epoch 5 image 10 epoch 5
> timer
  heartbeat 5 at 10 until 6500
= running epoch 5 image 10 epoch 5 asking
> error 77
  timer at 2100
= registering epoch 5 image 10 epoch 5
> timer
  register after 5 until 6600
= registering epoch 5 image 10 epoch 5 asking
> registered 12
  has epoch 12
  timer at 4100
= fenced epoch 12 image 10 epoch 5
)");
}

TEST(BrokerLifecycle, what_changes_while_it_asks_is_told_next) {
  auto const begin = std::string("start\nimage 0 -1\nregistered 5\nimage 5 5 fenced\nok\nimage 6 5\ntimer\n");
  auto const told = Story().tell(begin + "news\nok\nok");
  EXPECT_EQ(told.substr(told.find("> news")), R"(> news
= running epoch 5 image 6 epoch 5 asking hurried
> ok
  heartbeat 5 at 6 until 6500
= running epoch 5 image 6 epoch 5 asking
> ok
  timer at 4000
= running epoch 5 image 6 epoch 5
)");
}

TEST(BrokerLifecycle, says_what_it_knows_when_another_broker_waits_for_that) {
  auto const begin = std::string("start\nimage 0 -1\nregistered 5\nimage 5 5 fenced\nok\nimage 6 5\nwait 400\n");
  auto const told = Story().tell(begin + "image 7 5 awaited\nok\nimage 8 5 awaited\ntimer\nimage 9 5 awaited\nok\ntimer\nok\nimage 10 5");
  EXPECT_EQ(told.substr(told.find("> image 7")), R"(> image 7 5 awaited
  heartbeat 5 at 7 until 4900
= running epoch 5 image 7 epoch 5 asking
> ok
  timer at 2400
= running epoch 5 image 7 epoch 5
> image 8 5 awaited
  timer at 450
= running epoch 5 image 8 epoch 5
> timer
  heartbeat 5 at 8 until 4950
= running epoch 5 image 8 epoch 5 asking
> image 9 5 awaited
= running epoch 5 image 9 epoch 5 asking awaited
> ok
  timer at 500
= running epoch 5 image 9 epoch 5
> timer
  heartbeat 5 at 9 until 5000
= running epoch 5 image 9 epoch 5 asking
> ok
  timer at 2500
= running epoch 5 image 9 epoch 5
> image 10 5
= running epoch 5 image 10 epoch 5
)");
}

TEST(BrokerLifecycle, a_heartbeat_from_before_the_stop_ends_nothing) {
  auto const begin = std::string("start\nimage 0 -1\nregistered 5\nimage 5 5 fenced\nok\nimage 6 5\ntimer\nstop\n");
  auto told = Story().tell(begin + "ok\nok go");
  EXPECT_EQ(told.substr(told.find("> stop")), R"(> stop
  timer at 5000
= shutting down epoch 5 image 6 epoch 5 asking hurried
> ok
  heartbeat 5 at 6 wants to go until 5000
  timer at 5000
= shutting down epoch 5 image 6 epoch 5 asking
> ok go
  gone
= ended epoch 5 image 6 epoch 5
)");
  told = Story().tell(begin + "error 7\nerror 7");
  EXPECT_EQ(told.substr(told.find("> error")), R"(> error 7
  heartbeat 5 at 6 wants to go until 5000
  timer at 5000
= shutting down epoch 5 image 6 epoch 5 asking
> error 7
  gone
= ended epoch 5 image 6 epoch 5
)");
}

TEST(BrokerLifecycle, leaves_when_it_leads_nothing_any_more_or_when_it_takes_too_long) {
  auto const begin = std::string("start\nimage 0 -1\nregistered 5\nimage 5 5 fenced\nok\nimage 6 5\n");
  auto told = Story().tell(begin + "stop\nok\ntimer\nok go");
  EXPECT_EQ(told.substr(told.find("> stop")), R"(> stop
  heartbeat 5 at 6 wants to go until 3000
  timer at 3000
= shutting down epoch 5 image 6 epoch 5 asking
> ok
  timer at 50
= shutting down epoch 5 image 6 epoch 5
> timer
  heartbeat 5 at 6 wants to go until 3000
  timer at 3000
= shutting down epoch 5 image 6 epoch 5 asking
> ok go
  gone
= ended epoch 5 image 6 epoch 5
)");
  // Nobody answers, or nobody is there to answer; and who never was registered has nothing to hand over.
  told = Story().tell(begin + "stop\ntimer");
  EXPECT_NE(told.find("> timer\n  gone\n"), std::string::npos) << told;
  told = Story().tell(begin + "stop\nwait 2990\nerror 41\ntimer");  // NOT_CONTROLLER
  EXPECT_NE(told.find("> timer\n  gone\n"), std::string::npos) << told;
  told = Story().tell(begin + "stop\nerror 7");
  EXPECT_NE(told.find("> error 7\n  gone\n"), std::string::npos) << told;
  told = Story().tell("start\nstop");
  EXPECT_NE(told.find("> stop\n  gone\n"), std::string::npos) << told;
}

}  // namespace
}  // namespace millrace::runtime
