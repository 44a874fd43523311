#include "metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

namespace millrace::admin {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily family(MetricType type, std::string name, std::string help) {
  MetricFamily out;
  out.name = "millrace_" + std::move(name);
  out.help = std::move(help);
  out.type = type;
  return out;
}

void add(MetricFamily& to, double value, std::string label = {}, std::string label_value = {}) {
  ClientMetric metric;
  if (!label.empty()) metric.label.push_back({std::move(label), std::move(label_value)});
  if (to.type == MetricType::Counter) metric.counter.value = value;
  else metric.gauge.value = value;
  to.metric.push_back(std::move(metric));
}

class NodeCollectable final : public prometheus::Collectable {
 public:
  explicit NodeCollectable(Snapshot const& snapshot) : snapshot_(snapshot) {}

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> out;
    auto const gauge = [&](std::string name, std::string help, auto value) {
      add(out.emplace_back(family(MetricType::Gauge, std::move(name), std::move(help))), static_cast<double>(value));
    };
    auto const counter = [&](std::string name, std::string help, auto value) {
      add(out.emplace_back(family(MetricType::Counter, std::move(name), std::move(help))), static_cast<double>(value));
    };
    auto& requests = out.emplace_back(family(MetricType::Counter, "requests_total", "Requests that came, by API."));
    for (auto const& [api, count] : snapshot_.requests) add(requests, static_cast<double>(count), "api", std::string(api));
    auto const& net = snapshot_.net;
    counter("received_bytes_total", "Bytes received from clients and other nodes.", net.bytes_in);
    counter("sent_bytes_total", "Bytes of answers.", net.bytes_out);
    gauge("connections", "Open connections.", net.connections);
    counter("connections_accepted_total", "Connections accepted.", net.connections_accepted);
    counter("connections_refused_total", "Connections closed at once because of a limit.", net.connections_refused);
    counter("connections_stalled_total", "Connections closed inside a request because others waited for its memory.",
            net.connections_stalled);
    gauge("request_bytes", "Memory held by requests, complete or not.", net.request_bytes);
    gauge("request_bytes_max", "Memory that requests may hold (queued.max.request.bytes).", net.request_bytes_max);
    auto const& state = snapshot_.state;
    gauge("partitions", "Partitions with a replica on this node.", state.partitions);
    gauge("partitions_leading", "Partitions that this node leads.", state.leaders);
    gauge("partitions_opening", "Partitions whose log is still being opened or recovered.", state.opening);
    gauge("partitions_offline", "Partitions whose log directory failed.", state.offline);
    gauge("log_bytes", "Bytes of all partitions' logs.", state.log_bytes);
    gauge("log_directories", "Log directories, the metadata log's included.", state.log_directories);
    gauge("log_directories_offline", "Log directories out of service.", state.offline_directories);
    gauge("controller_known", "1 when the metadata quorum has a leader.", state.has_quorum ? 1 : 0);
    gauge("ready", "1 when the node serves and every partition is open.", snapshot_.is_ready ? 1 : 0);
    counter("cpu_seconds_total", "Processor time of the process.", snapshot_.cpu_seconds);
    gauge("resident_bytes", "Resident memory of the process.", snapshot_.resident_bytes);
    return out;
  }

 private:
  Snapshot const& snapshot_;
};

}  // namespace

std::string_view phase_name(broker::LocalNode::Phase phase) {
  switch (phase) {
    case broker::LocalNode::Phase::stopped: return "stopped";
    case broker::LocalNode::Phase::opening: return "opening";
    case broker::LocalNode::Phase::loading: return "loading";
    case broker::LocalNode::Phase::serving: return "serving";
    case broker::LocalNode::Phase::stopping: return "stopping";
  }
  return "unknown";
}

std::string metrics_text(Snapshot const& snapshot) {
  return prometheus::TextSerializer().Serialize(NodeCollectable(snapshot).Collect());
}

}  // namespace millrace::admin
