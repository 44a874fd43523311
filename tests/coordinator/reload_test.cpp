// GC-06, GC-08. Groups under a random sequence of every operation, and a log that is read again at any point, also after
// it was compacted: the coordinator made from it has the live one's state, and goes on with it. No offset expires in a
// group that rebalances. A log that loses a record, and the broken rule, are noticed. MR_SEED=n runs that seed only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "../base/one_mutant.h"
#include "millrace/base/random.h"
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {
namespace {

constexpr size_t kGroups = 3;
constexpr size_t kMembersOfGroup = 4;
constexpr int32_t kPartitions = 4;
constexpr std::string_view kTopics[] = {"t", "u"};

struct Client {
  enum class Doing { nothing, joining, syncing, working };
  std::string group;
  std::optional<std::string> instance_id;
  std::string member_id;
  Doing doing = Doing::nothing;
  std::optional<Ticket> waits_for;
  int32_t generation = -1;
  bool leads = false;
  std::vector<std::string> others;  // whom it assigns to

  void forget() { *this = Client{group, instance_id, {}, {}, {}, -1, {}, {}}; }
};

std::map<std::string, std::string> lines_by_group(std::string const& text) {
  std::map<std::string, std::string> out;
  for (size_t at = 0; at < text.size();) {
    auto const end = text.find('\n', at);
    auto const line = text.substr(at, end - at);
    out[line.substr(0, line.find(' '))] = line;
    at = end + 1;
  }
  return out;
}

// A group of which nothing is left but its name: until it is cleaned up it is there, unless compaction has taken the
// tombstones that mention it.
std::string without_bare_names(std::string const& text) {
  std::string out;
  for (auto const& [id, line] : lines_by_group(text)) {
    if (line != id) out += line + "\n";
  }
  return out;
}

class Sequence {
 public:
  Sequence(uint64_t seed, Hooks& hooks, double loses_records = 0)
      : random_(seed), hooks_(hooks), loses_records_(loses_records) {
    config_.initial_rebalance_delay = 200ms;
    config_.offsets_retention = 30s;
    config_.offsets_retention_check = 1s;
    for (size_t g = 0; g < kGroups; ++g) {
      for (size_t m = 0; m < kMembersOfGroup; ++m) {
        auto& client = clients_.emplace_back();
        client.group = fmt::format("g{}", g);
        if (m == 0) client.instance_id = "static";
      }
    }
    machine_ = from_log();
  }

  // The first broken promise; empty: none.
  std::string run(int steps = 1500) {
    for (int i = 0; i < steps && fault_.empty(); ++i) {
      pass_time();
      if (random_.chance(0.03)) check_reload();
      else act();
    }
    if (fault_.empty()) check_reload();
    return fault_;
  }
  int stable_seen() const { return stable_seen_; }
  int expired_count() const { return expired_count_; }

 private:
  // ---- The log

  std::unique_ptr<GroupCoordinator> from_log() {
    auto fresh = std::make_unique<GroupCoordinator>(config_, hooks_);
    Effects out;
    fresh->on_event(LoadStarted{}, now_, out);
    for (auto const& record : log_) replay(*fresh, record);
    fresh->on_event(Loaded{Offset(end_)}, now_, out);
    return fresh;
  }
  template <class To>
  static void replay(To& to, Record const& record) {
    EXPECT_TRUE(to.replay(record.key.view(), record.value ? std::optional(record.value->view()) : std::nullopt).ok());
  }
  // The newest record of each key; of tombstones only some, as after their time.
  void compact() {
    std::map<std::string, size_t> newest;
    for (size_t i = 0; i < log_.size(); ++i) newest[std::string(as_text(log_[i].key.view()))] = i;
    std::vector<Record> kept;
    for (size_t i = 0; i < log_.size(); ++i) {
      if (newest[std::string(as_text(log_[i].key.view()))] != i) continue;
      if (log_[i].value || random_.chance(0.5)) kept.push_back(log_[i]);
    }
    log_ = std::move(kept);
  }

  void check_reload() {
    if (random_.chance(0.3)) compact();
    auto fresh = from_log();
    fresh->check_invariants();
    auto const read = without_bare_names(fresh->store().text()), live_text = without_bare_names(machine_->store().text());
    if (read != live_text) {
      fault_ = fmt::format("the log says\n{}and the coordinator\n{}", read, live_text);
      return;
    }
    // What is under way is in no record: whose Join or Sync waits, who was given an id. Groups at rest are the same.
    auto const again = lines_by_group(fresh->text());
    for (auto const& [id, line] : lines_by_group(machine_->text())) {
      auto const* live = machine_->find(id);
      bool const is_at_rest = live->state() == GroupState::stable || live->state() == GroupState::empty;
      if (!is_at_rest || !live->pending().empty() || line.find('#') != std::string::npos) continue;
      auto const* entry = machine_->store().find(id);
      if (entry == nullptr || (!entry->group && entry->offsets.empty())) continue;
      if (live->state() == GroupState::stable) ++stable_seen_;
      auto const found = again.find(id);
      if (found != again.end() && found->second == line) continue;
      fault_ = fmt::format("{}\nbecomes\n{}", line, found == again.end() ? "nothing" : found->second);
      return;
    }
    for (auto const& [id, line] : again) {
      if (machine_->find(id) == nullptr) fault_ = line + "\nappears";
    }
    if (random_.chance(0.5)) return;
    // Go on from there; who waited asks again.
    machine_ = std::move(fresh);
    for (auto& client : clients_) {
      if (std::exchange(client.waits_for, std::nullopt)) client.doing = Client::Doing::nothing;
    }
  }

  // ---- Time and events

  void pass_time() {
    auto const until = now_.mono + from_ms(random_.chance(0.01) ? random_.between(0, 60'000) : random_.between(0, 400));
    while (machine_->next_deadline() <= until && fault_.empty()) {
      set_time(std::max(machine_->next_deadline(), now_.mono));
      fire_timers();
    }
    set_time(until);
  }
  void set_time(Mono to) {
    now_.wall.ms += to_ms(to - now_.mono);
    now_.mono = to;
  }
  std::set<std::string> rebalancing() const {
    std::set<std::string> out;
    for (size_t g = 0; g < kGroups; ++g) {
      auto id = fmt::format("g{}", g);
      auto const* group = machine_->find(id);
      bool const is_one = group != nullptr && (group->state() == GroupState::preparing_rebalance ||
                                               group->state() == GroupState::completing_rebalance);
      if (is_one && group->protocol_type()) out.insert(std::move(id));
    }
    return out;
  }
  void fire_timers() {
    auto before = offsets_of(rebalancing());
    auto const total = offset_count();
    tell(TimerFired{});
    auto const still = rebalancing();
    auto const after = offsets_of(still);
    for (auto const& id : still) {
      if (before.contains(id) && before[id] > after.at(id)) {
        fault_ = fmt::format("{} rebalances, and {} of its {} offsets expire", id, before[id] - after.at(id), before[id]);
      }
    }
    expired_count_ += static_cast<int>(std::max<int64_t>(total - offset_count(), 0));
  }
  // Of the topic that is never deleted.
  int64_t count(std::string_view id) const {
    auto const* entry = machine_->store().find(id);
    if (entry == nullptr) return 0;
    auto const found = entry->offsets.find(kTopics[0]);
    return found == entry->offsets.end() ? 0 : static_cast<int64_t>(found->second.size());
  }
  int64_t offset_count() const {
    int64_t out = 0;
    for (auto const& [id, entry] : machine_->store().entries()) out += count(id);
    return out;
  }
  std::map<std::string, int64_t> offsets_of(std::set<std::string> const& ids) const {
    std::map<std::string, int64_t> out;
    for (auto const& id : ids) out[id] = count(id);
    return out;
  }

  void tell(Event event) {
    Effects out;
    machine_->on_event(std::move(event), now_, out);
    while (true) {
      for (auto& one : out.replies) answered(one);
      if (out.append.empty()) break;
      auto const records = std::exchange(out.append, {});
      out.clear();
      if (random_.chance(0.05)) {
        machine_->on_event(AppendRefused{ErrorCode::not_enough_replicas}, now_, out);
        continue;
      }
      for (auto const& record : records) {
        if (!random_.chance(loses_records_)) log_.push_back(record);
      }
      end_ += static_cast<int64_t>(records.size());
      machine_->on_event(AppendAccepted{Offset(end_)}, now_, out);
    }
    machine_->check_invariants();
  }

  // ---- Operations

  void act() {
    auto const kind = random_.below(100);
    auto const any_group = fmt::format("g{}", random_.below(kGroups));
    if (kind < 2) return tell(DeleteGroup{++ticket_, any_group});
    if (kind < 4) {
      return tell(DeleteOffsets{++ticket_, any_group, {{std::string(kTopics[random_.below(2)]), any_partition()}}});
    }
    if (kind < 9) return commit(random_.chance(0.5) ? "simple" : any_group, "", std::nullopt, -1);
    if (kind < 10) return tell(TopicsDeleted{{{std::string(kTopics[1]), Uuid{}}}});
    auto& client = clients_[random_.below(clients_.size())];
    if (random_.chance(0.02)) return client.forget();  // the process dies
    if (client.waits_for) return;
    switch (client.doing) {
      case Client::Doing::nothing: return join(client);
      case Client::Doing::joining: return;
      case Client::Doing::syncing: return sync(client);
      case Client::Doing::working: return work(client, random_.below(100));
    }
  }
  int32_t any_partition() { return static_cast<int32_t>(random_.below(kPartitions)); }

  void join(Client& client) {
    JoinGroup join;
    join.ticket = ++ticket_;
    join.group_id = client.group;
    join.member_id = client.member_id;
    join.instance_id = client.instance_id;
    join.client_id = "c";
    join.session_timeout_ms = 10'000;
    join.rebalance_timeout_ms = random_.chance(0.3) ? 200'000 : 20'000;  // longer than offsets are kept
    join.protocol_type = "consumer";
    join.protocols = {{"range", make_blob(as_bytes("m"))}};
    join.wants_known_member_id = random_.chance(0.7);
    join.can_skip_assignment = true;
    for (auto& byte : join.unique.bytes) byte = static_cast<uint8_t>(random_.below(256));
    client.doing = Client::Doing::joining;
    client.waits_for = join.ticket;
    tell(std::move(join));
  }
  void sync(Client& client) {
    SyncGroup sync{++ticket_, client.group, client.generation, client.member_id, client.instance_id, "consumer", "range", {}};
    if (client.leads) {
      for (auto const& id : client.others) {
        sync.assignments.emplace_back(id, make_blob(as_bytes(fmt::format("{}", random_.below(10)))));
      }
    }
    client.waits_for = sync.ticket;
    tell(std::move(sync));
  }
  void work(Client& client, uint64_t kind) {
    if (kind < 4) {
      auto const id = client.member_id;
      client.forget();
      return tell(LeaveGroup{++ticket_, client.group, {{id, client.instance_id}}});
    }
    if (kind < 8) {
      client.doing = Client::Doing::nothing;  // joins again
      return;
    }
    if (kind < 45) return commit(client.group, client.member_id, client.instance_id, client.generation);
    client.waits_for = ++ticket_;
    tell(Heartbeat{ticket_, client.group, client.generation, client.member_id, client.instance_id});
  }
  void commit(std::string group, std::string member, std::optional<std::string> instance, int32_t generation) {
    CommitOffsets commit{++ticket_, std::move(group), generation, std::move(member), std::move(instance), -1, true, {}};
    if (random_.chance(0.1)) commit.retention_ms = 5'000;
    auto const partition_count = 1 + random_.below(2);
    for (uint64_t i = 0; i < partition_count; ++i) {
      commit.partitions.push_back({std::string(kTopics[random_.below(2)]), {}, any_partition(), ++position_, -1, "m"});
    }
    tell(std::move(commit));
  }

  void answered(Reply const& reply) {
    for (auto& client : clients_) {
      if (client.waits_for != reply.ticket) continue;
      client.waits_for.reset();
      std::visit([&](auto const& answer) { on(client, answer); }, reply.answer);
      return;
    }
  }
  static void failed(Client& client, ErrorCode error) {
    client.doing = Client::Doing::nothing;
    if (error == ErrorCode::unknown_member_id || error == ErrorCode::fenced_instance_id) client.member_id.clear();
  }
  static void on(Client& client, JoinAnswer const& answer) {
    if (answer.error != ErrorCode::none) {
      if (answer.error == ErrorCode::member_id_required) client.member_id = answer.member_id;
      client.doing = Client::Doing::nothing;
      if (answer.error != ErrorCode::member_id_required) failed(client, answer.error);
      return;
    }
    client.member_id = answer.member_id;
    client.generation = answer.generation;
    client.leads = answer.leader == answer.member_id && !answer.skip_assignment;
    client.others.clear();
    for (auto const& one : answer.members) client.others.push_back(one.id);
    client.doing = Client::Doing::syncing;
  }
  static void on(Client& client, SyncAnswer const& answer) {
    if (answer.error != ErrorCode::none) return failed(client, answer.error);
    client.doing = Client::Doing::working;
  }
  static void on(Client& client, HeartbeatAnswer const& answer) {
    if (answer.error != ErrorCode::none) failed(client, answer.error);
  }
  static void on(Client&, auto const&) {}

  Random random_;
  Hooks& hooks_;
  double const loses_records_;
  GroupConfig config_;
  Now now_{Mono{1s}, Wall{1'000'000}};
  std::vector<Record> log_;
  int64_t end_ = 0;
  std::unique_ptr<GroupCoordinator> machine_;
  std::vector<Client> clients_;
  Ticket ticket_ = 0;
  int64_t position_ = 0;
  int stable_seen_ = 0, expired_count_ = 0;
  std::string fault_;
};

TEST(ReloadedGroups, GC_08_are_what_they_were_and_GC_06_keep_their_offsets_in_a_rebalance) {
  auto const* const chosen = std::getenv("MR_SEED");
  auto const first = chosen ? std::strtoull(chosen, nullptr, 10) : 1;
  int stable_seen = 0, expired_count = 0;
  for (auto seed = first; seed < first + (chosen ? 1 : 100); ++seed) {
    Sequence sequence(seed, Hooks::none());
    ASSERT_EQ(sequence.run(), "") << "MR_SEED=" << seed;
    stable_seen += sequence.stable_seen();
    expired_count += sequence.expired_count();
  }
  // It is about something.
  if (!chosen) {
    EXPECT_GT(stable_seen, 500);
    EXPECT_GT(expired_count, 500);
  }
}

TEST(ReloadedGroups, a_log_that_lost_a_record_is_noticed) {
  int noticed = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) noticed += !Sequence(seed, Hooks::none(), 0.02).run().empty();
  EXPECT_EQ(noticed, 10);
}

TEST(ReloadedGroups, an_offset_that_expires_in_a_rebalance_is_noticed) {
  OneMutant mutant("expires_in_rebalance");
  for (uint64_t seed = 1; seed < 60; ++seed) {
    if (!Sequence(seed, mutant).run().empty()) return;
  }
  ADD_FAILURE() << "lives";
}

// An offset that an open transaction is about to replace stays, however old it is.
TEST(ReloadedGroups, GC_06_nothing_expires_while_a_transaction_is_open) {
  constexpr ProducerId kProducer{7};
  GroupConfig config;
  config.offsets_retention = 30s;
  config.offsets_retention_check = 1s;
  GroupCoordinator machine(config);
  Now now{Mono{1s}, Wall{1'000'000}};
  Effects out;
  machine.on_event(LoadStarted{}, now, out);
  auto const committed = [&](int64_t offset) {
    return offset_record("g", "t", 0, {offset, -1, "", now.wall.ms, -1, {}});
  };
  auto const old = committed(5), fresh = committed(6);
  ASSERT_TRUE(machine.replay(old.key.view(), old.value->view()).ok());
  ASSERT_TRUE(machine.replay(fresh.key.view(), fresh.value->view(), kProducer).ok());
  machine.on_event(Loaded{Offset(2)}, now, out);
  auto const clean_up_for = [&](Duration span) {
    for (auto const until = now.mono + span; now.mono < until; now.mono = now.mono + 1s, now.wall.ms += 1000) {
      while (machine.next_deadline() <= now.mono) {
        out.clear();
        machine.on_event(TimerFired{}, now, out);
        if (!out.append.empty()) machine.on_event(AppendAccepted{Offset(9)}, now, out);
      }
    }
  };
  clean_up_for(100s);
  ASSERT_NE(machine.store().find_offset("g", "t", 0), nullptr);
  EXPECT_EQ(machine.store().find_offset("g", "t", 0)->offset, 5);
  machine.end_transaction(kProducer, false);
  clean_up_for(5s);
  EXPECT_EQ(machine.store().find("g"), nullptr);
}

}  // namespace
}  // namespace millrace::coordinator
