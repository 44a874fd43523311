// The group scenario: one broker with scripted metadata coordinates groups on a real __consumer_offsets, whose second
// replica is the scripted follower or whose records are synced before they count. Members join, commit, pause, die,
// come back as ghosts of themselves and leave; the broker crashes, loses power, loses and regains leadership; the
// follower holds the mark back. Checks: the ledger's (group_member.h); after healing every group settles with each
// partition owned once; what the coordinator says at rest is what a coordinator says that was made anew from the log.
#include "millrace/broker/context.h"
#include "sim/run/follower.h"
#include "sim/run/group_member.h"
#include "sim/run/scenario.h"
#include "sim/run/scripted_broker.h"

namespace millrace::sim {
namespace {

constexpr uint16_t kPort = 9092;
constexpr Duration kWaitLimit = 200s;
// From the end of all faults until every group is settled for good. A rebalance that has begun waits kRebalanceMs for who
// is gone; a ghost whose Join was taken into its generation is missed kSessionMs later, and the next rebalance may wait as
// long again; and a member on a connection whose other end is gone comes back once its answer is overdue.
constexpr Duration kSettleBound =
    GroupMember::kAnswerLimit + from_ms(2 * GroupMember::kRebalanceMs + GroupMember::kSessionMs);
constexpr std::string_view kOffsetsTopic = "__consumer_offsets";
constexpr Duration kShortRetention = 60s;
constexpr size_t kPartitionsMax = 26;

struct GroupPlan {
  bool has_follower = false;  // else what counts is synced
  bool has_crashes = false;
  bool crashes_at_disk_calls = false;
  bool has_power_loss = false;
  bool has_epoch_bumps = false;
  bool has_cuts = false;
  bool has_compaction = false;
  bool has_expiry = false;  // offsets are kept for less time than the run takes, but for longer than a group is empty
  uint32_t offsets_partitions = 1;
  uint32_t groups = 1;
  uint32_t members = 5;  // of a group
  uint32_t partitions = 12;
  double statics = 0.5;
  Duration load_span = 20s;

  std::string text() const {
    return fmt::format(
        "follower={} crashes={} at_disk_calls={} power_loss={} epoch_bumps={} cuts={} compaction={} expiry={} "
        "offsets_partitions={} groups={} members={} partitions={} statics={} span_s={}",
        has_follower, has_crashes, crashes_at_disk_calls, has_power_loss, has_epoch_bumps, has_cuts, has_compaction,
        has_expiry, offsets_partitions, groups, members, partitions, statics, load_span / 1s);
  }
};

GroupPlan expand(uint64_t seed) {
  auto random = Random(seed).fork("group plan");
  GroupPlan plan;
  plan.has_follower = random.chance(0.5);
  plan.has_crashes = random.chance(0.8);
  plan.crashes_at_disk_calls = random.chance(0.6);
  plan.has_power_loss = !plan.has_follower;
  plan.has_epoch_bumps = random.chance(0.5);
  plan.has_cuts = random.chance(0.4);
  // The scripted follower keeps every offset and knows no gaps.
  plan.has_compaction = !plan.has_follower && random.chance(0.6);
  plan.has_expiry = random.chance(0.2);
  plan.offsets_partitions = static_cast<uint32_t>(1 + random.below(3));
  plan.groups = static_cast<uint32_t>(1 + random.below(3));
  plan.members = static_cast<uint32_t>(2 + random.below(9));
  if (random.chance(0.08)) {
    plan.groups = 1;
    plan.members = static_cast<uint32_t>(100 + random.below(150));
  }
  plan.partitions = static_cast<uint32_t>(1 + random.below(kPartitionsMax));
  plan.statics = random.chance(0.3) ? 1.0 : random.unit();
  return plan;
}

class GroupScenario {
 public:
  explicit GroupScenario(ScenarioInput const& input);
  ScenarioResult go();

 private:
  BrokerUnderTest* broker();
  ScriptedBroker* scripted() { return static_cast<ScriptedBroker*>(broker()); }
  void after(Duration wait, Task task) {
    world_.schedule(world_.now() + wait, kWorldLife, "scenario", std::move(task));
  }
  metadata::ImagePtr image() { return make_image({offsets_, data_}, ++image_offset_); }
  void start_broker();
  void arm_crash();
  void on_broker_end();
  void raise_epochs();
  void change_something();
  bool start_groups();
  void start_follower();
  void start_clients();
  bool wait_for(std::string_view what, std::function<bool()> const& condition);
  bool is_settled() const;
  std::vector<size_t> commits_by_group() const;
  void settle_for_good();
  std::string at_rest();
  void describe_members();
  std::string ask();
  void disturb() { shared_.disturbed = world_.now(); }

  GroupPlan const plan_;
  Random random_;
  World world_;
  Run run_;
  GroupRun shared_;
  std::vector<std::unique_ptr<GroupLedger>> ledgers_;
  ScriptedTopic offsets_, data_;
  int64_t image_offset_ = 1;
  Machine& broker_machine_;
  Machine& client_machine_;
  Machine& follower_machine_;
  std::vector<GroupMember*> members_;
  GroupDeleter* deleter_ = nullptr;
  Follower* follower_ = nullptr;
  bool has_faults_ = true;
  bool are_groups_begun_ = false;
  uint64_t crashes_ = 0;
  Duration settled_after_{};  // healing
};

GroupScenario::GroupScenario(ScenarioInput const& input)
    : plan_(expand(input.seed)),
      random_(Random(input.seed).fork("group run")),
      world_({.seed = input.seed, .mutant = input.mutant, .has_chaos = true, .trace = input.trace}),
      run_(world_),
      broker_machine_(world_.add_machine("broker", 2)),
      client_machine_(world_.add_machine("clients", 2)),
      follower_machine_(world_.add_machine("follower", 2)) {
  offsets_.name = kOffsetsTopic;
  offsets_.id.bytes.fill(6);
  offsets_.configs.emplace_back("segment.bytes", fmt::format("{}", plan_.has_compaction && plan_.members < 50 ? 20'000
                                                                   : plan_.has_compaction                     ? 200'000
                                                                                          : 1 << 20));
  offsets_.configs.emplace_back("message.timestamp.after.max.ms", "9223372036854775807");
  if (plan_.has_compaction) {
    offsets_.configs.emplace_back("cleanup.policy", "compact");
    offsets_.configs.emplace_back("min.cleanable.dirty.ratio", "0.1");
    offsets_.configs.emplace_back("delete.retention.ms", "1000");
  }
  if (!plan_.has_follower) offsets_.configs.emplace_back("flush.messages", "1");
  for (uint32_t p = 0; p < plan_.offsets_partitions; ++p) {
    ScriptedPartition partition;
    if (plan_.has_follower) partition.replicas = partition.isr = {BrokerId(kBrokerId), BrokerId(kFollowerId)};
    offsets_.partitions.push_back(partition);
    run_.partitions.push_back({offsets_.name, offsets_.id, static_cast<int32_t>(p), 0});
  }
  run_.history.partition_count = plan_.offsets_partitions;
  // Only its existence matters; it lies elsewhere.
  data_.name = "orders";
  data_.id.bytes.fill(5);
  for (uint32_t p = 0; p < kPartitionsMax; ++p) {
    ScriptedPartition partition;
    partition.replicas = partition.isr = {BrokerId(kFollowerId)};
    partition.leader = BrokerId(kFollowerId);
    data_.partitions.push_back(partition);
  }
  run_.has_metadata = false;
  run_.broker_port = kPort;
  shared_.misses_coordinator = true;
  for (uint32_t g = 0; g < plan_.groups; ++g) {
    ledgers_.push_back(
        std::make_unique<GroupLedger>(run_, fmt::format("group-{}", g), static_cast<int32_t>(plan_.partitions)));
    shared_.groups.push_back(ledgers_.back().get());
  }
  auto& faults = world_.network().faults();
  auto random = random_.fork("network");
  auto const some = [&](double p, double value) { return random.chance(p) ? value : 0.0; };
  faults.slow_link = some(0.3, 0.3);
  faults.byte_reads = some(0.2, 0.2);
  faults.split_reads = random.chance(0.5) ? 0.5 : 0.0;
  faults.reset = some(0.3, 0.2);
  faults.refuse = some(0.2, 0.1);
  if (random.chance(0.3)) broker_machine_.disk().speed().sync = 20ms;
}

BrokerUnderTest* GroupScenario::broker() {
  auto* node = broker_machine_.node();
  if (node == nullptr || node->is_dead()) return nullptr;
  return static_cast<BrokerUnderTest*>(broker_machine_.process());
}

void GroupScenario::raise_epochs() {
  for (size_t p = 0; p < offsets_.partitions.size(); ++p) {
    auto& partition = offsets_.partitions[p];
    partition.leader_epoch += 1;
    partition.partition_epoch += 1;
    run_.partitions[p].leader_epoch = partition.leader_epoch.value;
  }
}

void GroupScenario::start_broker() {
  disturb();
  if (broker_machine_.lives() > 0) raise_epochs();
  auto const configure = [has_expiry = plan_.has_expiry](broker::NodeConfig& config) {
    config.groups.initial_rebalance_delay = 300ms;
    config.groups.offsets_retention_check = 1s;
    if (has_expiry) config.groups.offsets_retention = kShortRetention;
    config.offsets_commit_timeout = 2s;
  };
  broker_machine_.start(
      [image = image(), configure](NodeEnv& env) { return ScriptedBroker::make(env, kPort, image, configure); });
  arm_crash();
}

void GroupScenario::arm_crash() {
  if (!plan_.has_crashes || !has_faults_ || crashes_ >= 5 || !are_groups_begun_) return;
  auto const kind = plan_.has_power_loss && random_.chance(0.7) ? CrashKind::power_loss : CrashKind::process;
  if (plan_.crashes_at_disk_calls && random_.chance(0.6)) {
    broker_machine_.node()->crash_at_disk_call(1 + static_cast<int64_t>(random_.below(1500)), kind);
  }
  auto const lives = broker_machine_.lives();
  after(std::chrono::milliseconds(1 + random_.below(8000)), [this, kind, lives] {
    if (!has_faults_ || broker_machine_.lives() != lives) return;
    if (random_.chance(0.3))
      broker_machine_.stop();
    else
      broker_machine_.kill(kind);
  });
}

void GroupScenario::on_broker_end() {
  ++crashes_;
  disturb();
  after(std::chrono::milliseconds(random_.below(500)), [this] {
    if (!broker_machine_.is_running()) start_broker();
  });
}

void GroupScenario::change_something() {
  if (!has_faults_) return;
  auto const what = random_.below(5);
  if (what == 0 && plan_.has_epoch_bumps && broker() != nullptr) {
    disturb();
    raise_epochs();
    broker_machine_.node()->sim_control().post([this, image = image()]() mutable {
      if (auto* node = scripted()) node->publish(std::move(image), [] {});
    });
  } else if (what == 1 && follower_ != nullptr) {
    disturb();
    follower_->pause(std::chrono::milliseconds(random_.below(4000)));
  } else if (what == 2 && plan_.has_cuts) {
    disturb();
    bool const is_there = random_.chance(0.5);
    auto& from = is_there ? broker_machine_ : client_machine_;
    auto& to = is_there ? client_machine_ : broker_machine_;
    world_.network().cut(from, to);
    after(std::chrono::milliseconds(random_.below(3000)), [this, &from, &to] {
      disturb();
      world_.network().heal(from, to);
    });
  } else if (what == 3 && plan_.has_cuts) {
    disturb();
    if (random_.chance(0.5))
      world_.network().reset_connections(broker_machine_);
    else
      broker_machine_.pause(std::chrono::milliseconds(random_.below(1000)));
  } else if (what == 4 && !plan_.has_expiry) {
    broker_machine_.jump_wall(random_.between(-3'600'000, 3'600'000));
  }
  after(std::chrono::milliseconds(200 + random_.below(3000)), [this] { change_something(); });
}

bool GroupScenario::start_groups() {
  auto& machine = world_.add_machine("group-starter");
  GroupStarter* starter = nullptr;
  machine.start([&](NodeEnv& env) {
    auto actors = std::make_unique<Actors>();
    starter = &actors->add<GroupStarter>(env, 0, run_, shared_);
    return actors;
  });
  if (!wait_for("the groups are begun", [&] { return starter != nullptr && starter->is_done(); })) return false;
  machine.kill(CrashKind::process);
  are_groups_begun_ = true;
  arm_crash();
  return true;
}

void GroupScenario::start_clients() {
  client_machine_.start([this](NodeEnv& env) {
    auto actors = std::make_unique<Actors>();
    auto random = random_.fork("clients");
    size_t number = 0;
    for (auto& group : ledgers_) {
      for (uint32_t m = 0; m < plan_.members; ++m, ++number) {
        auto const instance =
            random.chance(plan_.statics) ? std::optional(fmt::format("instance-{}", m)) : std::nullopt;
        members_.push_back(&actors->add<GroupMember>(env, number % 2, run_, shared_, *group,
                                                     fmt::format("member-{}", number), instance));
      }
    }
    deleter_ = &actors->add<GroupDeleter>(env, 0, run_, shared_);
    return actors;
  });
}

void GroupScenario::start_follower() {
  if (!plan_.has_follower) return;
  follower_machine_.start([this](NodeEnv& env) {
    auto actors = std::make_unique<Actors>();
    follower_ = &actors->add<Follower>(env, 0, run_);
    return actors;
  });
}

bool GroupScenario::wait_for(std::string_view what, std::function<bool()> const& condition) {
  bool const done = world_.run_while_not([&] { return run_.failure.has_value() || condition(); }, kWaitLimit);
  if (done) return !run_.failure;
  run_.fail(fmt::format("after healing, within {} s: {}; the broker:{}", kWaitLimit / 1s, what,
                        broker() == nullptr ? " is down" : broker()->describe()));
  describe_members();
  return false;
}

void GroupScenario::describe_members() {
  *run_.failure += fmt::format("\n  now {} ms", to_ms(world_.now()));
  for (auto const* member : members_) *run_.failure += "\n  " + member->describe();
}

bool GroupScenario::is_settled() const {
  std::map<GroupLedger const*, std::pair<int32_t, std::multiset<int32_t>>> groups;
  for (auto const* member : members_) {
    if (!member->is_working()) return false;
    auto& [generation, owned] =
        groups.try_emplace(&member->group(), member->generation(), std::multiset<int32_t>()).first->second;
    if (generation != member->generation()) return false;
    owned.insert(member->owned().begin(), member->owned().end());
  }
  for (auto const& [group, seen] : groups) {
    for (int32_t p = 0; p < group->partition_count(); ++p) {
      if (seen.second.count(p) != 1) return false;
    }
  }
  return true;
}

std::vector<size_t> GroupScenario::commits_by_group() const {
  std::vector<size_t> out;
  for (auto const& ledger : ledgers_) out.push_back(ledger->commits_ok());
  return out;
}

std::string GroupScenario::ask() {
  GroupAsker* asker = nullptr;
  client_machine_.node()->sim_reactor(0).post([&] {
    auto* actors = static_cast<Actors*>(client_machine_.process());
    asker = &actors->add<GroupAsker>(*client_machine_.node(), 0, run_, shared_);
  });
  wait_for("the coordinator tells offsets and members", [&] { return asker != nullptr && asker->is_done(); });
  return asker == nullptr ? "" : asker->told();
}

// Within kSettleBound every group is settled, from then on it stays so, and work goes on.
void GroupScenario::settle_for_good() {
  constexpr Duration kLook = 100ms;
  constexpr Duration kCalm = from_ms(GroupMember::kSessionMs) + 4s;
  // Who was not heard for a session is back after some more seconds, and commits with every second thing that it does.
  constexpr Duration kWorkBound = kCalm + 10s;
  auto const begin = world_.now();
  auto unsettled = begin;
  auto commits = commits_by_group();
  auto const all_work = [&] {
    auto const now = commits_by_group();
    return std::ranges::equal(commits, now, std::ranges::less());
  };
  while (world_.now() < unsettled + kCalm || !all_work()) {
    world_.run_for(kLook);
    if (run_.failure) return;
    if (broker() != nullptr && broker()->is_serving() && is_settled()) {
      if (world_.now() <= unsettled + kWorkBound) continue;
      run_.fail("a settled group does not work");
      return describe_members();
    }
    unsettled = world_.now();
    commits = commits_by_group();
    if (unsettled <= begin + kSettleBound) continue;
    run_.fail(fmt::format("groups are not settled {} s after healing; the broker:{}", kSettleBound / 1s,
                          broker() == nullptr ? " is down" : broker()->describe()));
    return describe_members();
  }
  settled_after_ = std::max(settled_after_, unsettled - begin);
}

// What the coordinator says while nobody commits or joins.
std::string GroupScenario::at_rest() {
  shared_.is_still = true;
  // The members are there: nothing expires.
  world_.run_for(plan_.has_expiry ? kShortRetention + 10s : 1s);
  return ask();
}

ScenarioResult GroupScenario::go() {
  ScenarioResult result;
  result.options = fmt::format("scenario=group {}", plan_.text());
  note_options(result.options);
  broker_machine_.on_end([this](bool) { on_broker_end(); });
  start_broker();
  start_follower();
  if (!start_groups()) {
    result.failure = *run_.failure;
    return result;
  }
  start_clients();
  after(1s, [this] { change_something(); });
  world_.run_while_not([this] { return run_.failure.has_value(); }, plan_.load_span);

  has_faults_ = shared_.is_rough = false;
  if (broker_machine_.is_running()) broker_machine_.node()->crash_at_disk_call(0, CrashKind::process);
  world_.network().heal_all();
  world_.network().faults() = {};
  settle_for_good();
  if (!run_.failure) {
    auto const live = at_rest();
    broker_machine_.kill(CrashKind::process);
    world_.run_for(2s);
    if (!run_.failure &&
        wait_for("the broker serves again", [this] { return broker() != nullptr && broker()->is_serving(); })) {
      auto const again = ask();
      if (!run_.failure && live != again)
        run_.fail(fmt::format("after a restart the coordinator says\n{}where it said\n{}", again, live));
      world_.run_for(3s);
    }
  }
  result.failure = run_.failure.value_or("");
  result.hash = world_.trace().hash();
  result.events = world_.events_run();
  result.counts[std::string(kVirtualMs)] = static_cast<uint64_t>(to_ms(world_.now()));
  result.probes = world_.probes();
  size_t commits = 0;
  int32_t generations = 0;
  for (auto const& ledger : ledgers_) {
    commits += ledger->commits_ok();
    generations += ledger->newest_generation();
  }
  result.options += fmt::format(" | crashes={} generations={} commits={} deleted={} settled_ms={}", crashes_, generations, commits,
                                deleter_ == nullptr ? 0 : deleter_->deleted_count(), to_ms(settled_after_));
  broker_machine_.on_end(nullptr);
  return result;
}

}  // namespace

ScenarioResult run_group(ScenarioInput const& input) { return GroupScenario(input).go(); }

}  // namespace millrace::sim
