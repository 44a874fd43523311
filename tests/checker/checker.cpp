#include "checker/checker.h"

#include "checker/group_checks.h"
#include "checker/node_checks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace millrace::checker {
namespace {

constexpr uint64_t kNothing = 0;
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

// A value as one word; never kNothing.
uint64_t fingerprint(Value const& value) {
  uint64_t hash = static_cast<uint64_t>(value.client) << 32 ^ value.partition ^ value.sequence * 0x9e3779b97f4a7c15ULL;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9ULL;
  hash ^= hash >> 32;
  return hash == kNothing ? 1 : hash;
}

std::string text(Value const& value) { return fmt::format("{}/{}", value.client, value.sequence); }

// What one client sent to one partition, by sequence number.
struct Sender {
  std::vector<uint32_t> send_of;    // index into History::sends, +1; 0: never sent
  std::vector<int64_t> offset_of;   // where it was seen, -1: nowhere
};

class Checker {
 public:
  Checker(History const& history, size_t violations_max) : history_(history), violations_max_(violations_max) {}

  std::vector<Violation> run() {
    gather_sends();
    for (PartitionIndex p = 0; p < history_.partition_count; ++p) check_partition(p);
    return std::move(violations_);
  }

 private:
  template <class... Args>
  void report(char const* check, PartitionIndex partition, fmt::format_string<Args...> format, Args&&... args) {
    // A check that has spoken thrice leaves room for the others.
    auto const same = std::count_if(violations_.begin(), violations_.end(), [&](auto& v) { return v.check == check; });
    if (same >= 3 || violations_.size() >= violations_max_) return;
    violations_.push_back({check, partition, fmt::format(format, std::forward<Args>(args)...)});
  }

  Sender& sender(ClientId client, PartitionIndex partition) {
    return senders_[static_cast<size_t>(client) * history_.partition_count + partition];
  }

  void gather_sends() {
    senders_.resize(static_cast<size_t>(history_.client_count) * history_.partition_count);
    sends_of_.resize(history_.partition_count);
    polls_of_.resize(history_.partition_count);
    ends_of_.resize(history_.partition_count);
    for (size_t i = 0; i < history_.sends.size(); ++i) {
      auto const& send = history_.sends[i];
      auto& from = sender(send.client, send.partition);
      auto const end = send.first_sequence + send.count;
      if (from.send_of.size() < end) {
        from.send_of.resize(end, 0);
        from.offset_of.resize(end, -1);
      }
      for (auto s = send.first_sequence; s < end; ++s) from.send_of[s] = static_cast<uint32_t>(i + 1);
      sends_of_[send.partition].push_back(i);
    }
    for (size_t i = 0; i < history_.polls.size(); ++i) polls_of_[history_.polls[i].partition].push_back(i);
    for (size_t i = 0; i < history_.ends.size(); ++i) ends_of_[history_.ends[i].partition].push_back(i);
  }

  Send const* send_of(Value const& value) {
    if (value.client >= history_.client_count || value.partition >= history_.partition_count) return nullptr;
    auto const& from = sender(value.client, value.partition);
    if (value.sequence >= from.send_of.size() || from.send_of[value.sequence] == 0) return nullptr;
    return &history_.sends[from.send_of[value.sequence] - 1];
  }

  // One sighting of a value at an offset: by a poll, the final read, or an acknowledgement.
  void see(PartitionIndex p, int64_t offset, Value const& value, char const* where) {
    if (offset < 0) return report("C1", p, "{} shows {} at offset {}", where, text(value), offset);
    auto const index = static_cast<size_t>(offset);
    if (index >= value_at_.size()) {
      value_at_.resize(std::max(index + 1, value_at_.size() * 2), kNothing);
      value_text_.resize(value_at_.size());
    }
    auto const print = fingerprint(value);
    if (value_at_[index] == kNothing) {
      value_at_[index] = print;
      value_text_[index] = value;
    } else if (value_at_[index] != print) {
      report("C1", p, "offset {}: {} shows {}, before it was {}", offset, where, text(value), text(value_text_[index]));
    }
    auto& seen = sender(value.client, p).offset_of[value.sequence];
    if (seen == -1) {
      seen = offset;
    } else if (seen != offset && send_of(value)->is_idempotent &&
               (!history_.has_restarts || std::min(seen, offset) >= deleted_below_)) {
      // (A restart after a deletion may lose the memory of producers whose records are all gone, as in Kafka.)
      report("C3", p, "{} is at offsets {} and {} ({})", text(value), seen, offset, where);
    }
  }

  // A record that somebody read. False: it cannot be looked at further.
  bool judge(PartitionIndex p, Observed const& record, char const* where) {
    if (!record.is_readable) {
      report("D4", p, "offset {}: {} shows a record that was not sent so", record.offset, where);
      return false;
    }
    auto const* send = send_of(record.value);
    if (send == nullptr || record.value.partition != p) {
      report("D4", p, "offset {}: {} shows {} of partition {}, which nobody sent", record.offset, where,
             text(record.value), record.value.partition);
      return false;
    }
    if (send->outcome == Outcome::failed) {
      report("C6", p, "offset {}: {} shows {}, whose send was refused", record.offset, where, text(record.value));
    }
    see(p, record.offset, record.value, where);
    return true;
  }

  void check_partition(PartitionIndex p) {
    value_at_.clear();
    value_text_.clear();
    deleted_below_ = 0;
    for (auto i : polls_of_[p]) deleted_below_ = std::max(deleted_below_, history_.polls[i].log_start);
    FinalRead const* final_read = nullptr;
    for (auto const& read : history_.final_reads) {
      if (read.partition == p) final_read = &read;
    }
    std::vector<bool> is_final, is_polled;
    auto const mark = [](std::vector<bool>& bits, int64_t offset) {
      if (static_cast<size_t>(offset) >= bits.size()) bits.resize(static_cast<size_t>(offset) * 2 + 64, false);
      bits[static_cast<size_t>(offset)] = true;
    };
    if (final_read != nullptr) {
      int64_t last = -1;
      for (auto const& record : final_read->records) {
        if (!judge(p, record, "the final read")) continue;
        if (record.offset <= last) report("C7", p, "the final read goes back from {} to {}", last, record.offset);
        last = record.offset;
        mark(is_final, record.offset);
      }
    }
    int64_t highest_polled = -1;
    int64_t highest_start = final_read != nullptr ? final_read->log_start : 0;
    for (auto i : polls_of_[p]) {
      auto const& poll = history_.polls[i];
      highest_start = std::max(highest_start, poll.log_start);
      for (size_t r = 0; r < poll.record_count; ++r) {
        auto const& record = history_.records[poll.first_record + r];
        if (!judge(p, record, "a poll") || record.offset < 0) continue;
        mark(is_polled, record.offset);
        highest_polled = std::max(highest_polled, record.offset);
        if (poll.high_watermark >= 0 && record.offset >= poll.high_watermark) {
          report("C6", p, "a poll shows offset {} with high watermark {}", record.offset, poll.high_watermark);
        }
      }
    }
    for (auto i : sends_of_[p]) {
      auto const& send = history_.sends[i];
      // What was acknowledged by the leader alone may be lost, and its offset used again.
      if (send.outcome != Outcome::ok || send.base_offset < 0 || !send.is_kept) continue;
      for (uint32_t n = 0; n < send.count; ++n) {
        see(p, send.base_offset + n, {send.client, p, send.first_sequence + n}, "an acknowledgement");
      }
    }
    check_presence(p, final_read, is_final, is_polled, highest_polled, highest_start);
    check_order(p);
    if (history_.are_clients_ordered) check_order_of_clients(p);
    check_recency(p);
    check_contiguity(p, final_read, is_final, is_polled);
    check_monotony(p);
  }

  static bool has(std::vector<bool> const& bits, int64_t offset) {
    return offset >= 0 && static_cast<size_t>(offset) < bits.size() && bits[static_cast<size_t>(offset)];
  }

  // C2 and the second half of C6.
  void check_presence(PartitionIndex p, FinalRead const* final_read, std::vector<bool> const& is_final,
                      std::vector<bool> const& is_polled, int64_t highest_polled, int64_t highest_start) {
    for (auto i : sends_of_[p]) {
      auto const& send = history_.sends[i];
      if (send.outcome != Outcome::ok || !send.is_kept) continue;
      for (uint32_t n = 0; n < send.count; ++n) {
        Value const value{send.client, p, send.first_sequence + n};
        auto const offset = send.base_offset >= 0 ? send.base_offset + n : sender(send.client, p).offset_of[value.sequence];
        if (offset >= 0 && offset < highest_start) continue;  // deleted since, as far as anybody was told
        if (final_read != nullptr && (offset < 0 || !has(is_final, offset))) {
          report("C2", p, "{} was acknowledged at offset {} and is not in the final read [{}, {})", text(value), offset,
                 final_read->log_start, final_read->end);
        } else if (final_read == nullptr && history_.are_polls_whole && offset >= 0 && offset < highest_polled && !has(is_polled, offset)) {
          report("C2", p, "{} was acknowledged at offset {}, others were polled up to {} but not it", text(value), offset,
                 highest_polled);
        }
      }
    }
    if (final_read == nullptr) return;
    for (size_t offset = 0; offset < is_polled.size(); ++offset) {
      auto const o = static_cast<int64_t>(offset);
      if (is_polled[offset] && o >= highest_start && !has(is_final, o)) {
        report("C6", p, "offset {} was read before and is not in the final read [{}, {})", o, final_read->log_start,
               final_read->end);
      }
    }
  }

  // C4: going down from the highest offset, no send may have begun after a later one had ended.
  void check_order(PartitionIndex p) {
    struct Placed {
      int64_t offset;
      Send const* send;
    };
    std::vector<Placed> placed;
    for (auto i : sends_of_[p]) {
      auto const& send = history_.sends[i];
      auto const seen = send.count == 0 ? -1 : sender(send.client, p).offset_of[send.first_sequence];
      bool const is_sure = send.outcome == Outcome::ok && send.base_offset >= 0 && send.is_kept;
      auto const offset = is_sure ? send.base_offset : seen;
      if (offset >= 0 && (send.is_idempotent || send.outcome == Outcome::ok)) placed.push_back({offset, &send});
    }
    std::sort(placed.begin(), placed.end(), [](auto const& a, auto const& b) { return a.offset > b.offset; });
    Nanos smallest_end = kNever;
    int64_t of_offset = -1;
    for (auto const& each : placed) {
      if (smallest_end < each.send->start) {
        report("C4", p, "the send at offset {} began at {}, after that at offset {} had ended at {}", each.offset,
               each.send->start, of_offset, smallest_end);
      }
      if (each.send->outcome == Outcome::ok && each.send->end < smallest_end) {
        smallest_end = each.send->end;
        of_offset = each.offset;
      }
    }
  }

  // C4 within one producer, whose sends overlap in time.
  void check_order_of_clients(PartitionIndex p) {
    for (ClientId client = 0; client < history_.client_count; ++client) {
      int64_t last = -1;
      uint64_t of_sequence = 0;
      auto const& offsets = sender(client, p).offset_of;
      for (uint64_t sequence = 0; sequence < offsets.size(); ++sequence) {
        auto const offset = offsets[sequence];
        if (offset < 0) continue;
        if (offset <= last) {
          report("C4", p, "{} is at offset {}, and {} before it at {}", text(Value{client, p, sequence}), offset,
                 text(Value{client, p, of_sequence}), last);
        }
        last = offset;
        of_sequence = sequence;
      }
    }
  }

  // C5: both streams merged by time. ListOffsets may never fall behind what was acknowledged. Where a new leader waits
  // for others, or for a sync, a Fetch may show an older mark for a moment after the leadership has changed, so it is
  // held to what was acknowledged in its own epoch.
  void check_recency(PartitionIndex p) {
    struct Acked {
      Nanos end;
      int64_t next_offset;
      int32_t epoch;
    };
    std::vector<Acked> acked;
    for (auto i : sends_of_[p]) {
      auto const& send = history_.sends[i];
      if (send.outcome != Outcome::ok || send.base_offset < 0 || !send.is_fully_acknowledged) continue;
      acked.push_back({send.end, send.base_offset + send.count, send.leader_epoch});
    }
    struct Reading {
      Nanos start;
      int64_t shows;
      int32_t epoch;
      bool is_fetch;
    };
    std::vector<Reading> readings;
    for (auto i : polls_of_[p]) {
      auto const& poll = history_.polls[i];
      if (poll.is_from_leader && poll.high_watermark >= 0) {
        readings.push_back({poll.start, poll.high_watermark, poll.leader_epoch, true});
      }
    }
    for (auto i : ends_of_[p]) {
      auto const& asked = history_.ends[i];
      if (asked.is_latest && asked.isolation == Isolation::read_uncommitted && asked.offset >= 0) {
        readings.push_back({asked.start, asked.offset, asked.leader_epoch, false});
      }
    }
    std::stable_sort(acked.begin(), acked.end(), [](auto const& a, auto const& b) { return a.end < b.end; });
    std::stable_sort(readings.begin(), readings.end(), [](auto const& a, auto const& b) { return a.start < b.start; });
    size_t next = 0;
    int64_t highest = 0;
    std::map<int32_t, int64_t> highest_of_epoch;
    for (auto const& reading : readings) {
      for (; next < acked.size() && acked[next].end < reading.start; ++next) {
        highest = std::max(highest, acked[next].next_offset);
        auto& of_epoch = highest_of_epoch[acked[next].epoch];
        of_epoch = std::max(of_epoch, acked[next].next_offset);
      }
      auto required = highest;
      if (reading.is_fetch && !history_.do_marks_begin_at_end) {
        auto const found = highest_of_epoch.find(reading.epoch);
        required = reading.epoch < 0 || found == highest_of_epoch.end() ? 0 : found->second;
      } else if (history_.do_leaders_move) {
        required = 0;
        for (auto const& [epoch, of_epoch] : highest_of_epoch) {
          if (epoch <= reading.epoch) required = std::max(required, of_epoch);
        }
      }
      if (reading.shows < required) {
        report("C5", p, "{} that began at {} shows {}, but everything below {} had been acknowledged",
               reading.is_fetch ? "a fetch" : "ListOffsets", reading.start, reading.shows, required);
      }
    }
  }

  // C7: between two records that a consumer got one after the other lies none that exists.
  void check_contiguity(PartitionIndex p, FinalRead const* final_read, std::vector<bool> const& is_final,
                        std::vector<bool> const& is_polled) {
    auto const size = std::max(is_final.size(), is_polled.size());
    std::vector<int64_t> rank(size + 1, 0);  // how many records lie below
    for (size_t o = 0; o < size; ++o) {
      bool const exists = has(is_final, static_cast<int64_t>(o)) || has(is_polled, static_cast<int64_t>(o));
      rank[o + 1] = rank[o] + (exists ? 1 : 0);
    }
    auto const rank_at = [&](int64_t offset) {
      return rank[static_cast<size_t>(std::clamp<int64_t>(offset, 0, static_cast<int64_t>(size)))];
    };
    std::map<std::pair<ClientId, uint32_t>, int64_t> next_of;  // the first offset not yet given to the assignment
    static_cast<void>(final_read);
    for (auto i : polls_of_[p]) {
      auto const& poll = history_.polls[i];
      auto const [at, is_first] = next_of.try_emplace({poll.client, poll.assignment}, poll.fetch_offset);
      // A position may pass over offsets without records: markers, and what compaction removed.
      if (poll.fetch_offset < at->second || rank_at(poll.fetch_offset) != rank_at(at->second)) {
        report("C7", p, "client {} fetches from {}, {} was next", poll.client, poll.fetch_offset, at->second);
      }
      at->second = std::max(at->second, poll.fetch_offset);
      for (size_t r = 0; r < poll.record_count; ++r) {
        auto const offset = history_.records[poll.first_record + r].offset;
        if (offset < at->second) {
          report("C7", p, "client {} gets offset {} again or late, {} was next", poll.client, offset, at->second);
        } else if (rank_at(offset) != rank_at(at->second)) {
          report("C7", p, "client {} gets offset {} where {} was next: {} records are skipped", poll.client, offset,
                 at->second, rank_at(offset) - rank_at(at->second));
        }
        at->second = std::max(at->second, offset + 1);
      }
    }
  }

  // C8: in the order in which a client saw them; the marks within one leader epoch, the log start always.
  void check_monotony(PartitionIndex p) {
    struct Seen {
      ClientId client;
      Nanos start, end;
      int32_t epoch;
      std::array<int64_t, 3> marks;  // high watermark, last stable, log start; -1: not told
    };
    std::vector<Seen> all;
    for (auto i : polls_of_[p]) {
      auto const& poll = history_.polls[i];
      if (poll.is_from_leader) {
        all.push_back({poll.client, poll.start, poll.end, poll.leader_epoch,
                       {poll.high_watermark, poll.last_stable, poll.log_start}});
      }
    }
    for (auto i : ends_of_[p]) {
      auto const& asked = history_.ends[i];
      Seen seen{asked.client, asked.start, asked.end, asked.leader_epoch, {-1, -1, -1}};
      seen.marks[!asked.is_latest ? 2 : asked.isolation == Isolation::read_uncommitted ? 0 : 1] = asked.offset;
      all.push_back(seen);
    }
    std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.end < b.end; });
    static constexpr char const* kNames[] = {"high watermark", "last stable offset", "log start"};
    struct Before {
      int32_t epoch = -1;
      std::array<int64_t, 3> marks{-1, -1, -1};
      std::array<Nanos, 3> ends{};
    };
    std::map<ClientId, Before> before_of;
    for (auto const& seen : all) {
      auto& before = before_of[seen.client];
      for (size_t m = 0; m < 3; ++m) {
        if (seen.marks[m] < 0) continue;
        bool const is_comparable = m == 2 || (seen.epoch >= 0 && seen.epoch == before.epoch);
        if (is_comparable && before.ends[m] < seen.start && seen.marks[m] < before.marks[m]) {
          report("C8", p, "client {} sees the {} go back from {} to {} in epoch {}", seen.client, kNames[m],
                 before.marks[m], seen.marks[m], seen.epoch);
        }
        if (!is_comparable || seen.marks[m] > before.marks[m]) {
          before.marks[m] = seen.marks[m];
          before.ends[m] = seen.end;
        }
      }
      if (seen.epoch != before.epoch) {
        // The other mark's memory is of another epoch.
        for (size_t m = 0; m < 2; ++m) {
          if (seen.marks[m] < 0) before.marks[m] = -1;
        }
        before.epoch = seen.epoch;
      }
    }
    // What DeleteRecords promised holds for everybody who asks later.
    std::vector<std::pair<Nanos, int64_t>> promised;
    for (auto const& deletion : history_.deletions) {
      if (deletion.partition == p && deletion.outcome == Outcome::ok) {
        promised.emplace_back(deletion.end, deletion.before_offset);
      }
    }
    std::sort(promised.begin(), promised.end());
    std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.start < b.start; });
    size_t next = 0;
    int64_t highest = 0;
    for (auto const& seen : all) {
      for (; next < promised.size() && promised[next].first < seen.start; ++next) {
        highest = std::max(highest, promised[next].second);
      }
      if (seen.marks[2] >= 0 && seen.marks[2] < highest) {
        report("C8", p, "client {} sees log start {} after everything below {} had been deleted", seen.client,
               seen.marks[2], highest);
      }
    }
  }

  History const& history_;
  size_t violations_max_;
  std::vector<Violation> violations_;
  std::vector<Sender> senders_;  // client * partition_count + partition
  std::vector<std::vector<size_t>> sends_of_, polls_of_, ends_of_;
  // Of the partition being checked, by offset.
  std::vector<uint64_t> value_at_;
  std::vector<Value> value_text_;
  int64_t deleted_below_ = 0;
};

}  // namespace

std::vector<Violation> check(History const& history, size_t violations_max) {
  auto out = Checker(history, violations_max).run();
  check_groups(history, out);
  check_nodes(history, out);
  if (out.size() > violations_max) out.resize(violations_max);
  return out;
}

namespace {

// Between which losses something happened; none: one came in between.
std::optional<size_t> era_of(std::span<Nanos const> losses, Nanos start, Nanos end) {
  auto const before = [&](Nanos t) {
    return static_cast<size_t>(std::lower_bound(losses.begin(), losses.end(), t) - losses.begin());
  };
  return before(start) == before(end) ? std::optional(before(start)) : std::nullopt;
}

History one_era(History const& history, std::span<Nanos const> losses, size_t era) {
  auto out = history;
  for (auto& send : out.sends) {
    // What was acknowledged in another era, or perhaps in another, may have been lost since.
    if (send.outcome == Outcome::ok && era_of(losses, send.start, send.end) != era) {
      send.outcome = Outcome::unknown;
      send.base_offset = -1;
    }
  }
  std::erase_if(out.polls, [&](Poll const& poll) { return era_of(losses, poll.start, poll.end) != era; });
  std::erase_if(out.ends, [&](EndAsked const& asked) { return era_of(losses, asked.start, asked.end) != era; });
  if (era < losses.size()) out.final_reads.clear();
  // A consumer whose position lay in what was lost goes on there, past what took its place.
  out.are_polls_whole = losses.empty();
  return out;
}

// Of what was acknowledged between two losses, the first record that is gone has nothing behind it that stayed.
void check_tails(History const& history, std::span<Nanos const> losses, std::vector<Violation>& out) {
  for (auto const& read : history.final_reads) {
    std::map<int64_t, Value> kept;
    for (auto const& record : read.records) kept.emplace(record.offset, record.value);
    for (size_t era = 0; era < losses.size(); ++era) {
      std::map<int64_t, bool> is_kept;
      for (auto const& send : history.sends) {
        if (send.partition != read.partition || send.outcome != Outcome::ok || send.base_offset < 0) continue;
        if (era_of(losses, send.start, send.end) != era) continue;
        for (uint32_t n = 0; n < send.count; ++n) {
          auto const offset = send.base_offset + n;
          if (offset < read.log_start) continue;
          auto const found = kept.find(offset);
          is_kept[offset] =
              found != kept.end() && found->second == Value{send.client, send.partition, send.first_sequence + n};
        }
      }
      std::optional<int64_t> first_gone;
      for (auto const& [offset, stayed] : is_kept) {
        if (!stayed && !first_gone) first_gone = offset;
        if (!stayed || !first_gone) continue;
        out.push_back({"C2", read.partition,
                       fmt::format("a lost machine took offset {} and left offset {}", *first_gone, offset)});
        break;
      }
    }
  }
}

}  // namespace

std::vector<Violation> check_with_losses(History const& history, std::span<Nanos const> losses, size_t violations_max) {
  std::vector<Violation> out;
  for (size_t era = 0; era <= losses.size() && out.size() < violations_max; ++era) {
    auto found = check(one_era(history, losses, era), violations_max - out.size());
    out.insert(out.end(), found.begin(), found.end());
  }
  check_tails(history, losses, out);
  return out;
}

}  // namespace millrace::checker
