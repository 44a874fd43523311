// A quorum of real machines in a world without time: disks whose jobs are done one by one and forgotten by a crash,
// a network that delays, reorders, repeats and loses, timers that fire whenever they are armed. Who runs it picks the
// next action, at random or all of them in turn. After every action the promises of Raft are checked against what is
// on the disks and what was ever promised; the first broken one is kept as text.
#pragma once
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../base/one_mutant.h"
#include "millrace/raft/machine.h"

namespace millrace::raft::test {

struct Entry {
  int32_t epoch = 0;
  int32_t value = 0;
  friend bool operator==(Entry const&, Entry const&) = default;
};

// The log from `start` on; what is before it is in the snapshot that ends there.
struct Log {
  LogEnd start;
  std::vector<Entry> entries;
  std::vector<Entry> snapshot;  // what was before `start`
  Offset end() const { return start.offset + static_cast<int64_t>(entries.size()); }
  Entry at(Offset offset) const {
    auto const index = static_cast<size_t>(offset.value);
    return index < snapshot.size() ? snapshot[index] : entries[index - snapshot.size()];
  }
  size_t size() const { return snapshot.size() + entries.size(); }
  bool holds(std::vector<Entry> const& prefix) const {
    if (prefix.size() > size()) return false;
    for (size_t i = 0; i < prefix.size(); ++i) {
      if (!(at(Offset(static_cast<int64_t>(i))) == prefix[i])) return false;
    }
    return true;
  }
  friend bool operator==(Log const&, Log const&) = default;
};

struct Message {
  BrokerId from, to;
  RequestId id{};       // the requester's
  int incarnation = 0;  // of the requester
  bool is_response = false;
  Request request;
  Response response;
  std::vector<Entry> records;           // of a fetch response
  std::shared_ptr<Log const> snapshot;  // of a snapshot response: all of it
  bool answers_pre_vote = false;
  Offset answers_fetch_from;
};

// One job of a node's disk.
struct Job {
  ElectionWrite write{};
  ElectionState election;
  LogOp op{};
  enum class Kind { election, append, truncate, piece, install } kind = Kind::election;
  Offset to;
  std::vector<Entry> entries;
  std::shared_ptr<Log const> snapshot;
  SnapshotId id;
};

// What each node is called, by its id: a state with its nodes renamed can be followed by the same, renamed.
struct Names {
  std::vector<int32_t> by_id;  // from 1 on; none: as they are
  int32_t of(int32_t id) const { return id < 1 || by_id.empty() ? id : by_id[static_cast<size_t>(id - 1)]; }
  friend auto operator<=>(Names const&, Names const&) = default;
};

struct Node {
  std::shared_ptr<Machine> machine;
  int incarnation = 0;
  Log memory;                             // as the machine was told to write it
  std::optional<ElectionState> election;  // on disk
  Log disk;
  std::vector<Job> jobs;
  std::vector<std::pair<ElectionWrite, Message>> held;  // until that write is durable
  ElectionWrite written = 0;
  std::array<bool, kTimerKinds> timers{};
  LeaderEpoch led{-1};         // the last epoch that it led, in this life
  mutable std::map<Names, std::string> digests;  // made since the last change
};

struct Action {
  enum class Kind { disk, deliver, deliver_lose_reply, lose, timer, crash, wipe, append, snapshot, resign } kind{};
  size_t node = 0;
  size_t index = 0;  // of a message, or a TimerKind; of what a crash interrupts, how many records are on the disk
};

struct WorldOptions {
  int voters = 3;
  int observers = 0;
  int timeout_max = 1 << 20;  // of elections and followers
  int append_max = 1 << 20;
  int crash_max = 1 << 20;
  int stale_messages_max = 8;  // the oldest are lost; more of them say nothing new
  bool parks_fetches = true;
  // False: of timers only those that begin elections fire, nobody looks for a leader with a Fetch (the leader makes
  // itself known, whose confirmations are never late), only the first `crashing` nodes crash and their disks alone are
  // slow, until the last crash.
  bool has_everything = true;
  int crashing = 1;
  int lost_message_max = 0;  // where there is not everything
  bool has_pre_votes = true;  // false: voters do not know of them, and elections begin with the next epoch
  bool takes_snapshots = false;
  bool loses_disks = false;
  int lost_reply_max = 1 << 20;
  Hooks* hooks = &Hooks::none();
  bool checks_machines = true;  // a machine with a broken rule breaks its own invariants: the world must notice
};

class World {
 public:
  explicit World(WorldOptions options, uint64_t seed) : options_(options) {
    for (int i = 0; i < options.voters; ++i) voters_.voters.push_back({{BrokerId{i + 1}, {}}, {}});
    for (int i = 0; i < options.voters + options.observers; ++i) {
      nodes_.push_back(std::make_shared<Node>());
      // Who is blank stands only once the others have said that nobody has a record.
      if (!options.has_pre_votes) nodes_.back()->election = ElectionState{LogEnd{}.epoch, kNoBroker, {}};
      start(static_cast<size_t>(i), seed + static_cast<uint64_t>(i));
    }
  }

  std::string const& fault() const { return fault_; }
  size_t node_count() const { return nodes_.size(); }
  Machine const& machine(size_t node) const { return *nodes_[node]->machine; }
  Node const& node(size_t index) const { return *nodes_[index]; }
  std::vector<Entry> const& committed() const { return committed_; }
  std::vector<Message> const& network() const { return network_; }
  int leaders() const { return static_cast<int>(leader_of_.size()); }
  int wipes() const { return wipes_; }

  void list_actions(std::vector<Action>& out) const {
    out.clear();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      auto const& node = *nodes_[n];
      if (!node.jobs.empty()) out.push_back({Action::Kind::disk, n});
      for (size_t kind = 0; kind < kTimerKinds; ++kind) {
        if (node.timers[kind] && may_fire(node, static_cast<TimerKind>(kind)))
          out.push_back({Action::Kind::timer, n, kind});
      }
      if (crashes_ < options_.crash_max && (options_.has_everything || is_crashing(n))) {
        // The records of a write reach the disk one after the other.
        bool const is_writing = !node.jobs.empty() && node.jobs.front().kind == Job::Kind::append;
        auto const count = is_writing ? node.jobs.front().entries.size() : 1;
        for (size_t written = 0; written < count; ++written) out.push_back({Action::Kind::crash, n, written});
      }
      if (options_.loses_disks && may_lose_disk(n)) out.push_back({Action::Kind::wipe, n});
      auto const& machine = *node.machine;
      // Who has led may not have noticed that it leads no more.
      bool const may_append = machine.role() == Role::leader || (options_.has_everything && node.led.value > 0);
      if (may_append && appends_ < options_.append_max) out.push_back({Action::Kind::append, n});
      if (options_.takes_snapshots && node.jobs.empty() && machine.high_watermark() > machine.log_start().offset)
        out.push_back({Action::Kind::snapshot, n});
      if (options_.takes_snapshots && machine.role() == Role::leader) out.push_back({Action::Kind::resign, n});
    }
    for (size_t i = 0; i < network_.size(); ++i) {
      out.push_back({Action::Kind::deliver, 0, i});
      if (!network_[i].is_response && lost_replies_ < options_.lost_reply_max)
        out.push_back({Action::Kind::deliver_lose_reply, 0, i});
      if (options_.has_everything || lost_messages_ < options_.lost_message_max)
        out.push_back({Action::Kind::lose, 0, i});
    }
  }

  void apply(Action action) {
    switch (action.kind) {
      case Action::Kind::disk: do_job(action.node); break;
      case Action::Kind::timer:
        if (static_cast<TimerKind>(action.index) == TimerKind::election) ++timeouts_;
        own(action.node).timers[action.index] = false;
        feed(action.node, event::TimerFired{static_cast<TimerKind>(action.index)});
        break;
      case Action::Kind::crash:
        ++crashes_;
        crash(action.node, action.index);
        break;
      case Action::Kind::wipe: wipe(action.node); break;
      case Action::Kind::append:
        ++appends_;
        feed(action.node, event::AppendRequested{1, nodes_[action.node]->led, 1});
        break;
      case Action::Kind::snapshot: take_snapshot(action.node); break;
      case Action::Kind::resign: feed(action.node, event::ResignRequested{}); break;
      case Action::Kind::deliver:
      case Action::Kind::deliver_lose_reply:
      case Action::Kind::lose: {
        auto message = std::move(network_[action.index]);
        network_.erase(network_.begin() + static_cast<ptrdiff_t>(action.index));
        bool const is_lost = action.kind == Action::Kind::lose;
        bool const loses_reply = action.kind == Action::Kind::deliver_lose_reply;
        if (loses_reply) {
          ++lost_replies_;
          losing_ = message;
        }
        if (is_lost) ++lost_messages_;
        if (!is_lost) deliver(message);
        losing_.reset();
        if (is_lost || loses_reply) tell_lost(message);
        break;
      }
    }
    deliver_at_once();
    drop_stale();
    if (!options_.has_everything) {
      for (size_t n = 0; n < nodes_.size(); ++n) {
        if (is_crashing(n)) continue;
        while (fault_.empty() && !nodes_[n]->jobs.empty()) do_job(n);
        deliver_at_once();
      }
      drop_stale();
    }
    check();
  }

  // Equal where what can follow is the same but for the names of nodes that are alike. Not quite: whom a follower asks
  // that has lost its leader goes by names, and of two ways that differ in this alone one is followed.
  std::string digest() const {
    // Nodes get their names by what can be seen of them without names; where that is the same, by what makes the least.
    std::vector<size_t> order(nodes_.size());
    std::vector<std::string const*> looks;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      order[n] = n;
      Names names;
      for (size_t other = 0; other < nodes_.size(); ++other) names.by_id.push_back(other == n ? 1 : 2);
      looks.push_back(&digest_of(*nodes_[n], names));
    }
    auto const rank = [&](size_t n) { return std::tuple<bool, std::string const&>(!is_crashing(n), *looks[n]); };
    auto const is_less = [&](size_t a, size_t b) { return rank(a) < rank(b); };
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(rank(a), a) < std::pair(rank(b), b); });
    std::string best;
    do {
      if (!std::is_sorted(order.begin(), order.end(), is_less)) continue;
      auto text = digest_by(order);
      if (best.empty() || text < best) best = std::move(text);
    } while (std::next_permutation(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(rank(a), a) < std::pair(rank(b), b);
    }));
    return best;
  }

 private:
  bool may_fire(Node const& node, TimerKind kind) const {
    static_cast<void>(node);
    return kind == TimerKind::election ? timeouts_ < options_.timeout_max : options_.has_everything;
  }

  // Which nodes crash, and so have disks whose slowness counts.
  bool is_crashing(size_t n) const {
    return options_.has_everything || (crashes_ < options_.crash_max && n < static_cast<size_t>(options_.crashing));
  }

  // Nodes are shared between worlds until one of them changes.
  Node& own(size_t n) {
    if (nodes_[n].use_count() > 1) {
      auto copy = std::make_shared<Node>(*nodes_[n]);
      copy->machine = std::make_shared<Machine>(*copy->machine);
      nodes_[n] = std::move(copy);
    }
    nodes_[n]->digests.clear();
    return *nodes_[n];
  }

  void start(size_t n, uint64_t seed) {
    auto& node = own(n);
    MachineConfig config;
    config.self = {BrokerId(static_cast<int32_t>(n) + 1), {}};
    config.seed = seed;
    if (!options_.parks_fetches) config.fetch_wait = Duration::zero();
    LoadedState loaded;
    loaded.voters = voters_;
    loaded.election = node.election;
    loaded.log_start = node.disk.start;
    if (node.disk.start.offset > Offset{0}) loaded.snapshot = SnapshotId{node.disk.start.offset, node.disk.start.epoch};
    loaded.high_watermark = node.disk.start.offset;
    loaded.log_end = node.disk.start;
    for (auto const& e : node.disk.entries) {
      if (loaded.epochs.empty() || loaded.epochs.back().epoch.value < e.epoch)
        loaded.epochs.push_back({LeaderEpoch{e.epoch}, loaded.log_end.offset});
      loaded.log_end = {loaded.log_end.offset + 1, LeaderEpoch{e.epoch}};
    }
    auto made = Machine::create(config, std::move(loaded), *options_.hooks);
    if (!made) {
      fault_ = "does not start: " + made.error().message;
      return;
    }
    node.machine = std::make_shared<Machine>(*std::move(made));
    node.memory = node.disk;
    node.jobs.clear();
    node.held.clear();
    node.written = 0;
    node.timers = {};
    node.led = LeaderEpoch{-1};
    feed(n, event::Started{});
  }

  void crash(size_t n, size_t written) {
    auto& node = own(n);
    if (written > 0) {
      auto const& entries = node.jobs.front().entries;
      node.disk.entries.insert(node.disk.entries.end(), entries.begin(),
                               entries.begin() + static_cast<ptrdiff_t>(written));
    }
    ++node.incarnation;
    // Its connections end: nobody will read what is on the way to it.
    std::vector<Message> broken;
    for (auto const& [ticket, request] : tickets_) {
      if (index_of(request.to) != n) continue;
      broken.push_back(request);
      std::swap(broken.back().from, broken.back().to);
    }
    std::erase_if(tickets_, [&](auto const& one) { return index_of(one.second.to) == n; });
    for (auto const& [after, message] : node.held) {
      if (message.is_response) broken.push_back(message);
    }
    std::erase_if(network_, [&](Message const& m) {
      if (m.is_response && index_of(m.to) == n) return true;
      if (m.is_response && index_of(m.from) == n) {
        broken.push_back(m);
        return true;
      }
      return false;
    });
    start(n, static_cast<uint64_t>(node.incarnation) * 1000 + n);
    for (auto const& m : broken) {
      if (nodes_[index_of(m.to)]->incarnation == m.incarnation) {
        feed(index_of(m.to), event::RequestFailed{m.from, m.id, event::Failure::peer_ended_connection});
        settle_retries(index_of(m.to));
      }
    }
  }

  // The quorum must be able to do without it: of the other voters all have records, and a majority has all that is
  // committed, all that was on this disk and a memory of this voter's epoch. Who still leads an earlier one could bring
  // a voter that has forgotten back to it. One disk at a time.
  bool may_lose_disk(size_t n) const {
    if (n >= voters_.voters.size() || committed_.empty()) return false;
    if (wiped_ && *wiped_ != n && !(nodes_[*wiped_]->election && nodes_[*wiped_]->disk.holds(committed_))) return false;
    auto const& node = *nodes_[n];
    auto const epoch = node.machine->epoch();
    std::vector<Entry> own;
    for (auto at = Offset{0}; at < node.disk.end(); at += 1) own.push_back(node.disk.at(at));
    size_t knowing = 0;
    for (size_t v = 0; v < voters_.voters.size(); ++v) {
      if (v == n) continue;
      auto const& other = *nodes_[v];
      if (other.machine->is_blank() || other.disk.size() == 0) return false;
      if (other.machine->role() == Role::leader && other.machine->epoch() < epoch) return false;
      bool const remembers = other.election && other.election->epoch >= epoch;
      if (remembers && other.disk.holds(committed_) && other.disk.holds(own)) ++knowing;
    }
    return knowing >= (voters_.voters.size() - 1) / 2 + 1;
  }

  void wipe(size_t n) {
    ++wipes_;
    wiped_ = n;
    auto& node = own(n);
    node.election.reset();
    node.disk = {};
    crash(n, 0);
  }

  static size_t index_of(BrokerId id) { return static_cast<size_t>(id.value - 1); }

  void feed(size_t n, Event const& event, std::vector<Entry> const& records = {},
            std::shared_ptr<Log const> const& snapshot = {}) {
    if (!fault_.empty()) return;
    auto& node = own(n);
    Effects effects;
    node.machine->on_event(event, Mono{}, effects);
    if (options_.checks_machines) node.machine->check_invariants();
    for (auto const& effect : effects) perform(n, node, effect, records, snapshot);
  }

  void settle_retries(size_t n) {
    if (options_.has_everything) return;
    auto& timer = own(n).timers[static_cast<size_t>(TimerKind::retry)];
    if (!timer) return;
    timer = false;
    feed(n, event::TimerFired{TimerKind::retry});
  }

  void perform(size_t n, Node& node, Effect const& any, std::vector<Entry> const& records,
               std::shared_ptr<Log const> const& snapshot) {
    auto const self = BrokerId(static_cast<int32_t>(n) + 1);
    std::visit(
        [&]<class E>(E const& e) {
          if constexpr (std::is_same_v<E, effect::PersistElection>) {
            Job job;
            job.write = e.write;
            job.election = e.state;
            node.jobs.push_back(std::move(job));
          } else if constexpr (std::is_same_v<E, effect::AppendLeaderChange>) {
            append(node, e.op, e.base, {Entry{e.epoch.value, 0}});
          } else if constexpr (std::is_same_v<E, effect::Append>) {
            append(node, e.op, e.base, {Entry{e.epoch.value, ++values_}});
          } else if constexpr (std::is_same_v<E, effect::AppendFetched>) {
            append(node, e.op, e.base, {records.begin(), records.begin() + static_cast<ptrdiff_t>(e.batch_count)});
          } else if constexpr (std::is_same_v<E, effect::Truncate>) {
            Job job;
            job.kind = Job::Kind::truncate;
            job.op = e.op;
            job.to = e.to;
            node.memory.entries.resize(static_cast<size_t>(e.to - node.memory.start.offset));
            node.jobs.push_back(std::move(job));
          } else if constexpr (std::is_same_v<E, effect::WriteSnapshotPiece>) {
            Job job;
            job.kind = e.is_last ? Job::Kind::install : Job::Kind::piece;
            job.op = e.op;
            job.id = e.id;
            job.snapshot = snapshot;
            node.jobs.push_back(std::move(job));
          } else if constexpr (std::is_same_v<E, effect::Send>) {
            Message m;
            m.from = self;
            m.to = e.to;
            m.id = e.id;
            m.incarnation = node.incarnation;
            m.request = e.request;
            post(node, std::move(m), e.after);
          } else if constexpr (std::is_same_v<E, effect::Reply>) {
            reply(node, self, e);
          } else if constexpr (std::is_same_v<E, effect::SetTimer>) {
            node.timers[static_cast<size_t>(e.kind)] = true;
          } else if constexpr (std::is_same_v<E, effect::CancelTimer>) {
            node.timers[static_cast<size_t>(e.kind)] = false;
          } else if constexpr (std::is_same_v<E, effect::BecameLeader>) {
            auto const [at, is_new] = leader_of_.emplace(e.epoch.value, self.value);
            // Again by the same: it crashed before anybody could hear of it.
            if (!is_new && at->second != self.value)
              fail(fmt::format("epoch {} is led by {} and {}", e.epoch, at->second, self));
            if (!is_new && heard_of_.contains(e.epoch.value)) fail(fmt::format("epoch {} begins twice", e.epoch));
            node.led = e.epoch;
            std::vector<Entry> before;
            for (size_t i = 0; i < committed_.size() && committed_in_[i] < e.epoch.value; ++i)
              before.push_back(committed_[i]);
            if (!node.memory.holds(before))
              fail(fmt::format("leader {} of epoch {} lacks what was committed before", self, e.epoch));
          } else if constexpr (std::is_same_v<E, effect::Committed>) {
            commit(n, node, e.high_watermark);
          }
        },
        any);
  }

  void append(Node& node, LogOp op, Offset base, std::vector<Entry> entries) {
    if (base != node.memory.end()) fail(fmt::format("append at {} to a log that ends at {}", base, node.memory.end()));
    node.memory.entries.insert(node.memory.entries.end(), entries.begin(), entries.end());
    Job job;
    job.kind = Job::Kind::append;
    job.op = op;
    job.entries = std::move(entries);
    node.jobs.push_back(std::move(job));
  }

  void reply(Node& node, BrokerId self, effect::Reply const& e) {
    Message m;
    m.from = self;
    auto const asked = tickets_.find(e.ticket);
    if (asked == tickets_.end()) return fail(fmt::format("{} answers twice", self));
    auto const& request = asked->second;
    m.to = request.from;
    m.incarnation = request.incarnation;
    m.id = request.id;
    m.is_response = true;
    if (auto const* vote = std::get_if<VoteRequest>(&request.request)) m.answers_pre_vote = vote->is_pre_vote;
    if (auto const* fetch = std::get_if<FetchRequest>(&request.request)) m.answers_fetch_from = fetch->offset;
    tickets_.erase(asked);
    m.response = e.response;
    if (auto const* fetch = std::get_if<FetchResponse>(&e.response); fetch != nullptr && fetch->has_records) {
      // The leader serves from memory; two batches at a time.
      for (auto at = e.records_from; at < node.memory.end() && m.records.size() < 2; at += 1)
        m.records.push_back(node.memory.at(at));
    }
    if (auto* piece = std::get_if<FetchSnapshotResponse>(&m.response);
        piece != nullptr && piece->verdict.error == ErrorCode::none) {
      if (node.disk.start.offset != piece->id.end_offset) {
        piece->verdict.error = ErrorCode::snapshot_not_found;
      } else {
        piece->snapshot_bytes = 2;
        piece->piece_bytes = 1;
        m.snapshot = std::make_shared<Log const>(node.disk);
      }
    }
    post(node, std::move(m), e.after);
  }

  void post(Node& node, Message m, ElectionWrite after) {
    if (after > node.written) {
      node.held.emplace_back(after, std::move(m));
    } else {
      release(node, std::move(m));
    }
  }

  // The message leaves the node: from here on it was said.
  void release(Node& node, Message m) {
    if (auto const* vote = std::get_if<VoteResponse>(&m.response);
        m.is_response && vote != nullptr && vote->is_granted) {
      note_vote(node, m, *vote);
    }
    if (m.is_response && losing_ && losing_->from == m.to && losing_->id == m.id && losing_->to == m.from) return;
    if (auto const* begin = std::get_if<BeginEpochRequest>(&m.request); !m.is_response && begin != nullptr) {
      heard_of_.insert(begin->epoch.value);
    }
    auto const* vote = std::get_if<VoteRequest>(&m.request);
    if (!m.is_response && vote != nullptr && vote->is_pre_vote && !options_.has_pre_votes) {
      at_once_.push_back(std::move(m));
      return;
    }
    if (!options_.has_everything) {
      if (!m.is_response && std::holds_alternative<FetchRequest>(m.request) && node.machine->role() == Role::unattached)
        return;
      if (m.is_response && (std::holds_alternative<BeginEpochResponse>(m.response) ||
                            std::holds_alternative<EndEpochResponse>(m.response))) {
        at_once_.push_back(std::move(m));
        return;
      }
    }
    network_.push_back(std::move(m));
  }

  void deliver_at_once() {
    while (!at_once_.empty()) {
      for (auto const& m : std::exchange(at_once_, {})) {
        if (m.is_response) {
          deliver(m);
        } else if (is_current(m)) {
          feed(index_of(m.from), event::RequestFailed{m.to, m.id, event::Failure::unsupported_version});
        }
      }
    }
  }

  void note_vote(Node const& node, Message const& m, VoteResponse const& vote) {
    if (m.answers_pre_vote) return;
    auto const [at, is_new] = votes_.emplace(std::pair(m.from.value, vote.verdict.epoch.value), m.to.value);
    if (!is_new && at->second != m.to.value)
      fail(fmt::format("{} votes for {} and {} in epoch {}", m.from, at->second, m.to, vote.verdict.epoch));
    if (!node.election || node.election->epoch < vote.verdict.epoch)
      fail(fmt::format("{} says a vote in epoch {} that it would forget", m.from, vote.verdict.epoch));
  }

  void deliver(Message const& m) {
    auto const n = index_of(m.to);
    if (m.is_response) {
      if (nodes_[n]->incarnation != m.incarnation) return;
      auto response = m.response;
      if (auto* fetch = std::get_if<FetchResponse>(&response)) {
        auto at = m.answers_fetch_from;
        for (auto const& e : m.records) {
          fetch->batches.push_back({at, at + 1, LeaderEpoch{e.epoch}, {}, {}});
          at += 1;
        }
      }
      feed(n, event::Answered{m.from, m.id, std::move(response)}, m.records, m.snapshot);
      settle_retries(n);
      return;
    }
    auto const ticket = ++tickets_issued_;
    tickets_.emplace(ticket, m);
    feed(n, event::Received{ticket, m.request});
  }

  void tell_lost(Message const& m) {
    auto const requester = m.is_response ? m.to : m.from;
    auto const other = m.is_response ? m.from : m.to;
    auto const n = index_of(requester);
    if (nodes_[n]->incarnation != m.incarnation) return;
    feed(n, event::RequestFailed{other, m.id, event::Failure::other});
    settle_retries(n);
  }

  void do_job(size_t n) {
    auto& node = own(n);
    auto const job = node.jobs.front();
    node.jobs.erase(node.jobs.begin());
    switch (job.kind) {
      case Job::Kind::election: {
        if (node.election && node.election->epoch > job.election.epoch) fail("quorum-state goes back");
        node.election = job.election;
        node.written = job.write;
        auto held = std::exchange(node.held, {});
        for (auto& [after, m] : held) post(node, std::move(m), after);
        return feed(n, event::ElectionPersisted{job.write});
      }
      case Job::Kind::append:
        node.disk.entries.insert(node.disk.entries.end(), job.entries.begin(), job.entries.end());
        return feed(n, event::LogOpDone{job.op});
      case Job::Kind::truncate:
        node.disk.entries.resize(static_cast<size_t>(job.to - node.disk.start.offset));
        return feed(n, event::LogOpDone{job.op});
      case Job::Kind::piece: return feed(n, event::LogOpDone{job.op});
      case Job::Kind::install:
        node.disk.start = {job.id.end_offset, job.id.epoch};
        node.disk.snapshot = job.snapshot->snapshot;
        node.disk.entries.clear();
        node.memory = node.disk;
        return feed(n, event::SnapshotInstalled{job.op, {}, 0});
    }
  }

  void take_snapshot(size_t n) {
    auto& node = own(n);
    auto const to = node.machine->high_watermark();
    auto const count = static_cast<size_t>(to - node.disk.start.offset);
    LogEnd const start{to, LeaderEpoch{node.disk.at(to - 1).epoch}};
    for (auto* log : {&node.disk, &node.memory}) {
      log->snapshot.insert(log->snapshot.end(), log->entries.begin(),
                           log->entries.begin() + static_cast<ptrdiff_t>(count));
      log->entries.erase(log->entries.begin(), log->entries.begin() + static_cast<ptrdiff_t>(count));
      log->start = start;
    }
    feed(n, event::SnapshotTaken{{start.offset, start.epoch}, start});
  }

  void commit(size_t n, Node const& node, Offset mark) {
    auto const count = static_cast<size_t>(mark.value);
    if (count > node.memory.size())
      return fail(fmt::format("node {} commits {} records that it does not have", n + 1, count));
    for (size_t i = 0; i < count; ++i) {
      auto const entry = node.memory.at(Offset(static_cast<int64_t>(i)));
      if (i == committed_.size()) {
        committed_.push_back(entry);
        committed_in_.push_back(node.machine->epoch().value);
      } else if (!(committed_[i] == entry)) {
        return fail(fmt::format("offset {} is committed as {}.{} and, at node {}, as {}.{}", i, committed_[i].epoch,
                                committed_[i].value, n + 1, entry.epoch, entry.value));
      }
    }
    if (node.machine->role() == Role::leader && node.memory.at(mark - 1).epoch != node.machine->epoch().value)
      fail(fmt::format("leader {} commits records of an earlier epoch alone", n + 1));
    std::vector<Entry> const prefix(committed_.begin(), committed_.begin() + static_cast<ptrdiff_t>(count));
    size_t holders = 0;
    for (size_t v = 0; v < voters_.voters.size(); ++v) holders += nodes_[v]->disk.holds(prefix) ? 1 : 0;
    if (holders < voters_.majority())
      fail(fmt::format("node {} calls {} records committed that {} voters have on disk", n + 1, count, holders));
  }

  // Of what is on its way, only the answer to the request in flight matters; requests of earlier roles do, and may
  // come late, but not without bound.
  void drop_stale() {
    std::erase_if(network_, [&](Message const& m) {
      return m.is_response && (nodes_[index_of(m.to)]->incarnation != m.incarnation || !is_current(m));
    });
    auto is_stale = [&](Message const& m) { return !m.is_response && !is_current(m); };
    auto stale = std::count_if(network_.begin(), network_.end(), is_stale);
    while (stale > options_.stale_messages_max) {
      network_.erase(std::find_if(network_.begin(), network_.end(), is_stale));
      --stale;
    }
  }
  bool is_current(Message const& m) const {
    auto const requester = m.is_response ? m.to : m.from;
    auto const other = m.is_response ? m.from : m.to;
    auto const& node = *nodes_[index_of(requester)];
    return node.incarnation == m.incarnation && node.machine->is_waiting_for(other, m.id);
  }

  void check() {
    if (!fault_.empty()) return;
    // Log matching, in memory and on disk.
    for (size_t a = 0; a < nodes_.size(); ++a) {
      auto const& one = *nodes_[a];
      if (one.memory.end() != one.machine->log_end().offset && one.jobs.empty())
        return fail(fmt::format("node {} believes that its log ends at {}, it ends at {}", a + 1,
                                one.machine->log_end().offset, one.memory.end()));
      for (size_t b = a + 1; b < nodes_.size(); ++b) {
        auto const& other = *nodes_[b];
        auto at = static_cast<int64_t>(std::min(one.memory.size(), other.memory.size()));
        bool must_match = false;
        while (--at >= 0) {
          auto const x = one.memory.at(Offset(at)), y = other.memory.at(Offset(at));
          if (x.epoch == y.epoch) must_match = true;
          if (must_match && !(x == y))
            return fail(fmt::format("logs {} and {} agree on an epoch and differ at {} before it", a + 1, b + 1, at));
        }
      }
    }
    // What is committed stays with a majority of the disks.
    size_t holders = 0;
    for (size_t v = 0; v < voters_.voters.size(); ++v) holders += nodes_[v]->disk.holds(committed_) ? 1 : 0;
    if (holders < voters_.majority()) fail(fmt::format("what is committed is left on {} disks", holders));
  }

  void fail(std::string text) {
    if (fault_.empty()) fault_ = std::move(text);
  }

  static std::string text_of(Log const& log) {
    auto out = fmt::format("{}/{}", log.start.offset, log.start.epoch);
    for (auto const& e : log.entries) out += fmt::format(" {}.{}", e.epoch, e.value);
    return out;
  }
  static std::string text_of(Verdict const& v, Names const& names) {
    return fmt::format("{}/{}/{}@{}", static_cast<int>(v.top), static_cast<int>(v.error), names.of(v.leader.value),
                       v.epoch);
  }
  static std::string text_of(Request const& any, Names const& names) {
    struct {
      Names const& names;
      std::string operator()(VoteRequest const& r) {
        return fmt::format("vote {} {} {} {}@{}", r.is_pre_vote, names.of(r.candidate.id.value), r.epoch, r.last.offset,
                           r.last.epoch);
      }
      std::string operator()(BeginEpochRequest const& r) {
        return fmt::format("begin {} {}", names.of(r.leader.value), r.epoch);
      }
      // The successors only say who waits how long.
      std::string operator()(EndEpochRequest const& r) {
        return fmt::format("end {} {}", names.of(r.leader.value), r.epoch);
      }
      std::string operator()(FetchRequest const& r) {
        return fmt::format("fetch {} {} {}@{} {}", names.of(r.replica.id.value), r.current_epoch, r.offset,
                           r.last_epoch, r.high_watermark);
      }
      std::string operator()(FetchSnapshotRequest const& r) {
        return fmt::format("piece {} {} {}-{} {}", names.of(r.replica.id.value), r.current_epoch, r.id.end_offset,
                           r.id.epoch, r.position);
      }
    } visitor{names};
    return std::visit(visitor, any);
  }
  static std::string text_of(Response const& any, Names const& names) {
    struct {
      Names const& names;
      std::string operator()(VoteResponse const& r) {
        return fmt::format("voted {} {}", text_of(r.verdict, names), r.is_granted);
      }
      std::string operator()(BeginEpochResponse const& r) { return "begun " + text_of(r.verdict, names); }
      std::string operator()(EndEpochResponse const& r) { return "ended " + text_of(r.verdict, names); }
      std::string operator()(FetchResponse const& r) {
        auto out = fmt::format("fetched {} {} {}", text_of(r.verdict, names), r.high_watermark, r.log_start);
        if (r.diverging) out += fmt::format(" div {}@{}", r.diverging->offset, r.diverging->epoch);
        if (r.snapshot) out += fmt::format(" snap {}@{}", r.snapshot->end_offset, r.snapshot->epoch);
        return out;
      }
      std::string operator()(FetchSnapshotResponse const& r) {
        return fmt::format("piece {} {}@{} {}", text_of(r.verdict, names), r.id.end_offset, r.id.epoch, r.position);
      }
    } visitor{names};
    return std::visit(visitor, any);
  }

  // Machine::text() with its nodes renamed, and lists of nodes in order.
  static std::string renamed(std::string const& text, Names const& names) {
    std::string out;
    std::vector<std::string> list;
    std::string_view before;
    auto const finish_list = [&] {
      std::sort(list.begin(), list.end());
      for (auto const& item : list) out += item + ' ';
      list.clear();
    };
    auto const is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    for (size_t at = 0; at < text.size();) {
      auto const end = std::min(text.find(' ', at), text.size());
      std::string_view const word(text.data() + at, end - at);
      at = end + 1;
      // The id in the word begins here; of whom there is none, "-1".
      size_t first = std::string_view::npos;
      bool is_listed = true;
      if (before == "leader" || before == "voted") {
        first = 0;
        is_listed = false;
      } else if (before == "parked" || (is_digit(word.front()) && word.find('=') != std::string_view::npos)) {
        first = 0;
      } else if (word.starts_with("peer")) {
        first = 4;
      } else if (word.size() > 1 && (word.front() == '+' || word.front() == '-' || word.front() == '?') &&
                 before != "leader-mark") {
        first = 1;
      }
      before = word;
      if (word == "parked") continue;
      if (first == std::string_view::npos || !is_digit(word[first])) {
        finish_list();
        out += std::string(word) + ' ';
        continue;
      }
      auto last = first;
      while (last < word.size() && is_digit(word[last])) ++last;
      auto const id = std::atoi(std::string(word.substr(first, last - first)).c_str());
      auto item = fmt::format("{}{}{}", word.substr(0, first), names.of(id), word.substr(last));
      if (is_listed) {
        list.push_back(std::move(item));
      } else {
        finish_list();
        out += item + ' ';
      }
    }
    finish_list();
    return out;
  }

  std::string digest_of(Message const& m, Names const& names) const {
    auto out = fmt::format("{}>{} {}", names.of(m.from.value), names.of(m.to.value), is_current(m) ? "" : "old ");
    out += m.is_response ? text_of(m.response, names) : text_of(m.request, names);
    if (m.answers_pre_vote) out += " pre";
    for (auto const& e : m.records) out += fmt::format(" {}.{}", e.epoch, e.value);
    return out;
  }
  static std::string text_of(ElectionState const& e, Names const& names) {
    return fmt::format(" {} {} {}", e.epoch, names.of(e.leader.value), e.voted ? names.of(e.voted->id.value) : -1);
  }
  static std::string const& digest_of(Node const& node, Names const& names) {
    auto& out = node.digests[names];
    if (!out.empty()) return out;
    out = renamed(node.machine->text(), names) + "| " + text_of(node.memory) + " | " + text_of(node.disk);
    if (node.election) out += " q" + text_of(*node.election, names);
    for (auto const& job : node.jobs) {
      out += fmt::format(" j{}", static_cast<int>(job.kind));
      if (job.kind == Job::Kind::election) out += text_of(job.election, names);
      if (job.kind == Job::Kind::truncate) out += fmt::format(" {}", job.to);
      for (auto const& e : job.entries) out += fmt::format(" {}.{}", e.epoch, e.value);
    }
    return out;
  }
  std::string digest_by(std::vector<size_t> const& order) const {
    Names names{std::vector<int32_t>(order.size())};
    for (size_t i = 0; i < order.size(); ++i) names.by_id[order[i]] = static_cast<int32_t>(i) + 1;
    std::string out;
    for (auto const n : order) {
      auto const& node = *nodes_[n];
      out += digest_of(node, names);
      for (auto const& [after, m] : node.held) out += fmt::format(" h{} {}", after - node.written, digest_of(m, names));
      out += '\n';
    }
    std::vector<std::string> lines;
    for (auto const& m : network_) lines.push_back(digest_of(m, names));
    for (auto const& [key, candidate] : votes_)
      lines.push_back(fmt::format("V{}.{}:{}", names.of(key.first), key.second, names.of(candidate)));
    std::sort(lines.begin(), lines.end());
    for (auto const& line : lines) out += line + '\n';
    for (auto const& [epoch, leader] : leader_of_) out += fmt::format("L{}:{} ", epoch, names.of(leader));
    for (auto const& e : committed_) out += fmt::format("C{}.{} ", e.epoch, e.value);
    return out + fmt::format("{} {} {} {} {}", appends_, crashes_, timeouts_, lost_replies_, lost_messages_);
  }

  WorldOptions options_;
  VoterSet voters_;
  std::vector<std::shared_ptr<Node>> nodes_;
  std::vector<Message> network_;
  std::vector<Message> at_once_;
  std::map<int32_t, int32_t> leader_of_;                  // epoch -> who led it
  std::map<std::pair<int32_t, int32_t>, int32_t> votes_;  // (voter, epoch) -> candidate, as said
  std::vector<Entry> committed_;
  std::vector<int32_t> committed_in_;  // the epoch in which it was
  std::map<Ticket, Message> tickets_;  // of requests that have not been answered
  Ticket tickets_issued_ = 0;
  int values_ = 0;
  int appends_ = 0;
  int crashes_ = 0;
  int timeouts_ = 0;
  int lost_replies_ = 0;
  int wipes_ = 0;
  std::optional<size_t> wiped_;    // the last one
  int lost_messages_ = 0;
  std::optional<Message> losing_;  // the request whose answer does not arrive
  std::set<int32_t> heard_of_;     // epochs whose leader has made itself known
  std::string fault_;
};

}  // namespace millrace::raft::test
