// One fault on a cluster that is otherwise well, with an exact demand.
#include "sim/run/cluster_run.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

// What a client's own timeouts and retries may add.
constexpr Duration kClientSlack = 6s;

}  // namespace

// M5: within ten election timeouts, once the old leader's silence has been noticed.
Duration ClusterRun::election_bound() const { return plan_.fetch_timeout * 3 / 2 + plan_.request_timeout + plan_.election_timeout * 10; }

bool ClusterRun::wait_for_another_leader(std::string_view after_what, size_t old_leader) {
  return wait_for(fmt::format("after {}, another node leads the quorum", after_what),
                  [&] {
                    auto const leader = oracle_.leader();
                    return leader && *leader != old_leader && cluster_.node(*leader)->quorum()->has_committed_epoch();
                  },
                  election_bound());
}

bool ClusterRun::wait_for_progress(std::string_view after_what) {
  auto const before = acknowledged();
  return wait_for(fmt::format("after {}, metadata can be changed", after_what), [&] { return acknowledged() > before + 1; },
                  election_bound() + kClientSlack);
}

bool ClusterRun::stays_leader(std::string_view during_what, Duration span) {
  auto const epoch = oracle_.newest_epoch();
  if (!run_for(span)) return false;
  if (oracle_.newest_epoch() != epoch) {
    fail(fmt::format("M5: {} has cost the leader of epoch {} its office", during_what, epoch));
  }
  return !run_.failure;
}

bool ClusterRun::run_trial() {
  auto const leader = *oracle_.leader();
  auto const other = (leader + 1 + random_.below(cluster_.size() - 1)) % cluster_.size();
  auto const silence = plan_.fetch_timeout * 2 + plan_.election_timeout * 3;
  switch (random_.below(9)) {
    case 0: {
      trial_ = "isolated_follower";
      cluster_.isolate(other);
      if (!stays_leader("the isolation of a follower", silence)) return false;
      cluster_.heal_all();
      return stays_leader("the return of an isolated follower", silence);
    }
    case 1: {
      trial_ = "isolated_leader";
      cluster_.isolate(leader);
      auto const is_resigned = [&] { return cluster_.node(leader)->quorum()->role() != raft::Role::leader; };
      if (!wait_for("a leader without a majority resigns", is_resigned, plan_.fetch_timeout * 3 / 2 + 500ms) ||
          !wait_for_another_leader("the isolation of the leader", leader) || !wait_for_progress("the isolation of the leader")) {
        return false;
      }
      cluster_.heal_all();
      return stays_leader("the return of the isolated leader", silence);
    }
    case 2: {
      trial_ = "deaf_leader";
      for (size_t i = 0; i < cluster_.size(); ++i) {
        if (i != leader) cluster_.cut(i, leader);
      }
      bool const ok = wait_for_another_leader("the leader has gone deaf", leader) && wait_for_progress("the leader has gone deaf");
      cluster_.heal_all();
      return ok;
    }
    case 3: {
      trial_ = "mute_leader";
      for (size_t i = 0; i < cluster_.size(); ++i) {
        if (i != leader) cluster_.cut(leader, i);
      }
      bool const ok = wait_for_another_leader("the leader has fallen mute", leader) && wait_for_progress("the leader has fallen mute");
      cluster_.heal_all();
      return ok;
    }
    case 4: {
      trial_ = "killed_leader";
      cluster_.hold_down(leader);
      cluster_.machine(leader).kill(may_lose_power(leader) && random_.chance(0.5) ? CrashKind::power_loss : CrashKind::process);
      if (!wait_for_another_leader("the death of the leader", leader) || !wait_for_progress("the death of the leader")) return false;
      cluster_.start(leader);
      return stays_leader("the return of the killed leader", silence);
    }
    case 5: {
      trial_ = "all_killed";
      for (size_t i = 0; i < cluster_.size(); ++i) {
        cluster_.machine(i).kill(may_lose_power(i) && random_.chance(0.5) ? CrashKind::power_loss : CrashKind::process);
      }
      return run_for(3s) && wait_for_progress("the death of all nodes");
    }
    case 6: {
      trial_ = "paused_leader";
      cluster_.machine(leader).pause(silence + election_bound());
      if (!wait_for_another_leader("the pause of the leader", leader)) return false;
      // Its clients wait on it as long as it is silent.
      return run_for(silence + election_bound()) && wait_for_progress("the pause of the leader");
    }
    case 7: {
      trial_ = "stalled_leader_disk";
      cluster_.machine(leader).disk().speed().sync = 5s;
      bool const ok = wait_for_progress("the stall of the leader's disk");
      cluster_.heal_all();
      return ok;
    }
    default: {
      trial_ = "clock_jumps";
      for (size_t i = 0; i < cluster_.size(); ++i) cluster_.machine(i).jump_wall(random_.between(-600'000, 600'000));
      return stays_leader("a jump of all clocks", silence) && wait_for_progress("a jump of all clocks");
    }
  }
}

}  // namespace millrace::sim
