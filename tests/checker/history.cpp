#include "checker/history.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace millrace::checker {
namespace {

uint64_t checksum(Value const& value) {
  uint64_t hash = 0x6d696c6c72616365ULL;
  for (uint64_t word : {static_cast<uint64_t>(value.client) << 32 | value.partition, value.sequence}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 31;
  }
  return hash;
}

char const* name(Outcome outcome) {
  return outcome == Outcome::ok ? "ok" : outcome == Outcome::failed ? "failed" : "unknown";
}

}  // namespace

std::array<std::byte, Value::kBytes> Value::bytes() const {
  std::array<std::byte, kBytes> out;
  auto const sum = checksum(*this);
  std::memcpy(out.data(), &client, 4);
  std::memcpy(out.data() + 4, &partition, 4);
  std::memcpy(out.data() + 8, &sequence, 8);
  std::memcpy(out.data() + 16, &sum, 8);
  return out;
}

std::optional<Value> Value::parse(std::span<std::byte const> bytes) {
  if (bytes.size() < kBytes) return std::nullopt;
  Value value;
  uint64_t sum = 0;
  std::memcpy(&value.client, bytes.data(), 4);
  std::memcpy(&value.partition, bytes.data() + 4, 4);
  std::memcpy(&value.sequence, bytes.data() + 8, 8);
  std::memcpy(&sum, bytes.data() + 16, 8);
  if (sum != checksum(value)) return std::nullopt;
  return value;
}

void History::add_poll(Poll poll, std::span<Observed const> seen) {
  poll.first_record = records.size();
  poll.record_count = seen.size();
  records.insert(records.end(), seen.begin(), seen.end());
  polls.push_back(poll);
}

std::string History::text(size_t lines_max) const {
  std::vector<std::pair<Nanos, std::string>> lines;
  for (auto const& s : sends) {
    lines.emplace_back(s.end, fmt::format("send client {} partition {} sequence {}+{} {} offset {} [{} {}]", s.client,
                                          s.partition, s.first_sequence, s.count, name(s.outcome), s.base_offset,
                                          s.start, s.end));
  }
  for (auto const& p : polls) {
    auto line = fmt::format("poll client {} partition {} from {} epoch {} hw {} lso {} start {} [{} {}]:", p.client,
                            p.partition, p.fetch_offset, p.leader_epoch, p.high_watermark, p.last_stable, p.log_start,
                            p.start, p.end);
    for (size_t i = 0; i < p.record_count; ++i) {
      auto const& r = records[p.first_record + i];
      line += fmt::format(" {}={}/{}", r.offset, r.value.client, r.value.sequence);
    }
    lines.emplace_back(p.end, std::move(line));
  }
  for (auto const& e : ends) {
    lines.emplace_back(e.end, fmt::format("{} client {} partition {} epoch {}: {} [{} {}]",
                                          e.is_latest ? "latest" : "earliest", e.client, e.partition, e.leader_epoch,
                                          e.offset, e.start, e.end));
  }
  for (auto const& d : deletions) {
    lines.emplace_back(d.end, fmt::format("delete partition {} before {} {} [{} {}]", d.partition, d.before_offset,
                                          name(d.outcome), d.start, d.end));
  }
  for (auto const& c : commits) {
    lines.emplace_back(c.end, fmt::format("commit client {} group {} partition {} generation {} offset {} {} [{} {}]", c.client, c.group,
                                          c.partition, c.generation, c.offset, name(c.outcome), c.start, c.end));
  }
  for (auto const& c : commit_reads) {
    lines.emplace_back(c.end, fmt::format("committed client {} group {} partition {}: {} [{} {}]", c.client, c.group, c.partition, c.offset,
                                          c.start, c.end));
  }
  for (auto const& o : ownerships) {
    lines.emplace_back(o.start, fmt::format("owner client {} group {} partition {} generation {} [{}]", o.client, o.group, o.partition,
                                            o.generation, o.start));
  }
  std::stable_sort(lines.begin(), lines.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  std::string out;
  for (size_t i = 0; i < std::min(lines.size(), lines_max); ++i) out += lines[i].second + "\n";
  for (auto const& f : final_reads) {
    out += fmt::format("final partition {} [{}, {}):", f.partition, f.log_start, f.end);
    for (auto const& r : f.records) out += fmt::format(" {}={}/{}", r.offset, r.value.client, r.value.sequence);
    out += "\n";
  }
  return out;
}

}  // namespace millrace::checker
