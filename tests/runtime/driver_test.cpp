// Drivers: one event at a time, completions before requests, work of one turn together, and a busy mailbox gives the
// thread back after so many events.
#include <gtest/gtest.h>

#include "millrace/runtime/driver.h"
#include "sim/node.h"
#include "sim/world.h"

namespace millrace::runtime {
namespace {

class Recorder final : public Driver {
 public:
  explicit Recorder(Hooks& hooks, std::vector<std::string>& log) : Driver(hooks), log_(log) {}
  void request(int number, RunList& here, bool is_urgent = false) {
    auto const urgency = is_urgent ? Urgency::now : Urgency::turn_end;
    bool must_start = false;
    {
      std::lock_guard lock(mutex_);
      queued_.push_back(number);
      must_start = must_start_locked(urgency);
    }
    if (must_start) start(urgency, here);
  }
  void note(std::string text) {
    EXPECT_TRUE(is_running_here());
    log_.push_back(std::move(text));
  }

 protected:
  bool take_requests_locked() override {
    taken_.swap(queued_);
    return !taken_.empty();
  }
  size_t run_requests() override {
    std::string text = "requests";
    for (auto const number : taken_) text += fmt::format(" {}", number);
    note(text);
    return std::exchange(taken_, {}).size();
  }
  void finish_round() override { note("round"); }

 private:
  std::vector<std::string>& log_;
  std::vector<int> queued_, taken_;
};

class Drivers : public testing::Test {
 protected:
  sim::World world{{.seed = 1, .has_chaos = false}};
  sim::Machine& machine = world.add_machine("a");
  std::vector<std::string> log;
  std::function<void(sim::NodeEnv&)> body;

  struct Idle final : sim::Process {};
  void run(std::function<void(sim::NodeEnv&)> test) {
    machine.start([&](sim::NodeEnv& env) {
      test(env);
      return std::make_unique<Idle>();
    });
    world.run_for(1s);
  }
};

}  // namespace

TEST_F(Drivers, what_comes_in_one_turn_is_handled_together) {
  std::unique_ptr<RunLists> lists;
  std::shared_ptr<Recorder> driver;
  run([&](sim::NodeEnv& env) {
    lists = std::make_unique<RunLists>(env);
    driver = std::make_shared<Recorder>(env.hooks(), log);
    auto& here = lists->control();
    driver->request(1, here);
    driver->request(2, here);
    driver->post([&] { driver->note("completion"); }, here);
    EXPECT_TRUE(log.empty());
  });
  EXPECT_EQ(log, (std::vector<std::string>{"completion", "requests 1 2", "round"}));
}

TEST_F(Drivers, urgent_work_does_not_wait_for_the_turn_and_nothing_runs_inside_a_run) {
  std::unique_ptr<RunLists> lists;
  std::shared_ptr<Recorder> driver;
  run([&](sim::NodeEnv& env) {
    lists = std::make_unique<RunLists>(env);
    driver = std::make_shared<Recorder>(env.hooks(), log);
    auto& here = lists->control();
    driver->request(1, here);
    driver->post(
        [&] {
          driver->request(3, here, true);
          driver->note("first");
        },
        here);
    driver->request(2, here, true);
    log.push_back("turn goes on");
  });
  EXPECT_EQ(log, (std::vector<std::string>{"first", "requests 1 2", "round", "requests 3", "round", "turn goes on"}));
}

TEST_F(Drivers, a_busy_mailbox_gives_the_thread_back) {
  std::unique_ptr<RunLists> lists;
  std::shared_ptr<Recorder> driver;
  int left = 200;
  Task again;
  run([&](sim::NodeEnv& env) {
    lists = std::make_unique<RunLists>(env);
    driver = std::make_shared<Recorder>(env.hooks(), log);
    auto& here = lists->control();
    struct Loop {
      static void step(Recorder& d, RunList& h, int& n) {
        if (--n > 0) d.post([&d, &h, &n] { step(d, h, n); }, h);
      }
    };
    driver->post([&] { Loop::step(*driver, here, left); }, here);
    here.reactor().at_turn_end([&] { log.push_back(fmt::format("turn over, {} left", left)); });
  });
  EXPECT_EQ(left, 0);
  EXPECT_EQ(log.size(), 201u);
  auto const over = std::find_if(log.begin(), log.end(), [](auto const& line) { return line.starts_with("turn over"); });
  ASSERT_NE(over, log.end());
  EXPECT_EQ(*over, fmt::format("turn over, {} left", 200 - Driver::kEventsPerTurnMax));
}

}  // namespace millrace::runtime
