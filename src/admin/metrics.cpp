#include "metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

namespace millrace::admin {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class FamilySamples final : public Samples {
 public:
  explicit FamilySamples(MetricFamily& family) : family_(family) {}
  void add(double value, Labels labels) override {
    auto& metric = make(labels);
    if (family_.type == MetricType::Counter) metric.counter.value = value;
    else metric.gauge.value = value;
  }
  void add_histogram(broker::ApiFigures const& api, Labels labels) override {
    auto& histogram = make(labels).histogram;
    uint64_t total = 0;
    for (size_t i = 0; i < api.times.size(); ++i) {
      total += static_cast<uint64_t>(api.times[i]);
      auto const bound = i < broker::kRequestSeconds.size() ? broker::kRequestSeconds[i]
                                                            : std::numeric_limits<double>::infinity();
      histogram.bucket.push_back({total, bound});
    }
    histogram.sample_count = total;
    histogram.sample_sum = api.timed_seconds;
  }

 private:
  ClientMetric& make(Labels labels) {
    auto& metric = family_.metric.emplace_back();
    for (auto const& [name, value] : labels) metric.label.push_back({std::string(name), std::string(value)});
    return metric;
  }
  MetricFamily& family_;
};

MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter: return MetricType::Counter;
    case MetricKind::gauge: return MetricType::Gauge;
    case MetricKind::histogram: return MetricType::Histogram;
  }
  return MetricType::Untyped;
}

std::string_view name_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter: return "counter";
    case MetricKind::gauge: return "gauge";
    case MetricKind::histogram: return "histogram";
  }
  return "";
}

class NodeCollectable final : public prometheus::Collectable {
 public:
  explicit NodeCollectable(Figures const& figures) : figures_(figures) {}

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> out;
    out.reserve(metrics().size());
    for (auto const& metric : metrics()) {
      auto& family = out.emplace_back();
      family.name = fmt::format("millrace_{}", metric.name);
      family.help = metric.help;
      family.type = type_of(metric.kind);
      FamilySamples samples(family);
      metric.collect(figures_, samples);
      if (family.metric.empty()) out.pop_back();
    }
    return out;
  }

 private:
  Figures const& figures_;
};

}  // namespace

std::string_view phase_name(broker::LocalNode::Phase phase) {
  switch (phase) {
    case broker::LocalNode::Phase::stopped: return "stopped";
    case broker::LocalNode::Phase::opening: return "opening";
    case broker::LocalNode::Phase::loading: return "loading";
    case broker::LocalNode::Phase::joining: return "joining";
    case broker::LocalNode::Phase::serving: return "serving";
    case broker::LocalNode::Phase::stopping: return "stopping";
  }
  return "unknown";
}

std::string metrics_text(Figures const& figures) {
  return prometheus::TextSerializer().Serialize(NodeCollectable(figures).Collect());
}

std::string metrics_markdown() {
  std::string out =
      "# Metrics\n\n"
      "`GET /metrics` of the admin listener (`millrace.admin.listener`, by default 127.0.0.1:9644) answers these in Prometheus' text\n"
      "format. This page is made from the registry (src/admin/metrics_table.cpp); a test fails when it is stale, and\n"
      "`MR_WRITE_DOCS=1 build/release/tests/test_admin` writes it anew.\n\n"
      "* Every label has a bounded number of values: `api` and `error` those of the protocol, `group`, `topic` and `partition` together\n"
      "  at most `millrace.metrics.group.partitions.max` (what is left out is counted), `topic` alone at most `millrace.metrics.topics.max`\n"
      "  (all further topics are one, `(other)`).\n"
      "* Counters begin at 0 when the process starts.\n"
      "* Times of requests: the first 1,024 of each API and thread are timed, and then one in sixteen.\n"
      "* A ready-made Grafana dashboard is config/grafana/millrace.json.\n\n"
      "| metric | kind | labels | meaning | in Kafka (JMX) |\n|---|---|---|---|---|\n";
  for (auto const& metric : metrics()) {
    out += fmt::format("| `millrace_{}` | {} | {} | {} | {} |\n", metric.name, name_of(metric.kind),
                       metric.labels.empty() ? "" : fmt::format("`{}`", metric.labels), metric.help, metric.kafka);
  }
  out += "\n## Kafka's names\n\nWhat a dashboard made for Kafka's JMX metrics asks for, and what to ask here.\n\n| Kafka | Millrace |\n|---|---|\n";
  std::map<std::string, std::string> by_kafka;
  for (auto const& metric : metrics()) {
    for (auto rest = metric.kafka; !rest.empty();) {
      auto const end = rest.find("; ");
      auto const one = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 2);
      auto& to = by_kafka[std::string(one)];
      to += fmt::format("{}`millrace_{}`", to.empty() ? "" : ", ", metric.name);
    }
  }
  for (auto const& [kafka, ours] : by_kafka) out += fmt::format("| {} | {} |\n", kafka, ours);
  return out;
}

}  // namespace millrace::admin
