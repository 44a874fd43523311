#include "chaos/history_reader.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace millrace::chaos {
namespace {

using namespace checker;

[[noreturn]] void fail(std::string const& path, char const* why) {
  fmt::print(stderr, "{}: {}\n", path, why);
  std::exit(2);
}

// In a time of calm every answer comes from the leader of one known epoch, and what it acknowledges has its mark's word.
struct Calm {
  Nanos begin, end;
  int32_t epoch;
};

class Reader {
 public:
  Run read(std::vector<std::string> const& paths) {
    for (auto const& path : paths) read_file(path);
    date();
    own();
    finish();
    return std::move(run_);
  }

 private:
  void read_file(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    std::string const bytes(std::istreambuf_iterator<char>(file), {});
    FileHeader header;
    if (bytes.size() < sizeof header) return;  // its writer was killed before it had written anything
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, "MRHIST01", 8) != 0) fail(path, "is not a history");
    client_ = header.client;
    history().client_count = std::max(history().client_count, client_ + 1);
    rest_ = std::string_view(bytes).substr(sizeof header);
    while (!rest_.empty()) read_row(path);
  }

  void read_row(std::string const& path) {
    switch (static_cast<RowKind>(rest_.front())) {
      case RowKind::send: return add(take<SendRow>());
      case RowKind::poll: return add(take<PollRow>());
      case RowKind::end: return add(take<EndRow>());
      case RowKind::commit: case RowKind::committed: return add(take<CommitRow>());
      case RowKind::owned: return add(take<OwnedRow>());
      case RowKind::calm: return add(take<CalmRow>());
      case RowKind::fault:
        if (auto const row = take<FaultRow>()) run_.faults.push_back(*row);
        return;
    }
    fail(path, "has a row of no known kind");
  }

  // Nothing: the file ends within it, as its writer was killed.
  template <class Row>
  std::optional<Row> take() {
    Row row;
    if (rest_.size() < sizeof row) {
      rest_ = {};
      return std::nullopt;
    }
    std::memcpy(&row, rest_.data(), sizeof row);
    rest_.remove_prefix(sizeof row);
    return row;
  }

  History& history() { return run_.history; }

  void add(std::optional<SendRow> const& row) {
    if (!row) return;
    see_partition(row->partition);
    Send send;
    send.client = client_;
    send.partition = row->partition;
    send.first_sequence = row->sequence;
    send.count = 1;
    send.start = row->start;
    send.end = row->end;
    send.outcome = static_cast<Outcome>(row->outcome);
    send.base_offset = row->offset;
    send.is_idempotent = true;
    history().sends.push_back(send);
  }

  void add(std::optional<PollRow> const& row) {
    if (!row) return;
    see_partition(row->partition);
    std::vector<Observed> seen;
    seen.reserve(row->count);
    for (uint32_t i = 0; i < row->count; ++i) {
      auto const record = take<RecordRow>();
      if (!record) return;
      bool const is_readable = record->client != kUnreadable;
      seen.push_back({record->offset, is_readable, {is_readable ? record->client : 0, row->partition, record->sequence}});
      if (record->leader_epoch >= 0) note_epoch(row->partition, record->offset, record->leader_epoch);
    }
    if ((row->flags & kFinalRead) != 0) return add_final(*row, seen);
    Poll poll;
    poll.client = client_;
    poll.partition = row->partition;
    poll.assignment = row->assignment;
    poll.start = row->start;
    poll.end = row->end;
    poll.fetch_offset = row->fetch_offset;
    poll.high_watermark = row->high_watermark;
    poll.last_stable = row->last_stable;
    poll.log_start = row->log_start;
    is_timed_.push_back((row->flags & kIsTimed) != 0);
    history().add_poll(poll, seen);
  }

  void add_final(PollRow const& row, std::vector<Observed> const& seen) {
    auto& reads = history().final_reads;
    auto at = std::ranges::find(reads, row.partition, &FinalRead::partition);
    if (at == reads.end()) at = reads.insert(at, {row.partition, row.log_start, row.high_watermark, {}});
    at->records.insert(at->records.end(), seen.begin(), seen.end());
  }

  void add(std::optional<EndRow> const& row) {
    if (!row) return;
    see_partition(row->partition);
    EndAsked asked;
    asked.client = client_;
    asked.partition = row->partition;
    asked.start = row->start;
    asked.end = row->end;
    asked.leader_epoch = row->leader_epoch;
    asked.is_latest = row->is_latest != 0;
    asked.offset = row->offset;
    history().ends.push_back(asked);
  }

  void add(std::optional<CommitRow> const& row) {
    if (!row) return;
    auto const outcome = static_cast<Outcome>(row->outcome);
    if (row->kind == RowKind::commit) {
      history().commits.push_back({client_, row->group, row->partition, row->start, row->end, outcome, row->offset});
    } else if (outcome == Outcome::ok) {
      history().commit_reads.push_back({client_, row->group, row->partition, row->start, row->end, row->offset});
    }
  }

  void add(std::optional<OwnedRow> const& row) {
    if (row) owned_.emplace_back(client_, *row);
  }

  void add(std::optional<CalmRow> const& row) {
    if (!row) return;
    auto& list = calm_[row->partition];
    if (row->is_end == 0) {
      list.push_back({row->time, row->time, row->leader_epoch});
    } else if (!list.empty() && list.back().epoch == row->leader_epoch) {
      list.back().end = row->time;
    }
  }

  void note_epoch(PartitionIndex p, int64_t offset, int32_t epoch) {
    auto& epochs = epoch_at_[p];
    auto const index = static_cast<size_t>(offset);
    if (index >= epochs.size()) epochs.resize(index * 2 + 64, -1);
    epochs[index] = epoch;
  }

  int32_t epoch_at(PartitionIndex p, int64_t offset) {
    auto const& epochs = epoch_at_[p];
    return offset >= 0 && static_cast<size_t>(offset) < epochs.size() ? epochs[static_cast<size_t>(offset)] : -1;
  }

  void see_partition(PartitionIndex p) { history().partition_count = std::max(history().partition_count, p + 1); }

  // The calm that holds all of it.
  Calm const* calm_of(PartitionIndex p, Nanos start, Nanos end) const {
    auto const found = calm_.find(p);
    if (found == calm_.end()) return nullptr;
    auto const at = std::ranges::lower_bound(found->second, end, {}, &Calm::end);
    return at != found->second.end() && at->begin <= start ? &*at : nullptr;
  }

  // Stock clients do not say by which leader they were answered. In a calm it is known. Outside of it, what was appended in an
  // epoch is committed in that or a later one, and whoever leads in a later one tells no end before it has committed it.
  void date() {
    for (auto& send : history().sends) {
      if (auto const* calm = calm_of(send.partition, send.start, send.end)) {
        send.leader_epoch = calm->epoch;
      } else {
        auto const epoch = epoch_at(send.partition, send.base_offset);
        send.is_fully_acknowledged = epoch >= 0;
        if (epoch >= 0) send.leader_epoch = epoch + 1;
      }
    }
    for (size_t i = 0; i < history().polls.size(); ++i) {
      auto& poll = history().polls[i];
      auto const* calm = is_timed_[i] ? calm_of(poll.partition, poll.start, poll.end) : nullptr;
      if (calm != nullptr) poll.leader_epoch = calm->epoch;
    }
    for (auto& each : history().commits) {
      each.may_come_late = calm_of(each.partition, each.start, each.end) == nullptr;
    }
  }

  // Who has lost a partition hears of it late: it was surely the owner up to the last commit that was accepted.
  void own() {
    std::map<std::tuple<ClientId, GroupIndex, PartitionIndex>, Ownership> open;
    for (auto const& [client, row] : owned_) {
      auto const key = std::tuple(client, row.group, row.partition);
      if (row.what == kAssigned) {
        open[key] = {client, row.group, row.partition, -1, row.time, row.time};
        continue;
      }
      auto const found = open.find(key);
      if (found == open.end()) continue;
      auto owner = found->second;
      owner.end = row.what == kRevoked ? row.time : last_accepted(owner, row.time);
      history().ownerships.push_back(owner);
      open.erase(found);
    }
    for (auto& [key, owner] : open) {  // up to the end, or until it was killed
      owner.end = last_accepted(owner, std::numeric_limits<Nanos>::max());
      history().ownerships.push_back(owner);
    }
  }

  Nanos last_accepted(Ownership const& owner, Nanos before) const {
    auto last = owner.start;
    for (auto const& each : run_.history.commits) {
      bool const is_its = each.client == owner.client && each.group == owner.group && each.partition == owner.partition;
      if (is_its && each.outcome == Outcome::ok && each.start < before) last = std::max(last, each.start);
    }
    return last;
  }

  void finish() {
    history().are_clients_ordered = true;
    history().do_leaders_move = true;
  }

  Run run_;
  ClientId client_ = 0;
  std::string_view rest_;
  std::vector<bool> is_timed_;  // of History::polls
  std::vector<std::pair<ClientId, OwnedRow>> owned_;
  std::map<PartitionIndex, std::vector<Calm>> calm_;
  std::map<PartitionIndex, std::vector<int32_t>> epoch_at_;  // by offset, as the batches say; -1: unknown
};

}  // namespace

Run read_run(std::vector<std::string> const& paths) { return Reader().read(paths); }

}  // namespace millrace::chaos
