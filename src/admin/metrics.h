// The node's figures as Prometheus text. Nothing is kept between scrapes: one collection reads the counters where they
// live. Labels are API names only, so their number is bounded.
#pragma once
#include <string>

#include "millrace/broker/local_node.h"

namespace millrace::admin {

struct Snapshot {
  broker::LocalNode::Phase phase{};
  bool is_ready = false;
  broker::LocalNode::State state;
  net::NetStats net;
  std::vector<std::pair<std::string_view, int64_t>> requests;
  double cpu_seconds = 0;
  double resident_bytes = 0;
};

std::string_view phase_name(broker::LocalNode::Phase phase);
std::string metrics_text(Snapshot const& snapshot);

}  // namespace millrace::admin
