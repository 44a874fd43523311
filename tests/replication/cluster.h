// Three machines of one partition, their logs and a controller, joined by a network that delays, repeats and loses what
// it likes. Nodes crash, come back with or without what they had not synced, hear of metadata late and one by one. After
// every step: whoever may lead holds every acknowledged record, an acknowledged offset keeps its record, and two logs
// agree below the smaller of their marks.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/replication/partition.h"

namespace millrace::replication::test {

inline constexpr int kNodes = 3;

struct ClusterOptions {
  bool is_flush = false;   // acknowledgements wait for syncs, and crashes lose what was not synced
  int32_t min_in_sync = 2;
  Hooks* hooks = &Hooks::none();
};

struct Entry {
  int32_t epoch{};
  int64_t value{};
  friend bool operator==(Entry const&, Entry const&) = default;
};

// Kafka's leader epoch cache and a log under it.
struct Log {
  std::vector<Entry> entries;
  std::vector<std::pair<int32_t, int64_t>> epochs;  // epoch, its first offset
  int64_t synced = 0;
  int64_t saved_mark = 0;

  int64_t end() const { return static_cast<int64_t>(entries.size()); }
  int32_t last_epoch() const { return epochs.empty() ? -1 : epochs.back().first; }
  void assign(int32_t epoch) {
    if (epoch <= last_epoch()) return;
    while (!epochs.empty() && epochs.back().second >= end()) epochs.pop_back();
    epochs.emplace_back(epoch, end());
  }
  void append(Entry entry) {
    assign(entry.epoch);
    entries.push_back(entry);
  }
  void cut(int64_t to) {
    if (to < end()) entries.resize(static_cast<size_t>(to));
    while (!epochs.empty() && epochs.back().second >= to) epochs.pop_back();
    synced = std::min(synced, to);
    saved_mark = std::min(saved_mark, to);
  }
  EpochEnd end_of(int32_t epoch) const {
    if (epoch < 0 || epochs.empty()) return {};
    if (epoch == epochs.back().first) return {LeaderEpoch(epoch), Offset(end())};
    auto const after = std::find_if(epochs.begin(), epochs.end(), [&](auto const& e) { return e.first > epoch; });
    if (after == epochs.end()) return {};
    if (after == epochs.begin()) return {LeaderEpoch(epoch), Offset(after->second)};
    return {LeaderEpoch(std::prev(after)->first), Offset(after->second)};
  }
};

struct Metadata {
  int leader = 0;  // -1: none
  int32_t leader_epoch = 0;
  int32_t partition_epoch = 0;
  std::vector<int> isr{0, 1, 2};
  std::array<int64_t, kNodes> broker_epoch{1, 1, 1};
  std::array<bool, kNodes> is_fenced{};
  bool has(int node) const { return std::find(isr.begin(), isr.end(), node) != isr.end(); }
};

class Cluster {
 public:
  Cluster(ClusterOptions options, uint64_t seed) : options_(options), random_(seed) {
    history_.push_back({});
    for (int n = 0; n < kNodes; ++n) start(n);
  }

  std::string const& fault() const { return fault_; }
  int64_t acked() const { return static_cast<int64_t>(acked_.size()); }
  int64_t elections() const { return metadata().leader_epoch; }

  void step(bool is_calm) {
    now_ = now_ + std::chrono::milliseconds(random_.below(is_calm ? 300 : 50));
    auto const n = static_cast<int>(random_.below(kNodes));
    auto& node = nodes_[n];
    auto const what = random_.below(100);
    if (!is_calm && what < 2) return crash(n);
    if (!is_calm && what < 4 && node.machine) return move_leader();
    if (what < 12 || (is_calm && !node.machine)) return node.machine ? check(n) : restart(n);
    if (!node.machine) return;
    if (what < 30) return learn(n);
    if (what < 42) return is_calm ? learn(n) : produce(n);
    if (what < 50) return sync(n);
    if (what < 70) return fetch(n);
    deliver(is_calm);
  }

  // Nothing fails any more: every log ends the same, committed, with everybody in sync.
  bool is_well() const {
    auto const& m = metadata();
    if (m.leader < 0 || m.isr.size() != kNodes || !nodes_[m.leader].machine) return false;
    auto const& leader = *nodes_[m.leader].machine;
    if (leader.role() != Role::leader || leader.epoch().value != m.leader_epoch) return false;
    for (auto const& node : nodes_) {
      if (!node.machine || node.log.end() != leader.end_offset().value) return false;
    }
    return leader.high_watermark() == leader.end_offset();
  }
  std::string text() const {
    auto const& m = metadata();
    auto out = fmt::format("controller: leader {} epoch {}/{} isr", m.leader, m.leader_epoch, m.partition_epoch);
    for (auto const i : m.isr) out += fmt::format(" {}", i);
    for (int n = 0; n < kNodes; ++n) {
      out += fmt::format("\n  {}: {} log {} applied {} of {}", n, nodes_[n].machine ? nodes_[n].machine->text() : "down",
                         nodes_[n].log.end(), nodes_[n].applied, history_.size());
    }
    return out;
  }

 private:
  struct Node {
    Log log;
    std::unique_ptr<PartitionMachine> machine;  // null: down
    size_t applied = 0;                         // of the history
    int64_t broker_epoch = 1;                   // of this life
    bool is_fetching = false;
    std::map<Ticket, int64_t> waiting;          // for the mark: offset
    Ticket next_ticket = 1;
    bool lost_something = false;
  };
  struct Fetch {
    int from{}, to{};
    LeaderEpoch epoch;
    int64_t broker_epoch{};
    int64_t offset{};
    int32_t last_epoch{};
  };
  struct FetchAnswer {
    int to{};
    int64_t broker_epoch{};  // of the life that asked
    LeaderEpoch epoch;
    int64_t offset{};
    bool is_refused = false;
    std::optional<EpochEnd> diverging;
    std::vector<Entry> entries;
    int64_t mark{};
  };
  struct Ask {
    int from{};
    int64_t broker_epoch{};
    IsrChange change;
  };
  struct AskAnswer {
    int to{};
    int64_t broker_epoch{};
    IsrAnswered answer;
  };
  using Message = std::variant<Fetch, FetchAnswer, Ask, AskAnswer>;

  Metadata const& metadata() const { return history_.back(); }
  static BrokerId id(int node) { return BrokerId(node + 1); }

  // ---- Nodes

  void start(int n) {
    auto& node = nodes_[n];
    node.machine = std::make_unique<PartitionMachine>(*options_.hooks);
    node.applied = 0;
    node.is_fetching = false;
    node.waiting.clear();
    // A node serves with the metadata of its start at the least.
    node.applied = history_.size() - 1;
    tell(n);
  }
  void crash(int n) {
    auto& node = nodes_[n];
    if (!node.machine) return;
    node.machine.reset();
    node.lost_something = false;
    if (options_.is_flush) {
      if (node.log.synced < node.log.end()) node.log.cut(node.log.synced);
    } else if (random_.chance(0.3) && metadata().isr.size() > 1 && may_lose(n)) {
      auto const keep = static_cast<int64_t>(random_.below(static_cast<uint64_t>(node.log.end()) + 1));
      node.lost_something = keep < node.log.end();
      node.log.cut(keep);
    }
    change([&](Metadata& m) {
      m.is_fenced[n] = true;
      drop(m, n);
      if (m.leader == n) elect(m);
    });
  }
  // What a lossy crash may destroy: min.insync - 1 copies at a time.
  bool may_lose(int n) const {
    int damaged = 0;
    for (int other = 0; other < kNodes; ++other) damaged += other != n && nodes_[other].lost_something && !metadata().has(other);
    return options_.min_in_sync > 1 && damaged + 1 < options_.min_in_sync && metadata().isr.size() > 2;
  }
  void restart(int n) {
    auto& node = nodes_[n];
    change([&](Metadata& m) {
      node.broker_epoch = ++broker_epochs_;
      m.broker_epoch[n] = node.broker_epoch;
      m.is_fenced[n] = false;
      if (node.lost_something) drop(m, n);
      if (m.leader < 0) elect(m);
    });
    start(n);
    node.lost_something = false;
  }
  void tell(int n) {
    auto& node = nodes_[n];
    auto const& m = history_[node.applied];
    auto& log = node.log;
    auto const mark = node.machine->role() == Role::none ? Offset(log.saved_mark) : node.machine->high_watermark();
    if (m.leader == n) {
      log.assign(m.leader_epoch);
      BecomeLeader event;
      event.epoch = LeaderEpoch(m.leader_epoch);
      event.partition_epoch = m.partition_epoch;
      event.self = id(n);
      for (int i = 0; i < kNodes; ++i) event.replicas.push_back(id(i));
      for (auto const i : m.isr) event.in_sync_replicas.push_back(id(i));
      event.min_in_sync = options_.min_in_sync;
      event.counts_at = counts_at();
      event.end_offset = Offset(log.end());
      event.synced_offset = Offset(log.synced);
      event.high_watermark = mark;
      event.lag_max = std::chrono::seconds(1);
      event.brokers = facts(m);
      return feed(n, event);
    }
    auto const& machine = *node.machine;
    BrokerId const leader = m.leader < 0 ? kNoBroker : id(m.leader);
    if (machine.role() == Role::follower && machine.epoch().value == m.leader_epoch && machine.leader() == leader) return;
    BecomeFollower event;
    event.epoch = LeaderEpoch(m.leader_epoch);
    event.leader = leader;
    event.counts_at = counts_at();
    event.end_offset = Offset(log.end());
    event.synced_offset = Offset(log.synced);
    event.high_watermark = mark;
    event.has_epochs = !log.epochs.empty();
    node.is_fetching = false;
    feed(n, event);
  }
  LeaderCountsAt counts_at() const { return options_.is_flush ? LeaderCountsAt::synced : LeaderCountsAt::end; }
  std::vector<BrokerFact> facts(Metadata const& m) const {
    std::vector<BrokerFact> out;
    for (int i = 0; i < kNodes; ++i) out.push_back({id(i), m.broker_epoch[i], !m.is_fenced[i], false});
    return out;
  }

  // One event, and everything that it caused.
  template <class E>
  void feed(int n, E const& event) {
    auto& node = nodes_[n];
    Effects out;
    node.machine->on_event(event, now_, out);
    if (out.truncate_to) {
      node.log.cut(out.truncate_to->value);
      Effects more;
      node.machine->on_event(Truncated{Offset(0), Offset(node.log.end())}, now_, more);
    }
    for (auto const& reply : out.replies) on_reply(n, reply);
    if (out.isr_change) messages_.push_back(Ask{n, node.broker_epoch, *out.isr_change});
    node.log.saved_mark = std::min(random_.chance(0.2) ? node.machine->high_watermark().value : node.log.saved_mark, node.log.end());
    look();
  }
  void on_reply(int n, Reply const& reply) {
    auto& node = nodes_[n];
    auto const found = node.waiting.find(reply.ticket);
    if (found == node.waiting.end()) return;
    auto const offset = found->second;
    node.waiting.erase(found);
    if (reply.outcome != Outcome::done) return;
    auto const& entry = node.log.entries[static_cast<size_t>(offset)];
    auto const [known, is_new] = acked_.emplace(offset, entry);
    if (!is_new && known->second != entry) fail("offset {} was acknowledged with two records", offset);
    auto const& m = history_[node.applied];
    bool const is_newer_known = node.machine->partition_epoch() > m.partition_epoch || node.machine->is_isr_change_under_way();
    if (!is_newer_known && static_cast<int32_t>(m.isr.size()) < options_.min_in_sync) {
      fail("offset {} was acknowledged with {} in sync", offset, m.isr.size());
    }
  }

  void produce(int n) {
    auto& node = nodes_[n];
    if (node.machine->role() != Role::leader) return;
    if (!node.waiting.empty() || node.log.end() == 0 || random_.chance(0.8)) {
      if (node.machine->may_append(true) != Outcome::done) return;
      node.log.append({node.machine->epoch().value, ++values_});
      feed(n, Appended{Offset(node.log.end())});
      await(n, node.log.end() - 1);
    } else {
      // Somebody repeats what is in the log already.
      await(n, static_cast<int64_t>(random_.below(static_cast<uint64_t>(node.log.end()))));
    }
  }
  void await(int n, int64_t offset) {
    auto const ticket = nodes_[n].next_ticket++;
    nodes_[n].waiting[ticket] = offset;
    feed(n, AwaitCommitted{ticket, Offset(offset + 1)});
  }
  void check(int n) { feed(n, CheckInSync{}); }
  void sync(int n) {
    nodes_[n].log.synced = nodes_[n].log.end();
    feed(n, Synced{Offset(nodes_[n].log.end())});
  }
  void learn(int n) {
    auto& node = nodes_[n];
    if (node.applied + 1 >= history_.size()) return;
    ++node.applied;
    tell(n);
  }

  // ---- Following

  void fetch(int n) {
    auto& node = nodes_[n];
    if (node.is_fetching || !node.machine->may_fetch()) return;
    node.is_fetching = true;
    messages_.push_back(Fetch{n, node.machine->leader().value - 1, node.machine->epoch(), node.broker_epoch, node.log.end(),
                              node.log.last_epoch()});
  }
  void on(Fetch const& fetch) {
    FetchAnswer answer{.to = fetch.from, .broker_epoch = fetch.broker_epoch, .epoch = fetch.epoch, .offset = fetch.offset};
    auto& node = nodes_[fetch.to];
    if (!node.machine) return;
    FollowerFetched event{0, id(fetch.from), fetch.epoch, Offset(fetch.offset), fetch.broker_epoch};
    auto const end = node.log.end_of(fetch.last_epoch);
    event.is_diverging = fetch.last_epoch >= 0 && (end.epoch.value < fetch.last_epoch || end.end.value < fetch.offset);
    auto const is_wrong_epoch = node.machine->check_epoch(fetch.epoch) != Outcome::done;
    feed(fetch.to, event);
    if (is_wrong_epoch) {
      answer.is_refused = true;
    } else if (event.is_diverging) {
      answer.diverging = end;
      answer.is_refused = end.end < Offset(0);
    } else if (fetch.offset > node.log.end()) {
      answer.is_refused = true;
    } else {
      auto const first = node.log.entries.begin() + fetch.offset;
      auto const count = std::min<int64_t>(node.log.end() - fetch.offset, 1 + static_cast<int64_t>(random_.below(4)));
      answer.entries.assign(first, first + count);
    }
    answer.mark = node.machine->high_watermark().value;
    messages_.push_back(answer);
  }
  void on(FetchAnswer const& answer) {
    auto& node = nodes_[answer.to];
    if (!node.machine || node.broker_epoch != answer.broker_epoch) return;
    node.is_fetching = false;
    if (answer.is_refused || !node.machine->may_apply(answer.epoch, Offset(answer.offset))) return;
    if (answer.diverging) {
      auto const own = node.log.end_of(answer.diverging->epoch.value);
      node.log.cut(node.machine->truncation_point(*answer.diverging, own).value);
      return feed(answer.to, Truncated{Offset(0), Offset(node.log.end())});
    }
    for (auto const& entry : answer.entries) {
      if (entry.epoch > answer.epoch.value) break;
      node.log.append(entry);
    }
    feed(answer.to, Appended{Offset(node.log.end())});
    feed(answer.to, LeaderMarks{answer.epoch, Offset(answer.mark)});
  }

  // ---- The controller

  template <class F>
  void change(F edit) {
    auto next = metadata();
    edit(next);
    ++next.partition_epoch;
    history_.push_back(next);
    look();
  }
  static void drop(Metadata& m, int n) {
    if (m.isr.size() > 1) std::erase(m.isr, n);
  }
  void elect(Metadata& m) {
    ++m.leader_epoch;
    m.leader = -1;
    std::vector<int> able;
    for (auto const i : m.isr) {
      if (!m.is_fenced[i]) able.push_back(i);
    }
    if (!able.empty()) m.leader = able[random_.below(able.size())];
  }
  void move_leader() {
    change([&](Metadata& m) { elect(m); });
  }
  void on(Ask const& ask) {
    IsrAnswered answer;
    answer.change = ask.change.id;
    auto const& m = metadata();
    bool const is_current = m.leader == ask.from && m.leader_epoch == ask.change.leader_epoch.value &&
                            m.partition_epoch == ask.change.partition_epoch && m.broker_epoch[ask.from] == ask.broker_epoch;
    bool is_eligible = true;
    for (auto const& member : ask.change.members) {
      auto const node = member.id.value - 1;
      is_eligible = is_eligible && !m.is_fenced[node] &&
                    (member.broker_epoch == -1 || member.broker_epoch == m.broker_epoch[node]);
    }
    if (!is_current) {
      answer.verdict = IsrVerdict::outdated;
    } else if (!is_eligible) {
      answer.verdict = IsrVerdict::refused;
    } else {
      change([&](Metadata& next) {
        next.isr.clear();
        for (auto const& member : ask.change.members) next.isr.push_back(member.id.value - 1);
      });
      answer.verdict = IsrVerdict::accepted;
      answer.partition_epoch = metadata().partition_epoch;
      for (auto const& member : ask.change.members) answer.in_sync_replicas.push_back(member.id);
    }
    messages_.push_back(AskAnswer{ask.from, ask.broker_epoch, answer});
  }
  void on(AskAnswer const& told) {
    auto& node = nodes_[told.to];
    if (node.machine && node.broker_epoch == told.broker_epoch) feed(told.to, told.answer);
  }

  // ---- The network

  void deliver(bool is_calm) {
    if (messages_.empty()) return;
    // The newest is the likeliest; some are very late.
    auto const back = is_calm || random_.chance(0.7) ? random_.below(std::min<size_t>(messages_.size(), 3)) : random_.below(messages_.size());
    auto const at = messages_.size() - 1 - back;
    auto const message = messages_[at];
    bool const is_loss = !is_calm && random_.chance(0.03);
    bool const is_kept = !is_calm && std::holds_alternative<Fetch>(message) && random_.chance(0.03);
    if (!is_kept) messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(at));
    if (is_loss && !is_kept) {
      // Its sender gives up waiting.
      if (auto const* fetch = std::get_if<Fetch>(&message)) nodes_[fetch->from].is_fetching = false;
      if (auto const* answer = std::get_if<FetchAnswer>(&message)) nodes_[answer->to].is_fetching = false;
      // Who asks for an ISR asks again until there is an answer.
      if (std::holds_alternative<Ask>(message) || std::holds_alternative<AskAnswer>(message)) messages_.insert(messages_.begin(), message);
      return;
    }
    std::visit([this](auto const& m) { on(m); }, message);
    while (messages_.size() > kMessagesMax) messages_.erase(messages_.begin());
  }
  static constexpr size_t kMessagesMax = 64;

  // ---- What must hold

  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (fault_.empty()) fault_ = fmt::format(format, std::forward<Args>(args)...);
  }
  void look() {
    auto const& m = metadata();
    for (auto const n : m.isr) {
      if (m.leader >= 0 && m.leader != n && m.is_fenced[n]) continue;
      for (auto const& [offset, entry] : acked_) {
        auto const& log = nodes_[n].log.entries;
        if (offset >= nodes_[n].log.end() || log[static_cast<size_t>(offset)] != entry) {
          return fail("{} may lead and has not record {}, which was acknowledged", n, offset);
        }
      }
    }
    for (int a = 0; a < kNodes; ++a) {
      for (int b = a + 1; b < kNodes; ++b) {
        if (!nodes_[a].machine || !nodes_[b].machine) continue;
        auto const mark = std::min({nodes_[a].machine->high_watermark().value, nodes_[b].machine->high_watermark().value,
                                    nodes_[a].log.end(), nodes_[b].log.end()});
        for (int64_t i = 0; i < mark; ++i) {
          if (nodes_[a].log.entries[static_cast<size_t>(i)] != nodes_[b].log.entries[static_cast<size_t>(i)]) {
            return fail("{} and {} differ at {}, below both marks", a, b, i);
          }
        }
      }
    }
  }

  ClusterOptions options_;
  Random random_;
  Mono now_{std::chrono::seconds(10)};
  std::array<Node, kNodes> nodes_;
  std::vector<Metadata> history_;
  std::vector<Message> messages_;
  std::map<int64_t, Entry> acked_;
  int64_t values_ = 0;
  int64_t broker_epochs_ = 1;
  std::string fault_;
};

}  // namespace millrace::replication::test
