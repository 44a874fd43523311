// One partition of three replicas, two of which must be in sync: the controller's decisions and the replicas' machines
// as they are shipped, and what the drivers do between them. Who runs it picks the next step from list_steps(). After
// every step the invariants of the design are checked (R1 to R5, D1, D2); the first broken one is kept as text, with
// the way that led there.
//
// A follower has one Fetch under way, as its fetcher does: of what it asked before under the same epoch no answer comes
// any more. Only an answer that it had already when its role changed comes late.
//
// Without time: the lag of a follower is a step that makes every last Fetch too long ago, and what waits half a second
// does not wait. A follower that may fetch has a Fetch under way, which says the same however late it is sent; answers
// without news are given at once. A broker's process starts again and is registered in one step. Decisions and what a
// broker is told of them are whole; of several that it has not heard of, it is told any number at once.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../replication/cluster.h"
#include "millrace/bytes/hash.h"
#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/replay.h"
#include "millrace/replication/partition.h"

namespace millrace::model {

using replication::test::Entry;
using replication::test::Log;

inline constexpr int kBrokers = 3;
inline constexpr Duration kLagMax = 1h;
inline constexpr Duration kRefusedWait = 1s;

// How often each may happen.
struct Bounds {
  int writes = 0;    // that wait for all replicas
  int fencings = 0;  // of brokers that live
  int clean_restarts = 0;
  int unclean_restarts = 0;  // that lose any number of the newest records, or none
  int lags = 0;
  int moves = 0;            // of the leadership, back to the first replica
  int min_isr_changes = 0;  // from two to one and back
  int repeats = 0;          // of a request to the controller
  int losses =
      0;  // of connections to a leader: no answer comes, but what was asked may still be heard; followers ask again
  size_t late_max = 1;          // messages of a follower's earlier role or life that are under way at once
  bool keeps_void = false;      // messages that say nothing any more; a broken rule may listen to them
  bool allows_unclean = false;  // unclean.leader.election.enable
  bool is_flush = false;        // what is acknowledged is on the disk, and no restart loses it
};

struct Step {
  enum class Kind : uint8_t {
    beat,
    fence,
    restart_clean,
    restart_unclean,
    learn,
    write,
    sync,
    lag,
    check,
    move,
    change_min_isr,
    deliver,
    deliver_and_repeat,
    lose
  } kind{};
  int broker = 0;      // or the message
  int64_t number = 0;  // what a restart keeps; up to which decision is learned
};

// What a broker is told of the partition by one decision of the controller.
struct Told {
  metadata::PartitionImage partition;
  std::array<replication::BrokerFact, kBrokers> brokers;
  int32_t min_isr = 0;
  int64_t offset = -1;
};

struct Replica {
  explicit Replica(Hooks& hooks) : machine(hooks) {}
  replication::PartitionMachine machine;  // without a role: not told of its registration yet
  Log log;
  size_t told = 0;  // number of the decision; before the first of this life: the one that must be known at least
  bool is_told = false;
  int64_t broker_epoch = -1;
  uint64_t fetch = 0;                                            // under way; 0: none
  int32_t min_isr = 0;                                           // as its machine was told
  bool has_lost = false;                                         // may have lost records, and did not catch up since
  int32_t lineage = 0;                                           // the last unclean election that its log agrees with
  std::vector<std::pair<replication::Ticket, int64_t>> waiting;  // writers and their offsets
  // Of a leader, what its machine does not show.
  struct Fetched {
    Mono at;
    int64_t leader_end = 0;
    int64_t broker_epoch = -1;
  };
  std::array<Fetched, kBrokers> fetched;
  replication::IsrChange asked;
};

struct Message {
  enum class Kind : uint8_t { fetch, fetched, ask, answer } kind{};
  int from = 0, to = 0;      // 0: the controller
  int64_t broker_epoch = 0;  // of the follower's or the leader's life
  uint64_t number = 0;       // of the Fetch
  int32_t epoch = 0;
  int64_t offset = 0;
  int32_t last_epoch = 0;
  std::optional<replication::EpochEnd> diverging{};
  std::vector<Entry> entries{};
  int64_t mark = 0;
  replication::IsrChange change{};
  replication::IsrAnswered answered{};
};

// Numbers of which only the order counts.
class Ranks {
 public:
  void add(int64_t number) { all_.push_back(number); }
  void close() {
    all_.push_back(-1);
    std::sort(all_.begin(), all_.end());
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  }
  int64_t of(int64_t number) const { return std::lower_bound(all_.begin(), all_.end(), number) - all_.begin(); }

 private:
  std::vector<int64_t> all_;
};

class World {
 public:
  World(metadata::Controller& controller, Bounds const& bounds, Hooks& hooks)
      : controller_(&controller), hooks_(&hooks), left_(bounds), image_(std::make_shared<metadata::Image const>()) {
    replay(controller.bootstrap_records());
    for (int id = 1; id <= kBrokers; ++id) {
      replicas_[index(id)] = std::make_shared<Replica>(hooks);
      register_broker(id, -1);
      beat(id, image_->offset.value);
    }
    metadata::CreateTopics request;
    std::vector<BrokerId> const all{BrokerId{1}, BrokerId{2}, BrokerId{3}};
    request.topics.push_back(
        {"t",
         -1,
         -1,
         {{0, all}},
         {{"min.insync.replicas", "2"}, {"unclean.leader.election.enable", bounds.allows_unclean ? "true" : "false"}}});
    decide(request);
    for (int id = 1; id <= kBrokers; ++id) learn(id, 0);
    settle();
  }

  std::string const& fault() const { return fault_; }
  size_t acknowledged() const { return acknowledged_; }

  void list_steps(std::vector<Step>& out) const {
    using K = Step::Kind;
    out.clear();
    auto const newest = first_ + history_.size() - 1;
    for (int id = 1; id <= kBrokers; ++id) {
      auto const& r = at(id);
      bool const is_fenced = broker(id).is_fenced;
      if (is_fenced && r.is_told) out.push_back({K::beat, id});
      if (!is_fenced && left_.fencings > 0) out.push_back({K::fence, id});
      if (left_.clean_restarts > 0) out.push_back({K::restart_clean, id});
      if (left_.unclean_restarts > 0) {
        for (auto keep = left_.is_flush ? r.log.synced : 0; keep <= r.log.end(); ++keep) {
          out.push_back({K::restart_unclean, id, keep});
        }
      }
      for (auto to = r.is_told ? r.told + 1 : r.told; to <= newest; ++to) {
        out.push_back({K::learn, id, static_cast<int64_t>(to)});
      }
      if (left_.is_flush && r.log.synced < r.log.end()) out.push_back({K::sync, id});
      if (r.machine.role() != replication::Role::leader) continue;
      if (left_.writes > 0 && r.machine.may_append(true) == replication::Outcome::done) out.push_back({K::write, id});
      if (has_lagged_) out.push_back({K::check, id});
    }
    if (left_.lags > 0) out.push_back({K::lag});
    if (left_.moves > 0 && partition().leader != partition().replicas.front()) out.push_back({K::move});
    if (left_.min_isr_changes > 0) out.push_back({K::change_min_isr});
    for (size_t i = 0; i < messages_.size(); ++i) {
      auto const& m = messages_[i];
      out.push_back({K::deliver, static_cast<int>(i)});
      if (m.kind == Message::Kind::ask && left_.repeats > 0)
        out.push_back({K::deliver_and_repeat, static_cast<int>(i)});
      bool const is_of_fetch = m.kind == Message::Kind::fetch || m.kind == Message::Kind::fetched;
      if (is_of_fetch && !is_late(m) && left_.losses > 0) out.push_back({K::lose, static_cast<int>(i)});
    }
  }

  void apply(Step const& step) {
    trail_ = std::make_shared<Trail const>(Trail{step, trail_});
    auto const id = step.broker;
    switch (step.kind) {
      case Step::Kind::beat: beat(id, history_[at(id).told - first_]->offset); break;
      case Step::Kind::fence:
        --left_.fencings;
        fence(id);
        break;
      case Step::Kind::restart_clean:
        --left_.clean_restarts;
        restart(id, {});
        break;
      case Step::Kind::restart_unclean:
        --left_.unclean_restarts;
        restart(id, step.number);
        break;
      case Step::Kind::learn: learn(id, static_cast<size_t>(step.number)); break;
      case Step::Kind::write:
        --left_.writes;
        write(id);
        break;
      case Step::Kind::sync: sync(id); break;
      case Step::Kind::lag:
        --left_.lags;
        has_lagged_ = true;
        now_ = now_ + 2 * kLagMax;
        break;
      case Step::Kind::check: feed(id, replication::CheckInSync{}); break;
      case Step::Kind::move:
        --left_.moves;
        move_leader();
        break;
      case Step::Kind::change_min_isr:
        --left_.min_isr_changes;
        change_min_isr();
        break;
      case Step::Kind::deliver: deliver(take(static_cast<size_t>(id))); break;
      case Step::Kind::deliver_and_repeat:
        --left_.repeats;
        deliver(Message(messages_[static_cast<size_t>(id)]));
        break;
      case Step::Kind::lose:
        --left_.losses;
        lose(static_cast<size_t>(id));
        break;
    }
    settle();
  }

  // Equal where everything that can follow is.
  Hash128 digest() const { return siphash128(as_bytes(Packer(*this).text()), {}); }
  // The way here, from the first world on.
  std::vector<Step> way() const {
    std::vector<Step> out;
    for (auto const* t = trail_.get(); t != nullptr; t = t->before.get()) out.push_back(t->step);
    std::reverse(out.begin(), out.end());
    return out;
  }
  std::string text_of(Step const& step) const {
    static constexpr char const* kNames[] = {"heartbeat of",
                                             "fence",
                                             "clean restart of",
                                             "unclean restart of",
                                             "told",
                                             "write to",
                                             "sync of",
                                             "lag",
                                             "check by",
                                             "move",
                                             "change of min.insync.replicas",
                                             "deliver",
                                             "deliver and repeat",
                                             "lose"};
    auto const* name = kNames[static_cast<size_t>(step.kind)];
    bool const is_message = step.kind >= Step::Kind::deliver;
    if (is_message) return fmt::format("{} {}", name, text_of(messages_[static_cast<size_t>(step.broker)]));
    return fmt::format("{} {} {}", name, step.broker, step.number);
  }
  std::string text() const {
    auto const& p = partition();
    auto const list = [](std::vector<BrokerId> const& ids) { return fmt::format("[{}]", fmt::join(ids, ",")); };
    auto out = fmt::format("  leader {} epoch {}/{} isr {} elr {}", p.leader, p.leader_epoch, p.partition_epoch,
                           list(p.isr), list(p.elr));
    for (int id = 1; id <= kBrokers; ++id) {
      out += fmt::format("; {}: {}{}", id, at(id).machine.text(), at(id).has_lost ? " lost" : "");
      for (auto const& e : at(id).log.entries) out += fmt::format(" {}.{}", e.epoch, e.value);
    }
    return out;
  }

 private:
  struct Trail {
    Step step;
    std::shared_ptr<Trail const> before;
  };

  static size_t index(int id) { return static_cast<size_t>(id - 1); }
  Replica const& at(int id) const { return *replicas_[index(id)]; }
  // Replicas are shared between worlds until one of them changes.
  Replica& own(int id) {
    auto& replica = replicas_[index(id)];
    if (replica.use_count() > 1) replica = std::make_shared<Replica>(*replica);
    return *replica;
  }
  metadata::BrokerImage const& broker(int id) const { return *image_->find_broker(BrokerId{id}); }
  metadata::PartitionImage const& partition() const { return *image_->find_partition("t", 0); }
  static bool has(std::vector<BrokerId> const& list, int id) {
    return std::find(list.begin(), list.end(), BrokerId{id}) != list.end();
  }

  // ---- The controller. What it remembers beside the image is of sessions and shutdowns only: worlds share it.

  void replay(metadata::RecordList const& records) {
    if (records.size() == 0) return;
    auto const before = image_;
    metadata::Replayer replayer(*before);
    for (auto const& value : records.values()) {
      auto const status = replayer.apply(value.view(), replayer.image().offset + 1, LeaderEpoch{1}, 0);
      if (!status) fail(status.error().message);
    }
    image_ = std::make_shared<metadata::Image const>(replayer.image());
    auto const* after = image_->find_partition("t", 0);
    if (after == nullptr) return;
    tell();
    auto const* was = before->find_partition("t", 0);
    bool const is_elected =
        was != nullptr && (was->leader_epoch != after->leader_epoch || was->leader != after->leader);
    if (is_elected && after->leader != kNoBroker) on_elected(*was, *after);
  }
  void tell() {
    Told told;
    told.partition = partition();
    for (int id = 1; id <= kBrokers; ++id) {
      auto const& b = broker(id);
      told.brokers[index(id)] = {b.id, b.epoch, !b.is_fenced, b.is_in_controlled_shutdown};
    }
    auto const* text = image_->find_config(metadata::ConfigResourceType::topic, "t", "min.insync.replicas");
    std::from_chars(text->data(), text->data() + text->size(), told.min_isr);
    told.offset = image_->offset.value;
    history_.push_back(std::make_shared<Told const>(std::move(told)));
  }
  template <class Request>
  metadata::ControllerAnswer decide(Request request) {
    auto decision = controller_->decide(*image_, metadata::ControllerRequest(std::move(request)), Mono{});
    replay(decision.records);
    return std::move(decision.answer);
  }
  void register_broker(int id, int64_t previous_epoch) {
    metadata::RegisterBroker request;
    request.id = BrokerId{id};
    request.cluster_id = "c";
    request.incarnation_id = Uuid{{static_cast<uint8_t>(id), static_cast<uint8_t>(++incarnations_)}};
    request.endpoints = {{"PLAINTEXT", "h", 9092, 0}};
    request.features = metadata::supported_features();
    request.directories = {Uuid{{9, static_cast<uint8_t>(id)}}};
    request.previous_broker_epoch = previous_epoch;
    decide(request);
    own(id).broker_epoch = broker(id).epoch;
  }
  metadata::BrokerHeartbeat heartbeat(int id, int64_t offset) const {
    metadata::BrokerHeartbeat request;
    request.id = BrokerId{id};
    request.epoch = broker(id).epoch;
    request.metadata_offset = offset;
    return request;
  }
  void beat(int id, int64_t offset) { decide(heartbeat(id, offset)); }
  void fence(int id) {
    auto request = heartbeat(id, image_->offset.value);
    request.want_fence = true;
    decide(request);
  }
  void move_leader() {
    metadata::ElectLeaders request;
    request.partitions.emplace().push_back({"t", {0}});
    decide(request);
  }
  void change_min_isr() {
    auto const value = history_.back()->min_isr == 2 ? "1" : "2";
    metadata::AlterConfigs request;
    request.resources.push_back(
        {{metadata::ConfigResourceType::topic, "t"}, {{"min.insync.replicas", metadata::ConfigOperation::set, value}}});
    decide(request);
  }

  // ---- Replicas

  // As the broker's process and its drivers do; `keep`: what is left of the log after a stop that was not clean.
  void restart(int id, std::optional<int64_t> keep) {
    auto fresh = std::make_shared<Replica>(*hooks_);
    auto const& old = at(id);
    fresh->log = old.log;
    fresh->lineage = old.lineage;
    // Where everything acknowledged is on the disk, every start is a clean one.
    bool const is_clean = !keep || left_.is_flush;
    fresh->has_lost = old.has_lost || !is_clean;
    // A clean stop writes the mark, others lose what was written of it.
    fresh->log.saved_mark = keep                                            ? 0
                            : old.machine.role() == replication::Role::none ? old.log.saved_mark
                                                                            : old.machine.high_watermark().value;
    if (keep && *keep < fresh->log.end()) fresh->log.cut(*keep);
    if (!keep) fresh->log.synced = fresh->log.end();
    auto const previous = is_clean ? old.broker_epoch : -1;
    replicas_[index(id)] = std::move(fresh);
    // What was on its way to it is lost with its connections; followers ask again.
    for (auto const& m : messages_) {
      if (m.kind == Message::Kind::fetch && m.to == id && !is_late(m)) own(m.from).fetch = 0;
    }
    std::erase_if(messages_, [&](Message const& m) { return m.to == id; });
    register_broker(id, previous);
    // It serves with nothing older than its own registration.
    own(id).told = first_ + history_.size() - 1;
  }

  void learn(int id, size_t to) {
    auto const& told = *history_[to - first_];
    auto const before = at(id).is_told ? history_[at(id).told - first_] : nullptr;
    own(id).told = to;
    own(id).is_told = true;
    if (!before || before->partition.partition_epoch != told.partition.partition_epoch) tell_role(id, told);
    bool const has_news = before && !std::equal(before->brokers.begin(), before->brokers.end(), told.brokers.begin(),
                                                [](auto const& a, auto const& b) {
                                                  return a.epoch == b.epoch && a.is_alive == b.is_alive;
                                                });
    if (has_news && told.partition.leader == BrokerId{id}) feed(id, replication::BrokersChanged{facts(id, told)});
    own(id).min_isr = told.min_isr;
    if (before && before->min_isr != told.min_isr) feed(id, replication::RulesChanged{told.min_isr, counts_at()});
  }
  void tell_role(int id, Told const& told) {
    auto& r = own(id);
    auto const& p = told.partition;
    bool const is_new = r.machine.role() == replication::Role::none;
    auto const mark = is_new ? Offset(r.log.saved_mark) : r.machine.high_watermark();
    if (p.leader == BrokerId{id}) {
      r.log.assign(p.leader_epoch.value);
      bool const is_new_epoch = r.machine.role() != replication::Role::leader || p.leader_epoch > r.machine.epoch();
      if (is_new_epoch) r.fetched = {};
      r.fetch = 0;
      replication::BecomeLeader event;
      event.epoch = p.leader_epoch;
      event.partition_epoch = p.partition_epoch;
      event.self = BrokerId{id};
      event.replicas = p.replicas;
      event.in_sync_replicas = p.isr;
      event.min_in_sync = r.min_isr = told.min_isr;
      event.counts_at = counts_at();
      event.end_offset = Offset(r.log.end());
      event.synced_offset = Offset(r.log.synced);
      event.high_watermark = mark;
      event.lag_max = kLagMax;
      event.brokers = facts(id, told);
      return feed(id, event);
    }
    bool const is_repeated = r.machine.role() == replication::Role::follower && r.machine.epoch() == p.leader_epoch &&
                             r.machine.leader() == p.leader;
    if (is_repeated) return;
    r.fetch = 0;
    replication::BecomeFollower event;
    event.epoch = p.leader_epoch;
    event.leader = p.leader;
    event.counts_at = counts_at();
    event.end_offset = Offset(r.log.end());
    event.synced_offset = Offset(r.log.synced);
    event.high_watermark = mark;
    event.has_epochs = !r.log.epochs.empty();
    feed(id, event);
  }
  replication::LeaderCountsAt counts_at() const {
    return left_.is_flush ? replication::LeaderCountsAt::synced : replication::LeaderCountsAt::end;
  }
  static std::vector<replication::BrokerFact> facts(int id, Told const& told) {
    std::vector<replication::BrokerFact> out;
    for (auto const& fact : told.brokers) {
      if (fact.id != BrokerId{id}) out.push_back(fact);
    }
    return out;
  }

  // One event, and everything that it caused.
  void feed(int id, replication::Event const& event) {
    auto& r = own(id);
    replication::Effects out;
    r.machine.on_event(event, now_, out);
    if (out.truncate_to) {
      r.log.cut(out.truncate_to->value);
      feed(id, replication::Truncated{Offset(0), Offset(r.log.end())});
    }
    commit(id);
    for (auto const& reply : out.replies) on_reply(id, reply);
    if (out.isr_change) {
      r.asked = *out.isr_change;
      messages_.push_back({.kind = Message::Kind::ask, .from = id, .broker_epoch = r.broker_epoch, .change = r.asked});
    }
  }
  void on_reply(int id, replication::Reply const& reply) {
    if (reply.ticket == kFetchTicket) {
      fetch_outcome_ = reply.outcome;
      return;
    }
    auto& r = own(id);
    auto const found =
        std::find_if(r.waiting.begin(), r.waiting.end(), [&](auto const& w) { return w.first == reply.ticket; });
    if (found == r.waiting.end()) return;
    auto const offset = found->second;
    r.waiting.erase(found);
    if (reply.outcome != replication::Outcome::done) return;
    ++acknowledged_;
    auto const count = static_cast<int32_t>(waits_for(id).size());
    if (count < r.min_isr) fail(fmt::format("{} acknowledges offset {} with {} in sync", id, offset, count));
    bool const is_committed = offset < static_cast<int64_t>(committed_.size()) &&
                              committed_[static_cast<size_t>(offset)] == r.log.entries[static_cast<size_t>(offset)];
    if (!is_committed && r.lineage == lineage_)
      fail(fmt::format("{} acknowledges offset {} before it is committed", id, offset));
  }
  void write(int id) {
    auto& r = own(id);
    r.log.append({r.machine.epoch().value, ++values_});
    auto const end = r.log.end();
    auto const ticket = static_cast<replication::Ticket>(values_);
    r.waiting.emplace_back(ticket, end - 1);
    feed(id, replication::Appended{Offset(end)});
    feed(id, replication::AwaitCommitted{ticket, Offset(end)});
  }
  void sync(int id) {
    auto& r = own(id);
    r.log.synced = r.log.end();
    feed(id, replication::Synced{Offset(r.log.synced)});
  }

  // ---- Messages

  Message take(size_t i) {
    auto message = std::move(messages_[i]);
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
    return message;
  }
  // Of a follower's earlier role or life, or given up.
  bool is_late(Message const& m) const {
    if (m.kind != Message::Kind::fetch && m.kind != Message::Kind::fetched) return false;
    auto const& follower = at(m.kind == Message::Kind::fetch ? m.from : m.to);
    return follower.broker_epoch != m.broker_epoch || follower.fetch != m.number;
  }
  void settle() {
    for (int id = 1; id <= kBrokers; ++id) {
      if (at(id).fetch != 0 || !at(id).machine.may_fetch()) continue;
      auto& r = own(id);
      r.fetch = ++fetches_;
      messages_.push_back({.kind = Message::Kind::fetch,
                           .from = id,
                           .to = r.machine.leader().value,
                           .broker_epoch = r.broker_epoch,
                           .number = r.fetch,
                           .epoch = r.machine.epoch().value,
                           .offset = r.log.end(),
                           .last_epoch = r.log.last_epoch()});
    }
    if (!left_.keeps_void) std::erase_if(messages_, [&](Message const& m) { return is_void(m); });
    drop_late();
    skip_told();
    auto oldest = first_ + history_.size() - 1;
    for (int id = 1; id <= kBrokers; ++id) oldest = std::min(oldest, at(id).told);
    for (; first_ < oldest; ++first_) history_.erase(history_.begin());
    check();
  }
  // Sure to be refused, or to change nothing, whenever it comes.
  bool is_void(Message const& m) const {
    switch (m.kind) {
      case Message::Kind::ask: {
        auto const& p = partition();
        return p.leader_epoch != m.change.leader_epoch || p.partition_epoch > m.change.partition_epoch ||
               broker(m.from).epoch != m.broker_epoch;
      }
      case Message::Kind::answer: {
        auto const& leader = at(m.to);
        return m.answered.verdict == replication::IsrVerdict::outdated || !leader.machine.is_isr_change_under_way() ||
               leader.asked.id != m.answered.change;
      }
      case Message::Kind::fetch: {
        auto const& leader = at(m.to);
        bool const is_of_earlier_life =
            leader.is_told && history_[leader.told - first_]->brokers[index(m.from)].epoch > m.broker_epoch;
        return is_late(m) && (leader.machine.epoch().value > m.epoch || is_of_earlier_life);
      }
      case Message::Kind::fetched: return is_late(m) && at(m.to).machine.epoch().value > m.epoch;
    }
    return false;
  }
  // What a broker would do nothing about it has heard of.
  void skip_told() {
    for (int id = 1; id <= kBrokers; ++id) {
      while (at(id).told + 1 < first_ + history_.size()) {
        auto const& now = *history_[at(id).told - first_];
        auto const& next = *history_[at(id).told + 1 - first_];
        bool const is_same_leader =
            now.partition.leader == next.partition.leader && now.partition.leader_epoch == next.partition.leader_epoch;
        bool const leads = now.partition.leader == BrokerId{id};
        bool is_same = is_same_leader;
        if (leads) {
          is_same =
              is_same && now.partition.partition_epoch == next.partition.partition_epoch && now.min_isr == next.min_isr;
          for (int other = 1; other <= kBrokers; ++other) {
            auto const& a = now.brokers[index(other)];
            auto const& b = next.brokers[index(other)];
            is_same = is_same && (other == id || (a.epoch == b.epoch && a.is_alive == b.is_alive));
          }
        }
        if (!is_same) break;
        ++own(id).told;
      }
    }
  }
  // The oldest are lost first.
  void drop_late() {
    auto const is_older = [&](Message const& a, Message const& b) {
      auto const age = [&](Message const& m) {
        return std::tuple(!is_late(m), m.epoch, m.from, m.to, m.offset, m.last_epoch, m.mark);
      };
      return age(a) < age(b);
    };
    auto late = std::count_if(messages_.begin(), messages_.end(), [&](Message const& m) { return is_late(m); });
    for (; late > static_cast<std::ptrdiff_t>(left_.late_max); --late) {
      messages_.erase(std::min_element(messages_.begin(), messages_.end(), is_older));
    }
  }
  void deliver(Message const& m) {
    switch (m.kind) {
      case Message::Kind::fetch: return on_fetch(m);
      case Message::Kind::fetched: return on_fetched(m);
      case Message::Kind::ask: return on_ask(m);
      case Message::Kind::answer: {
        feed(m.to, m.answered);
        if (m.answered.verdict == replication::IsrVerdict::refused) now_ = now_ + kRefusedWait;
        return;
      }
    }
  }
  void lose(size_t i) {
    auto const& m = messages_[i];
    bool const is_answer = m.kind == Message::Kind::fetched;
    own(is_answer ? m.to : m.from).fetch = 0;
    if (is_answer) messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void on_fetch(Message const& m) {
    auto& leader = own(m.to);
    bool const is_current = !is_late(m);
    replication::FollowerFetched event{kFetchTicket, BrokerId{m.from}, LeaderEpoch{m.epoch}, Offset(m.offset),
                                       m.broker_epoch};
    auto const end = leader.log.end_of(m.last_epoch);
    event.is_diverging = m.last_epoch >= 0 && (end.epoch.value < m.last_epoch || end.end.value < m.offset);
    auto const leader_end = leader.log.end();
    fetch_outcome_ = replication::Outcome::not_leader;
    feed(m.to, event);
    bool const is_done = fetch_outcome_ == replication::Outcome::done;
    if (is_done && !event.is_diverging) {
      leader.fetched[index(m.from)] = {now_, leader_end, m.broker_epoch};
      bool const is_alive = at(m.from).broker_epoch == m.broker_epoch;
      if (is_alive && at(m.from).has_lost && holds(at(m.from).log, committed_)) own(m.from).has_lost = false;
      if (is_current) agree(m.from, m.epoch);
    }
    // Nobody listens on the connection any more.
    if (!is_current) return;
    Message answer{.kind = Message::Kind::fetched,
                   .from = m.to,
                   .to = m.from,
                   .broker_epoch = m.broker_epoch,
                   .number = m.number,
                   .epoch = m.epoch,
                   .offset = m.offset};
    if (is_done && event.is_diverging) answer.diverging = end;
    if (is_done && !event.is_diverging && m.offset < leader_end) {
      answer.entries.assign(leader.log.entries.begin() + m.offset, leader.log.entries.end());
    }
    answer.mark = leader.machine.high_watermark().value;
    bool const has_news = is_done && (answer.diverging || !answer.entries.empty() ||
                                      answer.mark > at(m.from).machine.high_watermark().value);
    if (has_news)
      messages_.push_back(std::move(answer));
    else
      own(m.from).fetch = 0;
  }
  void on_fetched(Message const& m) {
    auto& follower = own(m.to);
    if (!is_late(m)) follower.fetch = 0;
    if (!follower.machine.may_apply(LeaderEpoch{m.epoch}, Offset(m.offset))) return;
    if (m.diverging) {
      auto const own_end = follower.log.end_of(m.diverging->epoch.value);
      follower.log.cut(follower.machine.truncation_point(*m.diverging, own_end).value);
      return feed(m.to, replication::Truncated{Offset(0), Offset(follower.log.end())});
    }
    for (auto const& entry : m.entries) {
      if (entry.epoch > m.epoch) break;
      follower.log.append(entry);
    }
    feed(m.to, replication::Appended{Offset(follower.log.end())});
    feed(m.to, replication::LeaderMarks{LeaderEpoch{m.epoch}, Offset(m.mark)});
  }
  // Its log is a beginning of the log of the leader of that epoch.
  void agree(int id, int32_t epoch) {
    if (epoch >= lineage_ && at(id).lineage != lineage_) own(id).lineage = lineage_;
  }
  void on_ask(Message const& m) {
    metadata::AlterPartition request;
    request.broker = BrokerId{m.from};
    request.broker_epoch = m.broker_epoch;
    auto& wire = request.partitions.emplace_back();
    wire.topic = image_->find_topic("t")->id;
    wire.leader_epoch = m.change.leader_epoch;
    wire.partition_epoch = m.change.partition_epoch;
    for (auto const& member : m.change.members) {
      wire.isr.push_back({member.id, member.id == request.broker ? m.broker_epoch : member.broker_epoch});
    }
    auto const told = std::get<metadata::AlterPartitionAnswer>(decide(request));
    if (at(m.from).broker_epoch != m.broker_epoch) return;
    Message answer{.kind = Message::Kind::answer, .to = m.from, .broker_epoch = m.broker_epoch};
    answer.answered.change = m.change.id;
    answer.answered.verdict = replication::IsrVerdict::outdated;
    if (told.error.ok()) {
      auto const& changed = told.partitions.front();
      if (changed.error == ErrorCode::ineligible_replica) answer.answered.verdict = replication::IsrVerdict::refused;
      if (changed.error == ErrorCode::none && changed.leader_epoch == m.change.leader_epoch) {
        answer.answered.verdict = replication::IsrVerdict::accepted;
        answer.answered.partition_epoch = changed.partition_epoch;
        answer.answered.in_sync_replicas = changed.isr;
      }
    }
    messages_.push_back(std::move(answer));
  }

  // ---- What must hold

  void fail(std::string text) {
    if (fault_.empty()) fault_ = std::move(text);
  }
  static bool holds(Log const& log, std::vector<Entry> const& entries) {
    return log.entries.size() >= entries.size() && std::equal(entries.begin(), entries.end(), log.entries.begin());
  }
  void on_elected(metadata::PartitionImage const& was, metadata::PartitionImage const& now) {
    if (was.leader_epoch == now.leader_epoch) return fail("two leaders of one epoch");
    auto const id = now.leader.value;
    bool const was_eligible = has(was.isr, id) || has(was.elr, id);
    if (was_eligible) return;
    if (now.recovery_state != metadata::LeaderRecoveryState::recovering) {
      return fail(fmt::format("{} is elected, was not eligible, and nobody says so", id));
    }
    // Records may be gone, and it is said: from now on its log is what there is.
    auto& r = own(id);
    r.has_lost = false;
    r.lineage = lineage_ = now.leader_epoch.value;
    auto const& log = r.log.entries;
    size_t same = 0;
    while (same < std::min(log.size(), committed_.size()) && log[same] == committed_[same]) ++same;
    committed_.resize(same);
  }
  // Whatever a leader's mark has passed is committed.
  void commit(int id) {
    auto const& r = at(id);
    if (r.machine.role() != replication::Role::leader || r.lineage != lineage_ || r.machine.epoch().value < lineage_)
      return;
    auto const mark = static_cast<size_t>(r.machine.high_watermark().value);
    for (size_t i = 0; i < mark; ++i) {
      if (i == committed_.size())
        committed_.push_back(r.log.entries[i]);
      else if (committed_[i] != r.log.entries[i])
        fail(fmt::format("two records are committed at offset {}", i));
    }
  }
  // Whom a leader's mark waits for.
  std::vector<BrokerId> waits_for(int id) const {
    auto const& r = at(id);
    std::vector<BrokerId> out{BrokerId{id}};
    std::vector<replication::FollowerView> followers;
    r.machine.list_followers(followers);
    bool const is_expanding = r.machine.is_isr_change_under_way() && !r.asked.is_shrink;
    for (auto const& follower : followers) {
      bool const is_asked_for = std::any_of(r.asked.members.begin(), r.asked.members.end(),
                                            [&](auto const& member) { return member.id == follower.id; });
      if (follower.is_in_sync || (is_expanding && is_asked_for)) out.push_back(follower.id);
    }
    return out;
  }
  void check() {
    auto const& p = partition();
    for (int id = 1; id <= kBrokers; ++id) {
      auto const& r = at(id);
      bool const is_eligible = has(p.isr, id) || has(p.elr, id);
      if (is_eligible && r.has_lost) fail(fmt::format("R4: {} may have lost records and is taken to have them", id));
      if (is_eligible && !holds(r.log, committed_))
        fail(fmt::format("R1: {} may be elected and lacks what is committed", id));
      for (int other = id + 1; other <= kBrokers; ++other) {
        auto const& o = at(other);
        bool const both_lead =
            r.machine.role() == replication::Role::leader && o.machine.role() == replication::Role::leader;
        if (both_lead && r.machine.epoch() == o.machine.epoch())
          fail(fmt::format("R3: {} and {} lead one epoch", id, other));
        if (r.lineage != o.lineage) continue;
        auto const mark =
            std::min({r.machine.high_watermark().value, o.machine.high_watermark().value, r.log.end(), o.log.end()});
        if (!std::equal(r.log.entries.begin(), r.log.entries.begin() + mark, o.log.entries.begin())) {
          fail(fmt::format("R2: {} and {} differ below both marks", id, other));
        }
      }
    }
    auto const id = p.leader.value;
    if (id < 0 || static_cast<int32_t>(p.isr.size()) < history_.back()->min_isr) return;
    bool const leads = at(id).machine.role() == replication::Role::leader && at(id).machine.epoch() == p.leader_epoch;
    if (!leads) return;
    auto const waited = waits_for(id);
    for (int other = 1; other <= kBrokers; ++other) {
      if ((has(p.isr, other) || has(p.elr, other)) && !has(waited, other)) {
        fail(fmt::format("R5: {} leads and does not wait for {}, who could be elected", id, other));
      }
    }
  }

  static std::string text_of(Message const& m) {
    switch (m.kind) {
      case Message::Kind::fetch: return fmt::format("Fetch {}>{} epoch {} from {}", m.from, m.to, m.epoch, m.offset);
      case Message::Kind::fetched:
        if (m.diverging)
          return fmt::format("answer {}>{} diverging {}@{}", m.from, m.to, m.diverging->end, m.diverging->epoch);
        return fmt::format("answer {}>{} epoch {} from {}: {} records, mark {}", m.from, m.to, m.epoch, m.offset,
                           m.entries.size(), m.mark);
      case Message::Kind::ask:
        return fmt::format("ISR change of {}: {} of {} members", m.from, m.change.is_shrink ? "shrink" : "growth",
                           m.change.members.size());
      case Message::Kind::answer:
        return fmt::format("ISR answer to {}: {}", m.to, static_cast<int>(m.answered.verdict));
    }
    return "";
  }

  // Writes down all that counts, epochs by their order only.
  class Packer {
   public:
    explicit Packer(World const& world) : w_(world) {
      collect();
      for (auto const& told : w_.history_) pack(*told);
      for (int id = 1; id <= kBrokers; ++id) pack(id);
      pack(w_.committed_);
      std::vector<std::string> messages;
      auto const before = std::exchange(text_, {});
      for (auto const& m : w_.messages_) {
        pack(m);
        messages.push_back(std::exchange(text_, {}));
      }
      text_ = before;
      std::sort(messages.begin(), messages.end());
      for (auto const& m : messages) text_ += m;
      auto const& b = w_.left_;
      put(epochs_.of(w_.lineage_), w_.has_lagged_, w_.values_, b.writes, b.fencings, b.clean_restarts,
          b.unclean_restarts, b.lags, b.moves, b.min_isr_changes, b.repeats, b.losses);
    }
    std::string const& text() const { return text_; }

   private:
    template <class... T>
    void put(T... numbers) {
      (text_.push_back(static_cast<char>(static_cast<int64_t>(numbers) + 1)), ...);
    }
    // Of a message: of a follower's, or of the leader's that asks or is answered.
    static int life_of(Message const& m) {
      return m.kind == Message::Kind::fetch || m.kind == Message::Kind::ask ? m.from : m.to;
    }
    void collect() {
      for (auto const& told : w_.history_) {
        epochs_.add(told->partition.leader_epoch.value);
        partition_epochs_.add(told->partition.partition_epoch);
        for (int id = 1; id <= kBrokers; ++id) lives_[index(id)].add(told->brokers[index(id)].epoch);
      }
      epochs_.add(w_.lineage_);
      for (auto const& e : w_.committed_) epochs_.add(e.epoch);
      for (int id = 1; id <= kBrokers; ++id) {
        auto const& r = w_.at(id);
        epochs_.add(r.machine.epoch().value);
        epochs_.add(r.lineage);
        for (auto const& e : r.log.entries) epochs_.add(e.epoch);
        for (auto const& e : r.log.epochs) epochs_.add(e.first);
        lives_[index(id)].add(r.broker_epoch);
        if (r.machine.role() != replication::Role::leader) continue;
        partition_epochs_.add(r.machine.partition_epoch());
        for (int other = 1; other <= kBrokers; ++other) lives_[index(other)].add(r.fetched[index(other)].broker_epoch);
      }
      for (auto const& m : w_.messages_) {
        for (auto const epoch : {m.epoch, m.last_epoch, m.change.leader_epoch.value}) epochs_.add(epoch);
        if (m.diverging) epochs_.add(m.diverging->epoch.value);
        for (auto const& e : m.entries) epochs_.add(e.epoch);
        partition_epochs_.add(m.change.partition_epoch);
        partition_epochs_.add(m.answered.partition_epoch);
        lives_[index(life_of(m))].add(m.broker_epoch);
        for (auto const& member : m.change.members) lives_[index(member.id.value)].add(member.broker_epoch);
      }
      epochs_.close();
      partition_epochs_.close();
      for (auto& lives : lives_) lives.close();
    }
    void pack(std::vector<BrokerId> const& ids) {
      put(ids.size());
      for (auto const id : ids) put(id.value);
    }
    void pack(std::vector<Entry> const& entries) {
      put(entries.size());
      for (auto const& e : entries) put(epochs_.of(e.epoch), e.value);
    }
    void pack(Told const& told) {
      auto const& p = told.partition;
      put(p.leader.value, epochs_.of(p.leader_epoch.value), partition_epochs_.of(p.partition_epoch), p.recovery_state,
          told.min_isr);
      pack(p.isr);
      pack(p.elr);
      pack(p.last_known_elr);
      for (int id = 1; id <= kBrokers; ++id) {
        auto const& fact = told.brokers[index(id)];
        put(lives_[index(id)].of(fact.epoch), fact.is_alive);
      }
    }
    bool is_recent(Mono at) const { return w_.now_ - at <= kLagMax; }
    void pack(int id) {
      auto const& r = w_.at(id);
      auto const& m = r.machine;
      put(m.role(), r.told - w_.first_, r.is_told, lives_[index(id)].of(r.broker_epoch), epochs_.of(m.epoch().value),
          m.leader().value, m.high_watermark().value, r.has_lost, epochs_.of(r.lineage));
      if (m.role() == replication::Role::none) put(r.log.saved_mark);
      if (w_.left_.is_flush) put(r.log.synced, m.synced_offset().value);
      pack(r.log.entries);
      for (auto const& [epoch, start] : r.log.epochs) put(epochs_.of(epoch), start);
      put(r.waiting.size());
      for (auto const& [ticket, offset] : r.waiting) put(ticket, offset);
      if (m.role() != replication::Role::leader) return;
      put(partition_epochs_.of(m.partition_epoch()), m.epoch_start().value);
      std::vector<replication::FollowerView> followers;
      m.list_followers(followers);
      for (auto const& f : followers) {
        auto const& fetched = r.fetched[index(f.id.value)];
        put(f.id.value, f.end_offset.value, f.is_in_sync, f.caught_up_at && is_recent(*f.caught_up_at),
            lives_[index(f.id.value)].of(fetched.broker_epoch), fetched.leader_end, is_recent(fetched.at));
      }
      put(m.is_isr_change_under_way());
      if (!m.is_isr_change_under_way()) return;
      put(r.asked.is_shrink);
      for (auto const& member : r.asked.members) put(member.id.value);
    }
    void pack(Message const& m) {
      auto const& leader = w_.at(life_of(m));
      auto const change = m.kind == Message::Kind::ask ? m.change.id : m.answered.change;
      bool const is_asked = leader.machine.is_isr_change_under_way() && leader.broker_epoch == m.broker_epoch &&
                            leader.asked.id == change;
      put(m.kind, m.from, m.to, lives_[index(life_of(m))].of(m.broker_epoch), w_.is_late(m), epochs_.of(m.epoch),
          m.offset, epochs_.of(m.last_epoch), m.mark, is_asked, epochs_.of(m.change.leader_epoch.value),
          partition_epochs_.of(m.change.partition_epoch), m.change.is_shrink, m.answered.verdict,
          partition_epochs_.of(m.answered.partition_epoch), m.diverging.has_value());
      if (m.diverging) put(epochs_.of(m.diverging->epoch.value), m.diverging->end.value);
      pack(m.entries);
      for (auto const& member : m.change.members)
        put(member.id.value, lives_[index(member.id.value)].of(member.broker_epoch));
      pack(m.answered.in_sync_replicas);
    }

    World const& w_;
    Ranks epochs_, partition_epochs_;
    std::array<Ranks, kBrokers> lives_;
    std::string text_;
  };

  static constexpr replication::Ticket kFetchTicket = 0;

  metadata::Controller* controller_;
  Hooks* hooks_;
  Bounds left_;
  std::shared_ptr<metadata::Image const> image_;
  std::array<std::shared_ptr<Replica>, kBrokers> replicas_;
  std::vector<Message> messages_;
  std::vector<std::shared_ptr<Told const>> history_;  // from the oldest that somebody has not heard of on
  size_t first_ = 0;                                  // its number
  std::vector<Entry> committed_;
  Mono now_{10s};
  bool has_lagged_ = false;
  int32_t lineage_ = 0;  // the epoch of the last unclean election
  int64_t values_ = 0;
  size_t acknowledged_ = 0;
  uint64_t fetches_ = 0;
  int incarnations_ = 0;
  replication::Outcome fetch_outcome_{};
  std::string fault_;
  std::shared_ptr<Trail const> trail_;
};

}  // namespace millrace::model
