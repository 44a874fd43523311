// The registry of metrics: one table says of each its name, meaning, labels, what Kafka calls it, and how it is read.
// /metrics, docs/metrics.md and the tests are made from it. Nothing is kept between scrapes. Every label has a bounded
// number of values.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "figures.h"

namespace millrace::admin {

enum class MetricKind : uint8_t { counter, gauge, histogram };

// Where one metric puts its values.
class Samples {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  virtual ~Samples() = default;
  virtual void add(double value, Labels labels = {}) = 0;
  virtual void add_histogram(broker::ApiFigures const& api, Labels labels) = 0;
  template <class T>
  void add(T value, Labels labels = {}) {
    add(static_cast<double>(value), labels);
  }
};

struct Metric {
  std::string_view name;    // without "millrace_"
  MetricKind kind{};
  std::string_view labels;  // "group, topic, partition"
  std::string_view help;
  std::string_view kafka;   // the JMX names that show the same; empty: Kafka has none
  void (*collect)(Figures const& figures, Samples& out) = nullptr;
};

std::span<Metric const> metrics();
std::string_view phase_name(broker::LocalNode::Phase phase);
std::string metrics_text(Figures const& figures);
}  // namespace millrace::admin
