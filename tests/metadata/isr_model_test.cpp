// Every order of events that one partition of three replicas can see, on the controller's decisions as they are
// shipped: brokers fenced though they live, restarted with and without what they had written, leaders that hear late
// of what was decided, requests that come late. The leaders and followers are the least that follows the rules of
// replication. Proves within these bounds: an epoch has one leader; who is elected holds what was acknowledged, unless
// it is said to recover; who lost records is in no set until it caught up; a leader waits for all whom the controller
// takes to be in sync.
#include <deque>
#include <unordered_set>

#include "../base/one_mutant.h"
#include "story.h"

namespace millrace::metadata {
namespace {

constexpr int kBrokers = 3;
constexpr size_t kMinIsr = 2;

bool contains(std::vector<int> const& list, int one) { return std::find(list.begin(), list.end(), one) != list.end(); }

bool contains_all(std::vector<int> const& list, std::vector<int> const& all) {
  return std::all_of(all.begin(), all.end(), [&](int one) { return contains(list, one); });
}

std::vector<int> numbers(std::vector<BrokerId> const& ids) {
  std::vector<int> out;
  for (auto id : ids) out.push_back(id.value);
  return out;
}

struct Budget {
  int writes = 0, fencings = 0, clean_restarts = 0, lossy_restarts = 0, isr_changes = 0;
};

struct Follower {
  int acked = -1;  // in this leader epoch
  int64_t broker_epoch = -1;
};

// A broker's process, and what it believes of the partition.
struct Replica {
  std::vector<int> log;
  bool has_lost = false;  // records, and did not catch up since
  int32_t leader_epoch = -1, partition_epoch = -1;
  int leader = -1;
  std::vector<int> isr;
  std::optional<std::vector<int>> pending;  // asked for, not answered
  Follower followers[kBrokers + 1];
  int mark = 0;

  std::vector<int> maximal_isr() const {
    auto out = isr;
    for (auto id : pending.value_or(std::vector<int>())) if (!contains(out, id)) out.push_back(id);
    return out;
  }
};

struct Action {
  enum Kind { beat, fence, clean_restart, lossy_restart, learn, write, fetch, shrink, expand, deliver } kind;
  int broker = 0, other = 0;
};

class World {
 public:
  World(Controller& controller, Budget budget) : controller_(&controller), budget_(budget) {
    replay(controller.bootstrap_records());
    for (int id = 1; id <= kBrokers; ++id) {
      register_broker(id, -1);
      beat(id);
    }
    CreateTopics request;
    request.topics.push_back({"t", -1, -1, {{0, {BrokerId{1}, BrokerId{2}, BrokerId{3}}}}, {{"min.insync.replicas", "2"}}});
    decide(request);
    for (int id = 1; id <= kBrokers; ++id) learn(id);
    check();
  }

  std::vector<Action> actions() const {
    std::vector<Action> out;
    for (int id = 1; id <= kBrokers; ++id) {
      auto const& replica = at(id);
      bool const is_fenced = broker(id).is_fenced;
      if (is_fenced) out.push_back({Action::beat, id});
      if (!is_fenced && budget_.fencings > 0) out.push_back({Action::fence, id});
      if (budget_.clean_restarts > 0) out.push_back({Action::clean_restart, id});
      if (budget_.lossy_restarts > 0) out.push_back({Action::lossy_restart, id});
      if (replica.partition_epoch != partition().partition_epoch) out.push_back({Action::learn, id});
      if (replica.leader != id) continue;
      if (budget_.writes > 0 && replica.isr.size() >= kMinIsr) out.push_back({Action::write, id});
      for (int other = 1; other <= kBrokers; ++other) {
        if (other == id) continue;
        if (at(other).leader == id && at(other).leader_epoch == replica.leader_epoch) out.push_back({Action::fetch, id, other});
        if (replica.pending || budget_.isr_changes == 0) continue;
        bool const is_in = contains(replica.isr, other);
        if (is_in) out.push_back({Action::shrink, id, other});
        if (!is_in && replica.followers[other].acked >= replica.mark) out.push_back({Action::expand, id, other});
      }
    }
    for (size_t i = 0; i < messages_.size(); ++i) out.push_back({Action::deliver, static_cast<int>(i)});
    return out;
  }

  void apply(Action const& action) {
    auto const id = action.broker;
    switch (action.kind) {
      case Action::beat: beat(id); break;
      case Action::fence: --budget_.fencings; fence(id); break;
      case Action::clean_restart: --budget_.clean_restarts; restart(id, false); break;
      case Action::lossy_restart: --budget_.lossy_restarts; restart(id, true); break;
      case Action::learn: learn(id); break;
      case Action::write: --budget_.writes; at(id).log.push_back(++last_value_); break;
      case Action::fetch: fetch(id, action.other); break;
      case Action::shrink:
      case Action::expand: --budget_.isr_changes; propose(id, action.other, action.kind == Action::expand); break;
      case Action::deliver: deliver(static_cast<size_t>(id)); break;
    }
    for (int i = 1; i <= kBrokers; ++i) advance_mark(at(i), i);
    check();
  }

  std::string const& fault() const { return fault_; }

  // Epochs only as far as they differ: what they are counts nothing.
  std::string digest() const {
    auto const& p = partition();
    auto const list = [](std::vector<int> const& ids) { return fmt::format("[{}]", fmt::join(ids, ",")); };
    auto out = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}|", p.leader, list(numbers(p.isr)), list(numbers(p.elr)),
                           list(numbers(p.last_known_elr)), static_cast<int>(p.recovery_state), list(committed_), last_value_,
                           budget_.writes, budget_.fencings, budget_.clean_restarts, budget_.lossy_restarts, budget_.isr_changes);
    for (int id = 1; id <= kBrokers; ++id) {
      auto const& r = at(id);
      out += fmt::format("{}{} {} {} {} {} {} {} {}:", broker(id).is_fenced, r.has_lost, list(r.log), p.leader_epoch.value - r.leader_epoch,
                         p.partition_epoch - r.partition_epoch, r.leader, list(r.isr), r.mark,
                         r.pending ? list(*r.pending) : "-");
      for (int other = 1; other <= kBrokers && r.leader == id; ++other) {
        auto const& f = r.followers[other];
        out += fmt::format("{}{},", f.acked, f.broker_epoch == broker(other).epoch);
      }
    }
    for (auto const& m : messages_) {
      auto const& change = m.partitions.front();
      out += fmt::format("|{}{} {} {} ", m.broker, m.broker_epoch == broker(m.broker.value).epoch,
                         p.leader_epoch.value - change.leader_epoch.value, p.partition_epoch - change.partition_epoch);
      for (auto const& member : change.isr) {
        out += fmt::format("{}{},", member.id, member.broker_epoch == broker(member.id.value).epoch);
      }
    }
    return out;
  }

 private:
  Replica& at(int id) { return replicas_[id]; }
  Replica const& at(int id) const { return replicas_[id]; }
  BrokerImage const& broker(int id) const { return *replayer_.image().find_broker(BrokerId{id}); }
  PartitionImage const& partition() const { return *replayer_.image().find_partition("t", 0); }

  // ---- the controller

  void replay(RecordList const& records) {
    for (auto const& value : records.values()) {
      auto const status = replayer_.apply(value.view(), replayer_.image().offset + 1, LeaderEpoch{1}, 0);
      if (!status) fault_ = status.error().message;
    }
  }
  template <class Request>
  ControllerAnswer decide(Request request) {
    auto decision = controller_->decide(replayer_.image(), ControllerRequest(std::move(request)), Mono{});
    replay(decision.records);
    return std::move(decision.answer);
  }
  void register_broker(int id, int64_t previous_epoch) {
    RegisterBroker request;
    request.id = BrokerId{id};
    request.cluster_id = "c";
    request.incarnation_id = Uuid{{static_cast<uint8_t>(id), static_cast<uint8_t>(++incarnations_)}};
    request.endpoints = {{"PLAINTEXT", "h", 9092, 0}};
    request.features = supported_features();
    request.directories = {Uuid{{9, static_cast<uint8_t>(id)}}};
    request.previous_broker_epoch = previous_epoch;
    decide(request);
  }
  BrokerHeartbeat heartbeat(int id) const {
    BrokerHeartbeat request;
    request.id = BrokerId{id};
    request.epoch = broker(id).epoch;
    request.metadata_offset = replayer_.image().offset.value;
    return request;
  }
  void beat(int id) { decide(heartbeat(id)); }
  void fence(int id) {
    auto request = heartbeat(id);
    request.want_fence = true;
    decide(request);
  }
  void deliver(size_t index) {
    auto const request = messages_[index];
    messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(index));
    auto const answer = std::get<AlterPartitionAnswer>(decide(request));
    auto& leader = at(request.broker.value);
    auto const& change = request.partitions.front();
    bool const is_refused = !answer.error.ok() || answer.partitions.front().error != ErrorCode::none;
    bool const is_its_own = leader.leader == request.broker.value && leader.partition_epoch == change.partition_epoch &&
                            request.broker_epoch == broker(request.broker.value).epoch;
    if (is_refused && is_its_own) leader.pending.reset();
  }

  // ---- brokers

  void restart(int id, bool is_lossy) {
    auto const log = is_lossy ? std::vector<int>() : at(id).log;
    bool const has_lost = is_lossy || at(id).has_lost;
    at(id) = {};
    at(id).log = log;
    at(id).has_lost = has_lost;
    register_broker(id, is_lossy ? -1 : broker(id).epoch);
  }
  void learn(int id) {
    auto& r = at(id);
    auto const& p = partition();
    if (p.leader_epoch.value != r.leader_epoch) {
      for (auto& follower : r.followers) follower = {};
      r.mark = 0;
    }
    r.pending.reset();
    r.leader_epoch = p.leader_epoch.value;
    r.partition_epoch = p.partition_epoch;
    r.leader = p.leader.value;
    r.isr = numbers(p.isr);
  }
  void fetch(int leader, int follower) {
    at(follower).log = at(leader).log;
    at(leader).followers[follower] = {static_cast<int>(at(leader).log.size()), broker(follower).epoch};
    if (contains_all(at(follower).log, committed_)) at(follower).has_lost = false;
  }
  void propose(int id, int other, bool is_expansion) {
    auto& r = at(id);
    auto isr = r.isr;
    if (is_expansion) isr.push_back(other);
    else std::erase(isr, other);
    AlterPartition request;
    request.broker = BrokerId{id};
    request.broker_epoch = broker(id).epoch;
    auto& change = request.partitions.emplace_back();
    change.topic = replayer_.image().find_topic("t")->id;
    change.leader_epoch = LeaderEpoch{r.leader_epoch};
    change.partition_epoch = r.partition_epoch;
    for (auto member : isr) {
      auto const epoch = member == id ? broker(id).epoch : r.followers[member].broker_epoch;
      change.isr.push_back({BrokerId{member}, epoch});
    }
    r.pending = std::move(isr);
    messages_.push_back(std::move(request));
  }
  void advance_mark(Replica& r, int id) {
    if (r.leader != id || r.isr.size() < kMinIsr) return;
    auto mark = static_cast<int>(r.log.size());
    for (auto member : r.maximal_isr()) {
      if (member != id) mark = std::min(mark, r.followers[member].acked);
    }
    r.mark = std::max(r.mark, mark);
    for (int i = 0; i < r.mark; ++i) {
      if (!contains(committed_, r.log[static_cast<size_t>(i)])) committed_.push_back(r.log[static_cast<size_t>(i)]);
    }
  }

  // ---- what was promised

  void break_rule(std::string text) {
    if (fault_.empty()) fault_ = std::move(text);
  }
  void check() {
    auto const& p = partition();
    auto const leader = p.leader.value;
    bool const recovers = p.recovery_state == LeaderRecoveryState::recovering;
    if (leader >= 0 && (p.leader_epoch.value != elected_epoch_ || leader != elected_)) {
      if (p.leader_epoch.value == elected_epoch_) break_rule("two leaders of one epoch");
      elected_epoch_ = p.leader_epoch.value;
      elected_ = leader;
      if (recovers) {
        // Records may be gone, and it is said: from now on its log is what there is.
        at(leader).has_lost = false;
        std::erase_if(committed_, [&](int value) { return !contains(at(leader).log, value); });
      } else if (!contains_all(at(leader).log, committed_)) {
        break_rule("an elected leader lacks what was acknowledged");
      }
    }
    for (int id = 1; id <= kBrokers; ++id) {
      if (at(id).has_lost && (contains(numbers(p.isr), id) || contains(numbers(p.elr), id))) {
        break_rule("who lost records is taken to have them");
      }
    }
    if (leader < 0 || at(leader).leader_epoch != p.leader_epoch.value || p.isr.size() < kMinIsr) return;
    auto const waits_for = at(leader).maximal_isr();
    if (!contains_all(waits_for, numbers(p.isr)) || !contains_all(waits_for, numbers(p.elr))) {
      break_rule("a leader does not wait for one who could be elected");
    }
  }

  Controller* controller_;
  Budget budget_;
  Replayer replayer_;
  Replica replicas_[kBrokers + 1];
  std::vector<AlterPartition> messages_;
  std::vector<int> committed_;
  int last_value_ = 0, incarnations_ = 0;
  int elected_epoch_ = -1, elected_ = -1;
  std::string fault_;
};

struct Explored {
  size_t states = 0;
  std::string fault;
};

Explored explore(Budget budget, size_t states_max, Hooks& hooks = Hooks::none()) {
  ControllerConfig config;
  config.node_id = BrokerId{9};
  config.cluster_id = "c";
  config.hooks = &hooks;
  uint8_t uuid = 0;
  Controller controller(config, [&] { return Uuid{{7, ++uuid}}; });
  std::unordered_set<std::string> seen;
  std::deque<World> queue;
  queue.emplace_back(controller, budget);
  seen.insert(queue.back().digest());
  while (!queue.empty()) {
    auto const world = std::move(queue.front());
    queue.pop_front();
    for (auto const& action : world.actions()) {
      World next = world;
      next.apply(action);
      if (!next.fault().empty()) return {seen.size(), next.fault()};
      if (!seen.insert(next.digest()).second) continue;
      if (seen.size() >= states_max) return {seen.size(), "too many states"};
      queue.push_back(std::move(next));
    }
  }
  return {seen.size(), ""};
}

void expect_clean(Budget budget, size_t states_min) {
  auto const explored = explore(budget, 1'000'000);
  EXPECT_EQ(explored.fault, "");
  EXPECT_GE(explored.states, states_min);  // the bounds have not become meaningless
  fmt::print("{} states\n", explored.states);
}

TEST(IsrModel, FencedThoughTheyLive) { expect_clean({.writes = 1, .fencings = 2}, 1'000); }
TEST(IsrModel, FencedWhileTheSetChanges) { expect_clean({.writes = 1, .fencings = 1, .isr_changes = 1}, 1'000); }
TEST(IsrModel, RestartsThatLoseRecords) { expect_clean({.writes = 1, .lossy_restarts = 1, .isr_changes = 2}, 1'000); }
TEST(IsrModel, CleanAndLossyRestarts) { expect_clean({.writes = 1, .clean_restarts = 1, .lossy_restarts = 1}, 1'000); }

TEST(IsrModel, NoticesBrokenRules) {
  struct {
    char const* mutant;
    Budget budget;
  } const all[] = {
      {"metadata.ineligible_in_isr", {.lossy_restarts = 1, .isr_changes = 2}},
      {"metadata.stale_partition_epoch", {.fencings = 1, .isr_changes = 1}},
      {"metadata.unclean_start_stays_eligible", {.fencings = 1, .lossy_restarts = 1}},
      {"metadata.elr_not_cleared", {.fencings = 1, .isr_changes = 2}},
      {"metadata.leader_without_epoch", {.fencings = 1}},
  };
  for (auto const& one : all) {
    OneMutant hooks(one.mutant);
    auto const explored = explore(one.budget, 1'000'000, hooks);
    EXPECT_NE(explored.fault, "") << one.mutant;
    EXPECT_NE(explored.fault, "too many states") << one.mutant;
    fmt::print("{}: {} ({} states)\n", one.mutant, explored.fault, explored.states);
  }
}

}  // namespace
}  // namespace millrace::metadata
