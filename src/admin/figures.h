// Everything that /metrics, /lag and /hot show, as of one moment. Nothing is counted here: the figures are read where
// they live.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hot.h"
#include "millrace/admin/admin.h"
#include "millrace/broker/local_node.h"
#include "millrace/runtime/group_lag.h"

namespace millrace::admin {

struct TopicFigures {
  int64_t partitions = 0, leading = 0;
  int64_t log_bytes = 0;
  int64_t bytes_in = 0, records_in = 0, bytes_out = 0;  // since the partitions were opened
  void add(TopicFigures const& other);
};

struct DirectoryFigures {
  std::string path;
  int64_t total_bytes = 0, free_bytes = 0;
};

struct ProcessFigures {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double start_seconds = 0;  // since 1970
  int64_t descriptors = 0, descriptors_max = 0;
  int64_t threads = 0;
};
ProcessFigures process_figures();

// Where topics are labels: what is over the limit is one row.
inline constexpr std::string_view kOtherTopics = "(other)";  // no topic can have this name

struct Figures {
  broker::LocalNode::Phase phase{};
  bool is_ready = false;
  bool has_node = false;  // the control reactor answered
  bool is_active_controller = false;
  BrokerId node_id;
  broker::LocalNode::Figures node;
  net::NetStats net;
  broker::RequestFigures requests;
  std::vector<runtime::GroupLag> lags;
  std::map<std::string, TopicFigures> topics;
  std::vector<DirectoryFigures> directories;
  ProcessFigures process;
  double collect_seconds = 0;
};

// Belongs to the thread that collects.
class Collector {
 public:
  Collector(env::Env& env, broker::LocalNode& node, AdminOptions const& options);

  // Asks the control reactor; waits for it at most kStateMax. `group_id`: only this group's offsets.
  static constexpr Duration kStateMax = 2s;
  Figures collect(std::optional<std::string> const& group_id = std::nullopt);
  // Now and then, also while nobody asks.
  void sample();
  std::string hot(std::optional<std::string> const& topic, std::optional<int32_t> partition);
  // The least that readiness needs.
  static Figures collect_state(env::Env& env, broker::LocalNode& node);

 private:
  // False: the control reactor does not answer in time.
  bool ask_node(runtime::FiguresRequest request, broker::LocalNode::Figures& out);
  void find_lags(Figures& out, bool is_complete);
  void find_topics(Figures& out);

  env::Env& env_;
  broker::LocalNode& node_;
  AdminOptions const options_;
  runtime::LagTracker lag_tracker_;
  HotPartitions hot_;
  std::set<std::string> named_topics_;  // that have rows of their own, and keep them
};

}  // namespace millrace::admin
