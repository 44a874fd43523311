// The quorum machine as stories: tests/data/raft/*.story. The line "config ..." says what is on disk at start. A line
// that begins with "> " is an event; the lines below it are all that it caused and, after "=", the state, compared
// whole. Time stands still but for "> wait MS". Proves the rules of each request, the roles and their timeouts, and
// what a peer that lies can bring about. Each rule of time or trust that can be switched off changes a story.
// With MR_STORIES_WRITE set the files are written instead: read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cluster.h"
#include "millrace/base/assert.h"

namespace millrace::raft::test {
namespace {

constexpr std::string_view kTimerNames[] = {"election", "check-quorum", "begin-epoch",
                                            "retry",    "parked-fetch", "early-vote"};

// "word key=value flag ..."
class Words {
 public:
  explicit Words(std::string const& line) {
    std::stringstream in(line);
    in >> first_;
    for (std::string word; in >> word;) {
      auto const at = word.find('=');
      values_[word.substr(0, at)] = at == std::string::npos ? "" : word.substr(at + 1);
    }
  }
  std::string const& first() const { return first_; }
  bool has(std::string const& key) const { return values_.contains(key); }
  std::string text(std::string const& key, std::string const& otherwise = "") const {
    auto const found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  int64_t number(std::string const& key, int64_t otherwise = -1) const {
    auto const found = values_.find(key);
    return found == values_.end() ? otherwise : std::stoll(found->second);
  }
  BrokerId id(std::string const& key) const { return BrokerId(static_cast<int32_t>(number(key))); }
  LeaderEpoch epoch(std::string const& key, int64_t otherwise = -1) const {
    return LeaderEpoch(static_cast<int32_t>(number(key, otherwise)));
  }

 private:
  std::string first_;
  std::map<std::string, std::string> values_;
};

std::vector<std::string> split(std::string const& text, char by) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

LogEnd log_end(std::string const& text) {  // 5@2
  auto const at = text.find('@');
  return {Offset(std::stoll(text.substr(0, at))), LeaderEpoch(std::stoi(text.substr(at + 1)))};
}
SnapshotId snapshot_id(std::string const& text) {
  auto const end = log_end(text);
  return {end.offset, end.epoch};
}
Uuid directory(int64_t n) {
  Uuid out;
  if (n > 0) out.bytes[0] = static_cast<uint8_t>(n);
  return out;
}
std::string text_of(ReplicaKey const& key) {
  return key.directory.is_zero() ? fmt::format("{}", key.id) : fmt::format("{}/{}", key.id, key.directory.bytes[0]);
}

class Story {
 public:
  Story(std::string const& line, Hooks& hooks) {
    Words const words(line);
    MachineConfig config;
    config.self = {BrokerId(static_cast<int32_t>(words.number("self", 1))), directory(words.number("dir", 0))};
    if (words.has("fetch-timeout")) config.fetch_timeout = from_ms(words.number("fetch-timeout"));
    for (auto const& id : split(words.text("bootstrap"), ',')) config.bootstrap.push_back(BrokerId(std::stoi(id)));
    LoadedState loaded;
    for (auto const& voter : split(words.text("voters", "1,2,3"), ',')) {
      auto const parts = split(voter, '/');
      loaded.voters.voters.push_back(
          {{BrokerId(std::stoi(parts[0])), directory(parts.size() > 1 ? std::stoi(parts[1]) : 0)}, {}});
    }
    loaded.kraft_version = static_cast<int16_t>(words.number("kraft", 0));
    loaded.voters_are_unwritten = words.has("unwritten");
    for (auto const& part : split(words.text("log"), ',')) {  // epoch:start
      auto const pair = split(part, ':');
      loaded.epochs.push_back({LeaderEpoch(std::stoi(pair[0])), Offset(std::stoll(pair[1]))});
    }
    if (words.has("snapshot")) {
      loaded.snapshot = snapshot_id(words.text("snapshot"));
      loaded.high_watermark = loaded.snapshot->end_offset;
      loaded.log_start = loaded.log_end = {loaded.snapshot->end_offset, loaded.snapshot->epoch};
    }
    if (!loaded.epochs.empty()) loaded.log_end = {Offset(words.number("end")), loaded.epochs.back().epoch};
    if (words.has("epoch")) {
      ElectionState election{words.epoch("epoch"), words.id("leader"), {}};
      if (words.has("voted")) election.voted = ReplicaKey{words.id("voted"), {}};
      loaded.election = election;
    }
    auto made = Machine::create(config, std::move(loaded), hooks);
    if (!made) {
      refusal_ = made.error().message;
      return;
    }
    machine_ = std::make_unique<Machine>(*std::move(made));
  }

  std::string on(std::string const& line) {
    if (!machine_) return "refused: " + refusal_ + "\n";
    Words const words(line);
    auto const& what = words.first();
    if (what == "wait") {
      now_ = now_ + from_ms(std::stoll(line.substr(5)));
      return "";
    }
    if (what == "persisted") return feed(event::ElectionPersisted{write_});
    if (what == "done") return feed(event::LogOpDone{op_});
    if (what == "timer") {
      auto const kind = std::find_if(std::begin(kTimerNames), std::end(kTimerNames),
                                     [&](auto name) { return words.has(std::string(name)); });
      if (!timers_.contains(std::string(*kind))) return "no such timer\n";
      timers_.erase(std::string(*kind));
    }
    return feed(parse(what, words));
  }

 private:
  Event parse(std::string const& what, Words const& w) {
    if (what == "start") return event::Started{};
    if (what == "append")
      return event::AppendRequested{7, w.epoch("epoch"), static_cast<int32_t>(w.number("count", 1))};
    if (what == "resign") return event::ResignRequested{};
    if (what == "timer") {
      for (size_t kind = 0; kind < kTimerKinds; ++kind) {
        if (w.has(std::string(kTimerNames[kind]))) return event::TimerFired{static_cast<TimerKind>(kind)};
      }
    }
    if (what == "connection-ended") return event::ConnectionEnded{w.id("peer")};
    if (what == "failed") {
      auto failure = event::Failure::other;
      if (w.has("ended")) failure = event::Failure::peer_ended_connection;
      if (w.has("refused")) failure = event::Failure::refused;
      if (w.has("unsupported")) failure = event::Failure::unsupported_version;
      return event::RequestFailed{w.id("peer"), asked_[w.id("peer")], failure};
    }
    if (what == "installed") return event::SnapshotInstalled{op_, {}, 0};
    if (what == "snapshot-refused") return event::SnapshotRefused{op_};
    if (what == "snapshot-taken") return event::SnapshotTaken{snapshot_id(w.text("id")), log_end(w.text("start"))};
    if (what == "withdrawn") return event::Withdrawn{static_cast<Ticket>(w.number("ticket"))};
    // Requests that come in.
    Addressing addressing;
    addressing.is_same_cluster = !w.has("other-cluster");
    addressing.is_metadata_log = !w.has("other-topic");
    ReplicaKey const from{w.id("from"), directory(w.number("dir", 0))};
    ReplicaKey const voter{w.id("voter"), directory(w.number("voter-dir", 0))};
    if (what == "vote") {
      VoteRequest r{addressing, from, voter, w.epoch("epoch"), log_end(w.text("last", "0@0")), w.has("pre")};
      return event::Received{++ticket_, r};
    }
    if (what == "begin")
      return event::Received{++ticket_, BeginEpochRequest{addressing, voter, w.id("leader"), w.epoch("epoch")}};
    if (what == "end") {
      EndEpochRequest r{addressing, w.id("leader"), w.epoch("epoch"), {}};
      for (auto const& id : split(w.text("successors"), ','))
        r.preferred_successors.push_back({BrokerId(std::stoi(id)), {}});
      return event::Received{++ticket_, r};
    }
    if (what == "fetch") {
      FetchRequest r{addressing,
                     from,
                     w.epoch("epoch"),
                     Offset(w.number("offset")),
                     w.epoch("last", 0),
                     Offset(w.number("mark", INT64_MAX)),
                     1000,
                     from_ms(w.number("wait", 0))};
      return event::Received{++ticket_, r};
    }
    if (what == "fetch-snapshot") {
      FetchSnapshotRequest r{addressing, from, w.epoch("epoch"), snapshot_id(w.text("id")), w.number("position", 0),
                             1000};
      return event::Received{++ticket_, r};
    }
    // Answers that come back.
    Verdict verdict;
    verdict.leader = w.id("leader");
    verdict.epoch = w.epoch("epoch");
    verdict.error = static_cast<ErrorCode>(w.number("error", 0));
    verdict.top = static_cast<ErrorCode>(w.number("top", 0));
    auto const answer = [&](Response response) {
      return event::Answered{from.id, asked_[from.id], std::move(response)};
    };
    if (what == "voted") return answer(VoteResponse{verdict, w.has("granted")});
    if (what == "begun") return answer(BeginEpochResponse{verdict});
    if (what == "ended") return answer(EndEpochResponse{verdict});
    if (what == "fetched") {
      FetchResponse r;
      r.verdict = verdict;
      r.high_watermark = Offset(w.number("mark"));
      if (w.has("diverging")) r.diverging = log_end(w.text("diverging"));
      if (w.has("snapshot")) r.snapshot = snapshot_id(w.text("snapshot"));
      for (auto const& batch : split(w.text("batches"), ',')) {  // base-next@epoch
        auto const parts = split(batch, '-');
        auto const end = log_end(parts[1]);
        r.batches.push_back({Offset(std::stoll(parts[0])), end.offset, end.epoch, {}, {}});
      }
      return answer(std::move(r));
    }
    if (what == "pieced") {
      return answer(FetchSnapshotResponse{verdict, snapshot_id(w.text("id")), w.number("of"), w.number("position"),
                                          w.number("bytes")});
    }
    ADD_FAILURE() << "no such event: " << what;
    return event::LogOpDone{0};
  }

  std::string feed(Event const& event) {
    Effects effects;
    machine_->on_event(event, now_, effects);
    machine_->check_invariants();
    std::string out;
    for (auto const& effect : effects) out += tell(effect) + "\n";
    return out + "= " + machine_->text() + "\n";
  }

  static std::string tell(Verdict const& v) {
    if (v.top != ErrorCode::none) return fmt::format("top error {}", static_cast<int>(v.top));
    auto out = v.error == ErrorCode::none ? std::string("ok") : fmt::format("error {}", static_cast<int>(v.error));
    return out + fmt::format(" leader {} epoch {}", v.leader, v.epoch);
  }

  std::string tell(Effect const& any) {
    return std::visit(
        [&]<class E>(E const& e) -> std::string {
          if constexpr (std::is_same_v<E, effect::PersistElection>) {
            write_ = e.write;
            return fmt::format("persist epoch {} leader {} voted {}", e.state.epoch, e.state.leader,
                               e.state.voted ? text_of(*e.state.voted) : "-");
          } else if constexpr (std::is_same_v<E, effect::AppendLeaderChange>) {
            op_ = e.op;
            auto out = fmt::format("leader-change epoch {} at {} leader {} granted by", e.epoch, e.base, e.leader);
            for (auto const& key : e.granting_voters) out += " " + text_of(key);
            return out + (e.with_voters ? " with voters" : "");
          } else if constexpr (std::is_same_v<E, effect::Append>) {
            op_ = e.op;
            return fmt::format("append #{} epoch {} at {}", e.id, e.epoch, e.base);
          } else if constexpr (std::is_same_v<E, effect::RefuseAppend>) {
            return fmt::format("refuse #{}", e.id);
          } else if constexpr (std::is_same_v<E, effect::AppendFetched>) {
            op_ = e.op;
            return fmt::format("append {} fetched batches from {} to {}", e.batch_count, e.base, e.end);
          } else if constexpr (std::is_same_v<E, effect::Truncate>) {
            op_ = e.op;
            return fmt::format("truncate to {}", e.to);
          } else if constexpr (std::is_same_v<E, effect::WriteSnapshotPiece>) {
            op_ = e.op;
            return fmt::format("write piece of {}@{} at {}{}", e.id.end_offset, e.id.epoch, e.position,
                               e.is_last ? ", the last" : "");
          } else if constexpr (std::is_same_v<E, effect::Send>) {
            asked_[e.to] = e.id;
            return fmt::format("to {}: ", e.to) + tell(e.request) + (e.after != 0 ? " (once written)" : "");
          } else if constexpr (std::is_same_v<E, effect::Reply>) {
            auto out = fmt::format("answer #{}: ", e.ticket) + tell(e.response);
            if (e.records_from >= Offset{0}) out += fmt::format(" with records from {}", e.records_from);
            return out + (e.after != 0 ? " (once written)" : "");
          } else if constexpr (std::is_same_v<E, effect::SetTimer>) {
            timers_.insert(std::string(kTimerNames[static_cast<size_t>(e.kind)]));
            return fmt::format("timer {} in {} ms", kTimerNames[static_cast<size_t>(e.kind)], to_ms(e.at - now_));
          } else if constexpr (std::is_same_v<E, effect::CancelTimer>) {
            timers_.erase(std::string(kTimerNames[static_cast<size_t>(e.kind)]));
            return fmt::format("no timer {}", kTimerNames[static_cast<size_t>(e.kind)]);
          } else if constexpr (std::is_same_v<E, effect::BecameLeader>) {
            return fmt::format("leads epoch {} from {}", e.epoch, e.start);
          } else if constexpr (std::is_same_v<E, effect::LostLeadership>) {
            return fmt::format("leads epoch {} no more", e.epoch);
          } else if constexpr (std::is_same_v<E, effect::LeaderKnown>) {
            return fmt::format("leader {} of epoch {}", e.leader, e.epoch);
          } else if constexpr (std::is_same_v<E, effect::Committed>) {
            return fmt::format("committed {}", e.high_watermark);
          } else if constexpr (std::is_same_v<E, effect::VoteWithheld>) {
            return fmt::format("withholds its vote from {}", e.candidate);
          } else {
            return fmt::format("complaint: {} {} {}", e.peer, e.what, e.offset);
          }
        },
        any);
  }

  static std::string tell(Request const& any) {
    struct {
      std::string operator()(VoteRequest const& r) {
        return fmt::format("{} {} epoch {} last {}@{}", r.is_pre_vote ? "pre-vote for" : "vote for",
                           text_of(r.candidate), r.epoch, r.last.offset, r.last.epoch);
      }
      std::string operator()(BeginEpochRequest const& r) {
        return fmt::format("begin epoch {} of {}", r.epoch, r.leader);
      }
      std::string operator()(EndEpochRequest const& r) {
        auto out = fmt::format("end epoch {} of {}, next", r.epoch, r.leader);
        for (auto const& key : r.preferred_successors) out += " " + text_of(key);
        return out;
      }
      std::string operator()(FetchRequest const& r) {
        auto const is_usual = r.wait_max == MachineConfig().fetch_wait;
        return fmt::format("fetch epoch {} from {}@{} mark {}{}", r.current_epoch, r.offset, r.last_epoch, r.high_watermark,
                           is_usual ? "" : fmt::format(" waiting {} ms", to_ms(r.wait_max)));
      }
      std::string operator()(FetchSnapshotRequest const& r) {
        return fmt::format("fetch snapshot {}@{} epoch {} at {}", r.id.end_offset, r.id.epoch, r.current_epoch,
                           r.position);
      }
    } visitor;
    return std::visit(visitor, any);
  }

  static std::string tell(Response const& any) {
    struct {
      std::string operator()(VoteResponse const& r) {
        return tell(r.verdict) + (r.is_granted ? " granted" : " not granted");
      }
      std::string operator()(BeginEpochResponse const& r) { return tell(r.verdict); }
      std::string operator()(EndEpochResponse const& r) { return tell(r.verdict); }
      std::string operator()(FetchResponse const& r) {
        auto out = tell(r.verdict) + fmt::format(" mark {} start {}", r.high_watermark, r.log_start);
        if (r.diverging) out += fmt::format(" diverging {}@{}", r.diverging->offset, r.diverging->epoch);
        if (r.snapshot) out += fmt::format(" snapshot {}@{}", r.snapshot->end_offset, r.snapshot->epoch);
        return out;
      }
      std::string operator()(FetchSnapshotResponse const& r) {
        return tell(r.verdict) + fmt::format(" piece of {}@{} at {}", r.id.end_offset, r.id.epoch, r.position);
      }
    } visitor;
    return std::visit(visitor, any);
  }

  std::unique_ptr<Machine> machine_;
  std::string refusal_;
  Mono now_{};
  ElectionWrite write_ = 0;
  LogOp op_ = 0;
  Ticket ticket_ = 0;
  std::map<BrokerId, RequestId> asked_;
  std::set<std::string> timers_;
};

struct Told {
  std::string expected, told;
};

Told tell(std::string const& path, Hooks& hooks) {
  Told out;
  std::ifstream in(path);
  std::unique_ptr<Story> story;
  for (std::string line; std::getline(in, line);) {
    out.expected += line + "\n";
    if (line.starts_with("config")) {
      story = std::make_unique<Story>(line, hooks);
      out.told += line + "\n";
    } else if (line.starts_with("# ") || line.empty()) {
      out.told += line + "\n";
    } else if (line.starts_with("> ")) {
      if (!story) story = std::make_unique<Story>("config", hooks);
      out.told += line + "\n" + story->on(line.substr(2));
    }
  }
  return out;
}

std::string path_of(std::string const& name) { return std::string(MR_TEST_DATA "/raft/") + name + ".story"; }

std::vector<std::string> all_stories() {
  std::vector<std::string> out;
  for (auto const& file : std::filesystem::directory_iterator(MR_TEST_DATA "/raft")) {
    if (file.path().extension() == ".story") out.push_back(file.path().stem());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class RaftStories : public testing::TestWithParam<std::string> {};

TEST_P(RaftStories, are_told_so) {
  auto const [expected, told] = tell(path_of(GetParam()), Hooks::none());
  ASSERT_FALSE(told.empty());
  if (std::getenv("MR_STORIES_WRITE") != nullptr) {
    std::ofstream(path_of(GetParam())) << told;
  } else {
    EXPECT_EQ(told, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Raft, RaftStories, testing::ValuesIn(all_stories()),
                         [](auto const& one) { return one.param; });

// Which story shows that the rule holds.
TEST(RaftStoryMutants, ChangeTheirStory) {
  struct {
    char const* mutant;
    char const* story;
  } const all[] = {{"raft.pre_vote_raises_epoch", "cut_off"},
                   {"raft.no_check_quorum", "check_quorum"},
                   {"raft.snapshot_below_mark", "lying_leader"}};
  for (auto const& one : all) {
    OneMutant hooks(one.mutant);
    auto const [expected, told] = tell(path_of(one.story), hooks);
    EXPECT_NE(told, expected) << one.mutant;
  }
}

}  // namespace
}  // namespace millrace::raft::test
