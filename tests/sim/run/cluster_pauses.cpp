// Processes that lead partitions are stopped, for longer than their session or not quite, and clients go on asking them.
// Who was stopped for long enough that others lead now must tell nobody an end below what those have acknowledged since;
// who still leads must soon serve again.
#include "checker/checker.h"
#include "sim/run/cluster_run.h"
#include "sim/run/loyal_asker.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr int kPauses = 6;
constexpr Duration kCalm = 500ms;  // asked before the pause
constexpr Duration kAfter = 3s;    // and after it
constexpr Duration kServesWithin = 15s;  // an election of the quorum may come first
constexpr Duration kSettleLimit = 100s;

}  // namespace

// What clients ask for ends of.
bool ClusterRun::is_leading(size_t node) {
  BrokerId const id(static_cast<int32_t>(node + 1));
  auto const* image = newest_image();
  return image != nullptr && std::ranges::any_of(run_.partitions, [&](auto const& each) {
    auto const* partition = image->find_partition(each.topic_id, each.number);
    return partition != nullptr && partition->leader == id;
  });
}

bool ClusterRun::run_pauses() {
  for (int i = 0; i < kPauses; ++i) {
    auto const is_calm = [this] {
      for (size_t n = 0; n < cluster_.size(); ++n) {
        if (!cluster_.is_serving(n)) return false;
      }
      return newest_image() != nullptr && are_all_in_sync();
    };
    if (!wait_for("all replicas are in sync before a pause", is_calm, kSettleLimit)) return false;
    std::vector<size_t> leaders;
    for (size_t n = 0; n < cluster_.size(); ++n) {
      if (is_leading(n)) leaders.push_back(n);
    }
    auto const node = leaders[random_.below(leaders.size())];
    bool const is_long = random_.chance(0.7);
    // Heartbeats come four times a session.
    auto const percent = is_long ? 130 + random_.below(200) : 55 + random_.below(10);
    auto const span = plan_.broker_session * static_cast<int64_t>(percent) / 100;
    for (auto* asker : loyal_askers_) asker->set_broker(node);
    if (!run_for(kCalm)) return false;
    faults_.note(FaultKind::pause);
    auto const answers = [this] {
      size_t out = 0;
      for (auto const* asker : loyal_askers_) out += asker->ends().size();
      return out;
    };
    cluster_.machine(node).pause(span);
    if (!run_for(span)) return false;
    if (is_leading(node)) {
      auto const before = answers();
      auto const serves = [&] { return answers() > before || !is_leading(node); };
      if (!wait_for(fmt::format("node {}, which did not run for {} ms, serves what it leads", node + 1, to_ms(span)), serves, kServesWithin)) return false;
    } else if (!is_long) {
      fail(fmt::format("node {} was fenced after {} ms of a session of {}", node + 1, to_ms(span), to_ms(plan_.broker_session)));
    }
    if (!run_for(kAfter)) return false;
    for (auto* asker : loyal_askers_) asker->set_broker(LoyalAsker::kNobodyAsked);
  }
  return true;
}

// Exactly: nobody was cut off, so whoever runs knows who leads.
void ClusterRun::check_loyal_ends() {
  auto history = run_.history;
  history.do_leaders_move = false;
  history.ends.clear();
  uint64_t refusals = 0;
  for (auto const* asker : loyal_askers_) {
    history.ends.insert(history.ends.end(), asker->ends().begin(), asker->ends().end());
    refusals += asker->refusals();
  }
  if (history.ends.empty() || refusals == 0) return fail("no question for an end was answered, or none refused");
  auto const violations = checker::check(history);
  if (!violations.empty()) fail(fmt::format("{}: partition {}: {}", violations[0].check, violations[0].partition, violations[0].text));
}

ScenarioResult run_paused_leader(ScenarioInput const& input) {
  return ClusterRun(input, "paused_leader", draw_paused_leader_plan(Random(input.seed).fork("paused leader plan"))).go();
}

}  // namespace millrace::sim
