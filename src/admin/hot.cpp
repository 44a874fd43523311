#include "hot.h"

#include "millrace/runtime/heavy_keys.h"
#include "millrace/runtime/partition_driver.h"
#include "pages.h"

namespace millrace::admin {

namespace {

// Keys are looked for in what came in this time.
constexpr double kKeyWindowSeconds = 60;
constexpr double kKeyWindowRecordsMin = 10'000;
constexpr double kKeyWindowRecordsMax = 10'000'000;

struct Row {
  std::shared_ptr<runtime::PartitionDriver> partition;
  double bytes_in = 0, records_in = 0, bytes_out = 0;  // a second
  bool has_keys = false;
  double load() const { return bytes_in + bytes_out; }
};

// Keys are bytes: what is no UTF-8 text is shown in hexadecimal.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto const lead = static_cast<unsigned char>(text[i]);
    size_t const more = lead < 0x80 ? 0 : lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2
                        : lead >= 0xf0 && lead < 0xf5 ? 3 : 4;
    if (more == 4 || i + more >= text.size()) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

std::string key_text(std::string_view key) {
  if (is_utf8(key)) return json_text(key);
  std::string out = "\"0x";
  for (auto const c : key) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out + '"';
}

void write_keys(std::string& out, Row const& row) {
  runtime::KeySampleOptions options;
  options.record_count =
      static_cast<int64_t>(std::clamp(row.records_in * kKeyWindowSeconds, kKeyWindowRecordsMin, kKeyWindowRecordsMax));
  auto const sample = runtime::sample_keys(*row.partition, options);
  if (!sample || sample->records == 0) return;
  auto const records = static_cast<double>(sample->records);
  out += fmt::format(",\"sample\":{{\"from\":{},\"to\":{},\"records\":{},\"without_key\":{}}},\"keys\":[", sample->from,
                     sample->to, sample->records, sample->without_key);
  bool is_first = true;
  for (auto const& key : sample->keys) {
    // What may just be the counter's inheritance is no news.
    if (key.count == key.error || (sample->keys.size() > 1 && key.count <= 1)) continue;
    out += fmt::format("{}\n   {{\"key\":{},\"share\":{:.4f},\"records\":{},\"error\":{}}}",
                       std::exchange(is_first, false) ? "" : ",", key_text(key.key),
                       static_cast<double>(key.count) / records, key.count, key.error);
  }
  out += ']';
}

}  // namespace

std::optional<HotPartitions::Counts> HotPartitions::counts_of(runtime::PartitionDriver const& partition) {
  auto const status = partition.status();
  if (status != runtime::PartitionStatus::leader && status != runtime::PartitionStatus::follower) return std::nullopt;
  auto const end = partition.marks().end;
  auto const opened = partition.opened_at();
  return Counts{std::max<int64_t>(end.position - opened.position, 0), std::max<int64_t>(end.offset - opened.offset, 0),
                partition.fetched_bytes()};
}

void HotPartitions::sample(broker::LocalNode::Figures const& figures, Mono now) {
  older_ = std::move(newer_);
  newer_ = {now, {}};
  for (auto const& partition : figures.partitions) {
    if (auto const counts = counts_of(*partition)) newer_.counts.emplace(partition->identity().id, *counts);
  }
}

std::string HotPartitions::json(broker::LocalNode::Figures const& figures, BrokerId node_id, Mono now,
                                std::optional<std::string> const& topic, std::optional<int32_t> partition) const {
  auto const& since = now - newer_.at >= kSpanMin ? newer_ : older_;
  auto const seconds = std::max(static_cast<double>((now - since.at).count()) / 1e9, 0.001);
  std::vector<Row> rows;
  for (auto const& one : figures.partitions) {
    auto const& name = one->identity().name;
    if ((topic && name.topic != *topic) || (partition && name.partition != *partition)) continue;
    auto const counts = counts_of(*one);
    if (!counts) continue;
    auto const at = since.counts.find(one->identity().id);
    auto const before = at == since.counts.end() ? Counts{} : at->second;
    auto const rate = [&](int64_t a, int64_t b) { return static_cast<double>(std::max<int64_t>(a - b, 0)) / seconds; };
    rows.push_back({one, rate(counts->bytes_in, before.bytes_in), rate(counts->records_in, before.records_in),
                    rate(counts->bytes_out, before.bytes_out)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](Row const& a, Row const& b) { return a.load() > b.load(); });
  auto const keyed = topic ? kKeyedMax : kKeyedDefault;
  for (size_t i = 0; i < rows.size() && i < keyed; ++i) rows[i].has_keys = topic || rows[i].bytes_in > 0;

  // Topics in the order of their busiest partition.
  struct Topic {
    std::vector<Row const*> rows;
    double bytes_in = 0, records_in = 0, bytes_out = 0, bytes_in_max = 0, bytes_out_max = 0;
  };
  std::vector<std::pair<std::string_view, Topic>> topics;
  std::unordered_map<std::string_view, size_t> places;
  for (auto const& row : rows) {
    std::string_view const name = row.partition->identity().name.topic;
    auto const [at, is_new] = places.try_emplace(name, topics.size());
    if (is_new) topics.emplace_back(name, Topic{});
    auto& one = topics[at->second].second;
    one.rows.push_back(&row);
    one.bytes_in += row.bytes_in;
    one.records_in += row.records_in;
    one.bytes_out += row.bytes_out;
    one.bytes_in_max = std::max(one.bytes_in_max, row.bytes_in);
    one.bytes_out_max = std::max(one.bytes_out_max, row.bytes_out);
  }
  auto out = fmt::format("{{\"node\":{},\"seconds\":{:.1f},\"topics\":[", node_id, seconds);
  bool is_first = true;
  for (auto const& [name, one] : topics) {
    if (!topic && one.bytes_in + one.bytes_out <= 0) continue;
    // The busiest partition's share over an even share: 1 is even.
    auto const skew = [&](double largest, double sum) {
      return sum > 0 ? largest * static_cast<double>(one.rows.size()) / sum : 1.0;
    };
    out += fmt::format("{}\n{{\"topic\":{},\"bytes_in_per_second\":{:.1f},\"records_in_per_second\":{:.1f},"
                       "\"bytes_out_per_second\":{:.1f},\"skew_in\":{:.2f},\"skew_out\":{:.2f},\"partitions\":[",
                       std::exchange(is_first, false) ? "" : ",", json_text(name), one.bytes_in, one.records_in,
                       one.bytes_out, skew(one.bytes_in_max, one.bytes_in), skew(one.bytes_out_max, one.bytes_out));
    bool is_first_row = true;
    for (auto const* row : one.rows) {
      out += fmt::format("{}\n {{\"partition\":{},\"bytes_in_per_second\":{:.1f},\"records_in_per_second\":{:.1f},"
                         "\"bytes_out_per_second\":{:.1f}",
                         std::exchange(is_first_row, false) ? "" : ",", row->partition->identity().name.partition,
                         row->bytes_in, row->records_in, row->bytes_out);
      if (row->has_keys) write_keys(out, *row);
      out += '}';
    }
    out += "]}";
  }
  return out + "]}\n";
}

}  // namespace millrace::admin
