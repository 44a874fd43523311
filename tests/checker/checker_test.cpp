// Proves that the checker passes what a correct broker may show and catches every planted bug: a history of a small
// correct log is edited in one place, and the check that stands for that bug must speak.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <random>
#include <set>

#include "checker/checker.h"

namespace millrace::checker {
namespace {

constexpr ClientId kProducers = 3;
constexpr ClientId kConsumers = 2;
constexpr PartitionIndex kPartitions = 2;

Observed seen(int64_t offset, Value const& value) { return {offset, true, value}; }

// A correct broker's history: producers send batches one after the other, consumers follow, some sends are refused,
// some answers are lost, records are deleted once, the leader changes once.
struct Model {
  explicit Model(uint64_t seed, int steps = 400) : random(seed) {
    history.client_count = kProducers + kConsumers;
    history.partition_count = kPartitions;
    for (int step = 0; step < steps; ++step) {
      now += 100;
      PartitionIndex const p = draw(kPartitions);
      switch (draw(8)) {
        case 0: case 1: case 2: case 3: send(draw(kProducers), p); break;
        case 4: case 5: case 6: poll(kProducers + draw(kConsumers), p); break;
        default: ask(p); break;
      }
      if (step == steps / 2) delete_records(0);
      if (step == steps * 2 / 3) ++epoch;
    }
    for (PartitionIndex p = 0; p < kPartitions; ++p) {
      for (ClientId c = 0; c < kConsumers; ++c) {
        while (position[c][p] < static_cast<int64_t>(log[p].size())) poll(kProducers + c, p), now += 100;
      }
      FinalRead read{p, log_start[p], static_cast<int64_t>(log[p].size()), {}};
      for (auto o = log_start[p]; o < read.end; ++o) read.records.push_back(seen(o, log[p][static_cast<size_t>(o)]));
      history.final_reads.push_back(std::move(read));
    }
    add_groups();
    add_nodes();
  }

  uint32_t draw(uint32_t limit) { return static_cast<uint32_t>(random() % limit); }

  void send(ClientId client, PartitionIndex p) {
    Send send{client, p, next_sequence[client][p], 1 + draw(4), now, now + 50, Outcome::ok, -1, true, true, epoch};
    next_sequence[client][p] += send.count;
    auto const fate = draw(10);
    if (fate == 0) send.outcome = Outcome::failed;
    if (fate == 1 || fate == 2) send.outcome = Outcome::unknown;
    if (send.outcome == Outcome::ok) send.base_offset = static_cast<int64_t>(log[p].size());
    if (send.outcome == Outcome::ok || fate == 1) {
      for (uint32_t i = 0; i < send.count; ++i) log[p].push_back({client, p, send.first_sequence + i});
    }
    history.sends.push_back(send);
  }

  void poll(ClientId client, PartitionIndex p) {
    auto& at = position[client - kProducers][p];
    at = std::max(at, log_start[p]);
    auto& assignment = assignments[client - kProducers][p];
    if (at == log_start[p] && at > 0 && !was_reset[client - kProducers][p]) {
      was_reset[client - kProducers][p] = true;
      ++assignment;  // out of range: it starts again at the log start
    }
    auto const end = static_cast<int64_t>(log[p].size());
    Poll poll{client, p, assignment, now, now + 20, at, epoch, end, end, log_start[p]};
    std::vector<Observed> records;
    for (; at < end && records.size() < 5; ++at) records.push_back(seen(at, log[p][static_cast<size_t>(at)]));
    history.add_poll(poll, records);
  }

  void ask(PartitionIndex p) {
    history.ends.push_back({kProducers, p, now, now + 10, epoch, true, Isolation::read_uncommitted,
                            static_cast<int64_t>(log[p].size())});
  }

  void delete_records(PartitionIndex p) {
    log_start[p] = static_cast<int64_t>(log[p].size() / 2);
    history.deletions.push_back({p, now, now + 10, Outcome::ok, log_start[p]});
    now += 100;
  }

  // Members commit in turn; each generation has new owners; some answers are lost, some commits are refused.
  void add_groups() {
    for (int32_t generation = 1; generation <= 4; ++generation) {
      for (PartitionIndex p = 0; p < kPartitions; ++p) {
        ClientId const owner = kProducers + (p + static_cast<uint32_t>(generation)) % kConsumers;
        history.ownerships.push_back({owner, 0, p, generation, now});
      }
      for (int step = 0; step < 30; ++step) {
        now += 100;
        PartitionIndex const p = draw(kPartitions);
        ClientId const owner = kProducers + (p + static_cast<uint32_t>(generation)) % kConsumers;
        auto const fate = draw(10);
        auto const outcome = fate == 0 ? Outcome::failed : fate <= 2 ? Outcome::unknown : Outcome::ok;
        history.commits.push_back({owner, 0, p, now, now + 50, outcome, ++offset_committed, generation});
        if (outcome == Outcome::ok || fate == 1) committed[p] = offset_committed;
        if (draw(2) == 0) history.commit_reads.push_back({owner, 0, p, now + 60, now + 80, committed[p]});
      }
      now += 100;
    }
  }

  // Three nodes that lead in turn, vote once an epoch, publish the same images and hold the same batches.
  void add_nodes() {
    for (int32_t e = 0; e < 6; ++e) {
      history.leaderships.push_back({Leadership::kQuorum, e, e % 3});
      history.leaderships.push_back({1, e, (e + 1) % 3});
      for (int32_t node = 0; node < 3; ++node) history.votes.push_back({node, e, e % 3});
    }
    for (int32_t node = 0; node < 3; ++node) {
      for (int64_t offset = node; offset < 20; offset += 1 + node) history.images.push_back({node, offset, static_cast<uint64_t>(offset) * 77});
      // One started later, another has not heard of the last mark and holds a tail of its own.
      ReplicaRead replica{1, node, node == 1 ? 4 : 0, node == 2 ? 16 : 20, {}};
      for (int64_t offset = replica.log_start; offset < 20; offset += 2) {
        replica.batches.emplace_back(offset, static_cast<uint64_t>(node == 2 && offset >= 16 ? 1 : offset * 3));
      }
      history.replicas.push_back(std::move(replica));
    }
  }

  std::mt19937_64 random;
  History history;
  Nanos now = 1000;
  int32_t epoch = 0;
  std::vector<Value> log[kPartitions];
  int64_t log_start[kPartitions]{};
  uint64_t next_sequence[kProducers][kPartitions]{};
  int64_t position[kConsumers][kPartitions]{};
  uint32_t assignments[kConsumers][kPartitions]{};
  bool was_reset[kConsumers][kPartitions]{};
  int64_t offset_committed = 0;
  int64_t committed[kPartitions]{-1, -1};
};

std::string checks_of(History const& history) {
  std::set<std::string> names;
  for (auto const& violation : check(history)) names.insert(violation.check);
  std::string out;
  for (auto const& name : names) out += (out.empty() ? "" : " ") + name;
  return out;
}

TEST(Checker, passes_correct_histories) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Model const model(seed);
    auto const violations = check(model.history);
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << violations[0].check << " " << violations[0].text;
  }
}

// The nth poll of partition 1 (where nothing is deleted) that holds at least two records, counted from the back half.
Poll& late_poll(History& history, size_t nth = 0) {
  for (size_t i = history.polls.size() / 2; i < history.polls.size(); ++i) {
    if (history.polls[i].partition == 1 && history.polls[i].record_count >= 2 && nth-- == 0) return history.polls[i];
  }
  throw std::runtime_error("the model made no such poll");
}

Send& ok_send(History& history, size_t nth = 5) {
  for (auto& send : history.sends) {
    if (send.partition == 1 && send.outcome == Outcome::ok && nth-- == 0) return send;
  }
  throw std::runtime_error("the model made no such send");
}

struct Planted {
  char const* name;
  char const* check;
  std::function<void(History&)> edit;
};

std::vector<Observed>& final_of(History& h) { return h.final_reads[1].records; }

// Applies `change` to every sighting of a record of partition 1 at or past `from`.
void for_all_sightings(History& h, int64_t from, std::function<void(Observed&)> const& change) {
  for (auto const& poll : h.polls) {
    if (poll.partition != 1) continue;
    for (size_t i = 0; i < poll.record_count; ++i) {
      auto& record = h.records[poll.first_record + i];
      if (record.offset >= from) change(record);
    }
  }
  for (auto& record : final_of(h)) {
    if (record.offset >= from) change(record);
  }
}

// The last commit that was acknowledged before another one of its partition and a read of that.
Commit const& replaced_commit(History& h, CommitRead*& read) {
  for (auto& each : h.commit_reads) {
    Commit const* last = nullptr;
    Commit const* before = nullptr;
    for (auto const& commit : h.commits) {
      if (commit.partition != each.partition || commit.outcome != Outcome::ok || commit.end >= each.start) continue;
      before = last;
      last = &commit;
    }
    if (before == nullptr || last->offset != each.offset) continue;
    read = &each;
    return *before;
  }
  throw std::runtime_error("the model made no such commit");
}

std::vector<Planted> const kPlanted = {
    {"an acknowledged commit is lost when the coordinator moves", "C9",
     [](History& h) {
       CommitRead* read = nullptr;
       auto const& before = replaced_commit(h, read);
       read->offset = before.offset;
     }},
    {"a group has forgotten its offsets after a reload", "C9", [](History& h) { h.commit_reads.back().offset = -1; }},
    {"a refused commit counts", "C9",
     [](History& h) {
       for (auto const& commit : h.commits) {
         if (commit.outcome != Outcome::failed) continue;
         h.commit_reads.push_back({commit.client, 0, commit.partition, commit.end + 1, commit.end + 2, commit.offset});
         return;
       }
     }},
    {"an offset is found that nobody committed", "C9", [](History& h) { h.commit_reads.back().offset = 100'000; }},
    {"two members own a partition in one generation", "C10",
     [](History& h) {
       auto twin = h.ownerships[3];
       twin.client = twin.client == kProducers ? kProducers + 1 : kProducers;
       h.ownerships.push_back(twin);
     }},
    {"a member that was replaced goes on committing", "G3",
     [](History& h) {
       for (auto& commit : h.commits) {
         if (commit.generation == 3 && commit.outcome == Outcome::ok) {
           commit.generation = 2;
           return;
         }
       }
     }},
    {"two nodes lead a partition in one epoch", "R3", [](History& h) { h.leaderships.push_back({1, 2, 1}); }},
    {"two controllers lead one epoch", "M1", [](History& h) { h.leaderships.push_back({Leadership::kQuorum, 4, 2}); }},
    {"a voter has forgotten its vote", "M4", [](History& h) { h.votes.push_back({1, 5, 0}); }},
    {"a node's metadata differs after a snapshot", "M3", [](History& h) { h.images.push_back({2, 12, 5}); }},
    {"a follower holds another batch below the mark", "C14", [](History& h) { h.replicas[1].batches[3].second ^= 1; }},
    {"a follower lacks a batch below the mark", "C14",
     [](History& h) { h.replicas[2].batches.erase(h.replicas[2].batches.begin() + 5); }},
    {"a follower's last batches are gone", "C14", [](History& h) { h.replicas[1].batches.resize(5); }},
    {"a zero hole is kept: what is behind it has moved", "C1",
     [](History& h) {
       // The hole's offsets are passed over on one replica, and what follows is served one place lower.
       for (auto& record : final_of(h)) {
         if (record.offset > 15) --record.offset;
       }
     }},
    {"an index that is off by one batch makes a consumer begin too late", "C7",
     [](History& h) {
       auto& poll = late_poll(h);
       ++poll.fetch_offset;
       ++poll.first_record;
       --poll.record_count;
     }},
    {"producer state is not rebuilt: a retry is appended again much later", "C3",
     [](History& h) {
       auto const& send = ok_send(h, 1);
       final_of(h).push_back(seen(h.final_reads[1].end + 3, {send.client, 1, send.first_sequence}));
     }},
    {"a record gets a new checksum over damaged bytes", "D4",
     [](History& h) { for_all_sightings(h, 20, [](Observed& r) { r.value.client += kProducers; }); }},
    {"the epoch was not bumped: two leaders append at the same offsets", "C1",
     [](History& h) {
       auto const& send = ok_send(h, 6);
       auto twin = send;
       twin.first_sequence = 50'000;
       h.sends.push_back(twin);
     }},
    {"a replica joins the in-sync set early and leads: an acknowledged end is gone", "C2",
     [](History& h) {
       auto& records = final_of(h);
       records.resize(records.size() - 3);
     }},
    {"an acknowledged batch is gone", "C2",
     [](History& h) {
       auto const offset = ok_send(h).base_offset;
       std::erase_if(final_of(h), [&](auto const& r) { return r.offset == offset; });
     }},
    {"an acknowledged batch was never in the log", "C2",
     [](History& h) {
       h.sends.push_back({0, 1, 9000, 1, 1, 2, Outcome::ok, h.final_reads[1].end, true, true, -1});
     }},
    {"what a leader that stays has acknowledged is gone", "C2",
     [](History& h) {
       auto& send = ok_send(h);
       send.is_fully_acknowledged = false;
       auto const offset = send.base_offset;
       std::erase_if(final_of(h), [&](auto const& r) { return r.offset == offset; });
     }},
    {"two batches are swapped on one replica", "C1",
     [](History& h) { std::swap(final_of(h)[10].value, final_of(h)[20].value); }},
    {"a batch is appended twice", "C3",
     [](History& h) { final_of(h).push_back(seen(h.final_reads[1].end, final_of(h)[3].value)); }},
    {"offsets are shifted by one after a restart", "C1",
     [](History& h) {
       for (auto& record : final_of(h)) ++record.offset;
     }},
    {"a consumer reads past the high watermark", "C6",
     [](History& h) { late_poll(h).high_watermark = late_poll(h).fetch_offset; }},
    {"a consumer reads what is truncated later", "C6",
     [](History& h) {
       auto& poll = late_poll(h);
       auto const offset = h.records[poll.first_record].offset;
       std::erase_if(final_of(h), [&](auto const& r) { return r.offset >= offset; });
       std::erase_if(h.sends, [&](auto const& s) { return s.partition == 1 && s.base_offset >= offset; });
     }},
    {"a refused batch is visible", "C6", [](History& h) { ok_send(h).outcome = Outcome::failed; }},
    {"a consumer skips a record", "C7",
     [](History& h) {
       auto& poll = late_poll(h);
       ++poll.first_record;
       --poll.record_count;
     }},
    {"a consumer gets a batch twice", "C7",
     [](History& h) {
       auto poll = late_poll(h);
       h.polls.push_back(poll);
     }},
    {"records of one poll fall", "C7",
     [](History& h) {
       auto& poll = late_poll(h);
       std::swap(h.records[poll.first_record], h.records[poll.first_record + 1]);
     }},
    {"a stale leader appends a later batch before an earlier one", "C4",
     [](History& h) {
       auto& send = ok_send(h, 2);
       send.start = ok_send(h, 8).end + 1000;
       send.end = send.start + 50;
     }},
    {"ListOffsets answers from a stale replica", "C5",
     [](History& h) {
       for (auto& asked : h.ends) {
         if (asked.partition == 1 && asked.offset > 20) {
           asked.offset -= 10;
           asked.leader_epoch = -1;
           return;
         }
       }
     }},
    {"a fetch shows an old high watermark to another consumer", "C5",
     [](History& h) {
       auto poll = late_poll(h);
       poll.client = kProducers - 1;  // never fetched before
       poll.record_count = 0;
       poll.high_watermark = 1;
       poll.start = h.polls.back().end + 10;
       poll.end = poll.start + 10;
       poll.leader_epoch = h.polls.back().leader_epoch;
       h.polls.push_back(poll);
     }},
    {"a fetch of a new epoch shows an old high watermark where marks begin at the end", "C5",
     [](History& h) {
       h.do_marks_begin_at_end = true;
       auto poll = late_poll(h);
       poll.client = kProducers - 1;  // never fetched before
       poll.record_count = 0;
       poll.high_watermark = 1;
       poll.start = h.polls.back().end + 10;
       poll.end = poll.start + 10;
       poll.leader_epoch = h.polls.back().leader_epoch + 1;
       h.polls.push_back(poll);
     }},
    {"a deleted batch comes again although nothing was restarted", "C3",
     [](History& h) {
       h.has_restarts = false;
       for (auto& poll : h.polls) {
         if (poll.partition == 1) poll.log_start = 10;
       }
       final_of(h).push_back(seen(h.final_reads[1].end, final_of(h)[3].value));
     }},
    {"the high watermark goes back within an epoch", "C8",
     [](History& h) {
       auto poll = late_poll(h, 3);
       poll.record_count = 0;
       poll.assignment = 77;
       poll.high_watermark = 1;
       poll.start = h.polls.back().end + 10;
       poll.end = poll.start + 10;
       poll.leader_epoch = h.polls.back().leader_epoch;
       h.polls.push_back(poll);
     }},
    {"the log start goes back", "C8",
     [](History& h) {
       for (size_t i = h.polls.size(); i-- > 0;) {
         if (h.polls[i].partition == 0) {
           h.polls[i].log_start = 0;
           return;
         }
       }
     }},
    {"deleted records come back after a restart", "C8",
     [](History& h) {
       for (auto& poll : h.polls) {
         if (poll.partition == 0 && poll.log_start > 0) poll.log_start = 0;
       }
     }},
    {"bytes are damaged", "D4",
     [](History& h) { for_all_sightings(h, 15, [](Observed& r) { r.is_readable = false; }); }},
    {"records of another partition are served", "D4",
     [](History& h) { for_all_sightings(h, 15, [](Observed& r) { r.value.partition = 0; }); }},
    {"a record appears that nobody sent", "D4",
     [](History& h) { for_all_sightings(h, 15, [](Observed& r) { r.value.sequence += 100'000; }); }},
};

TEST(Checker, catches_every_planted_bug) {
  for (auto const& planted : kPlanted) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Model model(seed);
      planted.edit(model.history);
      auto const checks = checks_of(model.history);
      EXPECT_NE(checks.find(planted.check), std::string::npos)
          << planted.name << ", seed " << seed << ": expected " << planted.check << ", got '" << checks << "'";
    }
  }
}

TEST(Checker, does_not_flag_what_kafka_allows) {
  Model model(7);
  auto& h = model.history;
  // An unknown send that happened, and one that did not, are in the model already. acks=1 may lose.
  h.sends.push_back({0, 1, 9000, 1, 1'000'000, 1'000'050, Outcome::ok, 100'000, false, false, -1, false});
  // Two sends at once may come in any order.
  auto& send = ok_send(h, 2);
  send.end = ok_send(h, 3).end + 500;
  EXPECT_EQ(checks_of(h), "");
}

// Where leadership moves, a leader that was deposed and has not heard of it answers for its own epoch and those before.
TEST(Checker, a_deposed_leader_answers_for_its_own_time) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Model model(seed);
    auto& h = model.history;
    h.do_leaders_move = true;
    for (auto& send : h.sends) send.leader_epoch = 3;
    for (auto& asked : h.ends) asked.leader_epoch = 3;
    for (auto& poll : h.polls) poll.leader_epoch = 3;
    EndAsked asked{kProducers - 1, 1, model.now + 1000, model.now + 1050, 2, true, Isolation::read_uncommitted, 5};
    h.ends.push_back(asked);
    EXPECT_EQ(checks_of(h), "") << seed;
    h.ends.back().leader_epoch = 3;
    EXPECT_NE(checks_of(h).find("C5"), std::string::npos) << seed;
    h.ends.back().leader_epoch = 4;
    EXPECT_NE(checks_of(h).find("C5"), std::string::npos) << seed;
  }
}

std::string checks_with_loss(History const& history, Nanos loss) {
  std::string out;
  for (auto const& violation : check_with_losses(history, {&loss, 1})) out += violation.check + " ";
  return out;
}

// The final read loses everything at or past `offset` of partition 1.
void lose_tail(History& h, int64_t offset) {
  std::erase_if(final_of(h), [&](auto const& r) { return r.offset >= offset; });
  h.final_reads[1].end = offset;
}

TEST(Checker, a_lost_machine_may_take_the_end_of_a_log_and_nothing_else) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Model const model(seed);
    auto const after_all = model.now + 1000;
    EXPECT_EQ(checks_with_loss(model.history, after_all), "") << seed;
    auto lost = model.history;
    auto const at = ok_send(lost, 12).base_offset;
    lose_tail(lost, at);
    EXPECT_EQ(checks_with_loss(lost, after_all), "") << seed;
    // Nothing was lost that was acknowledged after the last loss.
    EXPECT_NE(checks_with_loss(lost, ok_send(lost, 12).start - 1).find("C2"), std::string::npos) << seed;
    // A hole: one batch is gone, and others behind it are not.
    auto holed = model.history;
    std::erase_if(final_of(holed), [&](auto const& r) { return r.offset == at; });
    EXPECT_NE(checks_with_loss(holed, after_all).find("C2"), std::string::npos) << seed;
    // Between two losses everything else holds: one value an offset.
    auto changed = model.history;
    for (auto& record : changed.records) {
      if (record.offset == 10 && record.value.partition == 1) {
        record.value = final_of(changed)[3].value;
        break;
      }
    }
    EXPECT_NE(checks_with_loss(changed, after_all), "") << seed;
  }
}

// Sends that overlap in time say nothing of their order, unless one producer was given them one after the other.
TEST(Checker, a_pipeline_keeps_its_order) {
  History h;
  h.client_count = h.partition_count = 1;
  FinalRead read{0, 0, 2, {}};
  for (uint64_t sequence : {0, 1}) {
    auto const offset = static_cast<int64_t>(1 - sequence);
    h.sends.push_back({0, 0, sequence, 1, 100, 200, Outcome::ok, offset, true});
    read.records.insert(read.records.begin(), seen(offset, {0, 0, sequence}));
  }
  h.final_reads.push_back(read);
  EXPECT_EQ(checks_of(h), "");
  h.are_clients_ordered = true;
  EXPECT_EQ(checks_of(h), "C4");
}

Commit commit(Nanos start, Nanos end, int64_t offset, Outcome outcome = Outcome::ok) { return {0, 0, 0, start, end, outcome, offset}; }
CommitRead reading(Nanos start, int64_t offset) { return {1, 0, 0, start, start + 10, offset}; }

std::string checks_of_offsets(std::vector<Commit> commits, std::vector<CommitRead> reads) {
  History h;
  h.client_count = 2;
  h.partition_count = 1;
  h.commits = std::move(commits);
  h.commit_reads = std::move(reads);
  return checks_of(h);
}

TEST(Checker, a_group_is_told_its_last_committed_offset) {
  auto const first = commit(100, 150, 5), second = commit(200, 250, 9);
  EXPECT_EQ(checks_of_offsets({first, second}, {reading(300, 9)}), "");
  EXPECT_EQ(checks_of_offsets({first, second}, {reading(50, -1), reading(160, 5), reading(230, 5), reading(231, 9)}), "");
  EXPECT_EQ(checks_of_offsets({first, second}, {reading(300, 5)}), "C9") << "an acknowledged commit is lost";
  EXPECT_EQ(checks_of_offsets({first, second}, {reading(300, -1)}), "C9") << "all commits are lost";
  EXPECT_EQ(checks_of_offsets({first, second}, {reading(300, 7)}), "C9") << "nobody committed it";
  EXPECT_EQ(checks_of_offsets({first, commit(400, 450, 9)}, {reading(300, 9)}), "C9") << "it was committed later";
  auto const unknown = commit(160, 170, 7, Outcome::unknown);
  EXPECT_EQ(checks_of_offsets({first, unknown, second}, {reading(300, 7)}), "") << "it may have come late";
  EXPECT_EQ(checks_of_offsets({first, commit(160, 170, 7, Outcome::failed), second}, {reading(300, 7)}), "C9");
  auto again = first;
  again.may_come_late = true;
  EXPECT_EQ(checks_of_offsets({again, second}, {reading(300, 5)}), "");
}

TEST(Checker, a_partition_has_one_owner_at_a_time) {
  History h;
  h.client_count = 3;
  h.partition_count = 2;
  h.ownerships = {{0, 0, 0, -1, 100, 200}, {1, 0, 0, -1, 200, 300}, {1, 0, 1, -1, 100, 300}, {2, 1, 0, -1, 150, 250}, {1, 0, 0, -1, 250, 400}};
  EXPECT_EQ(checks_of(h), "");
  h.ownerships.push_back({2, 0, 0, -1, 390, 500});
  EXPECT_EQ(checks_of(h), "C10");
}

TEST(Checker, values_carry_their_checksum) {
  Value const value{3, 5, 123456789};
  auto bytes = value.bytes();
  EXPECT_EQ(Value::parse(bytes), value);
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{1};
    EXPECT_FALSE(Value::parse(damaged).has_value());
  }
  EXPECT_FALSE(Value::parse(std::span(bytes).first(23)).has_value());
}

}  // namespace
}  // namespace millrace::checker
