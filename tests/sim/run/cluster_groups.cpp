// A group whose members join, commit, pause, die, come back as ghosts and leave while its coordinator moves.
#include "sim/run/cluster_run.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSettleLimit = 100s;
constexpr std::string_view kGroup = "readers";

}  // namespace

bool ClusterRun::start_members() {
  if (!plan_.has_brokers() || plan_.members == 0) return true;
  for (auto const& address : addresses(true)) run_.brokers.push_back({address.host, address.port});
  group_ = std::make_unique<GroupLedger>(run_, std::string(kGroup), plan_.partitions);
  group_run_.groups = {group_.get()};
  group_run_.is_disturbed = true;
  GroupStarter* starter = nullptr;
  group_machine_.start([&](NodeEnv& env) {
    auto clients = std::make_unique<Actors>();
    starter = &clients->add<GroupStarter>(env, 0, run_, group_run_);
    return clients;
  });
  if (!wait_for("the group is begun", [&] { return starter != nullptr && starter->is_done(); }, kSettleLimit)) return false;
  group_machine_.node()->sim_reactor(0).post([this] {
    auto& clients = *static_cast<Actors*>(group_machine_.process());
    auto random = random_.fork("members");
    for (uint32_t i = 0; i < plan_.members; ++i) {
      auto const instance = random.chance(0.3) ? std::optional(fmt::format("instance-{}", i)) : std::nullopt;
      members_.push_back(&clients.add<GroupMember>(*group_machine_.node(), 0, run_, group_run_, *group_, fmt::format("member-{}", i), instance));
    }
  });
  return true;
}

std::string ClusterRun::describe_members() const {
  std::string out;
  for (auto const* member : members_) out += "\n  " + member->describe();
  return out;
}

// All work in one generation, and each partition has one owner.
bool ClusterRun::has_group_settled() const {
  std::multiset<int32_t> owned;
  for (auto const* member : members_) {
    if (!member->is_working() || member->generation() != members_[0]->generation()) return false;
    owned.insert(member->owned().begin(), member->owned().end());
  }
  for (int32_t p = 0; p < group_->partition_count(); ++p) {
    if (owned.count(p) != 1) return false;
  }
  return true;
}

std::string ClusterRun::ask_coordinator() {
  GroupAsker* asker = nullptr;
  group_machine_.node()->sim_reactor(0).post([&] {
    asker = &static_cast<Actors*>(group_machine_.process())->add<GroupAsker>(*group_machine_.node(), 0, run_, group_run_);
  });
  wait_for("the coordinator tells offsets and members", [&] { return asker != nullptr && asker->is_done(); }, kSettleLimit);
  return run_.failure ? "" : asker->told();
}

// What the coordinator says while nobody joins or commits. That a rebalance has begun is in no record, so a group that a
// late ghost has disturbed has to settle first.
std::string ClusterRun::group_at_rest() {
  constexpr int kAsksMax = 4;
  for (int asks = 0; asks < kAsksMax; ++asks) {
    group_run_.is_still = false;
    if (!wait_for("the group settles", [this] { return has_group_settled(); }, kSettleLimit) || !run_for(1s)) return {};
    group_run_.is_still = true;
    if (!run_for(1s)) return {};
    auto told = ask_coordinator();
    if (run_.failure || told.find("Rebalance") == std::string::npos) return told;
  }
  fail("G4: the group does not settle for good");
  return {};
}

// G4, and C15: a coordinator made anew from the log says what the one before said.
bool ClusterRun::check_members() {
  if (group_ == nullptr) return true;
  group_run_.is_rough = false;
  // Whoever was away is back, or is missed by now.
  if (!run_for(from_ms(GroupMember::kSessionMs) + 2s)) return false;
  auto const live = group_at_rest();
  if (run_.failure) return false;
  for (size_t i = 0; i < cluster_.size(); ++i) cluster_.machine(i).kill(CrashKind::process);
  if (!run_for(3s) || !settle()) return false;
  auto const again = ask_coordinator();
  if (!run_.failure && live != again) fail(fmt::format("C15: the coordinator says\n{}where the one before said\n{}", again, live));
  return !run_.failure;
}

}  // namespace millrace::sim
