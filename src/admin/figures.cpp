#include "figures.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <future>

#include "millrace/metadata/image.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::admin {

namespace {

constexpr size_t kOneGroupOffsetsMax = 1'000'000;

// A file of /proc as text; empty when it cannot be read.
std::string proc_text(char const* path) {
  std::unique_ptr<FILE, int (*)(FILE*)> const file(std::fopen(path, "re"), std::fclose);
  if (!file) return {};
  std::string out(4096, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file.get()));
  return out;
}

int64_t count_descriptors() {
  std::unique_ptr<DIR, int (*)(DIR*)> const directory(::opendir("/proc/self/fd"), ::closedir);
  if (!directory) return 0;
  int64_t count = -3;  // ".", ".." and the one that lists
  while (::readdir(directory.get()) != nullptr) ++count;
  return count;
}

// When the process began, from the start time that the kernel counts in ticks since it booted.
double start_seconds() {
  auto const stat = proc_text("/proc/self/stat");
  auto const uptime = proc_text("/proc/uptime");
  auto at = stat.rfind(')');
  if (at == std::string::npos || uptime.empty()) return 0;
  constexpr int kFieldsToStartTime = 20;  // after the command's name
  for (int i = 0; i < kFieldsToStartTime && at != std::string::npos; ++i) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  auto const started = std::strtod(stat.c_str() + at, nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(std::time(nullptr)) - (std::strtod(uptime.c_str(), nullptr) - started);
}

// The replicas of this node, in the order in which they are asked for.
class NodeLagSource final : public runtime::LagSource {
 public:
  NodeLagSource(broker::LocalNode const& node, metadata::Image const& image) : node_(node), image_(image) {}

  std::optional<Marks> find(runtime::GroupOffset const& offset) override {
    if (topic_ == nullptr || topic_name_ != offset.topic) {
      topic_ = image_.find_topic(offset.topic);
      topic_name_ = offset.topic;
    }
    if (topic_ == nullptr) return std::nullopt;
    partition_ = node_.partition({topic_->id, offset.partition});
    if (partition_ == nullptr) return std::nullopt;
    auto const status = partition_->status();
    if (status != runtime::PartitionStatus::leader && status != runtime::PartitionStatus::follower) return std::nullopt;
    auto const marks = partition_->marks();
    return Marks{marks.log_start, marks.high_watermark.offset};
  }
  std::optional<int64_t> append_time_ms(Offset offset) override { return partition_->append_time_ms(offset); }

 private:
  broker::LocalNode const& node_;
  metadata::Image const& image_;
  std::string topic_name_;
  metadata::TopicImage const* topic_ = nullptr;
  std::shared_ptr<runtime::PartitionDriver> partition_;
};

}  // namespace

ProcessFigures process_figures() {
  ProcessFigures out;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    auto const seconds = [](timeval const& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    out.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  long total = 0, resident = 0;
  if (std::sscanf(proc_text("/proc/self/statm").c_str(), "%ld %ld", &total, &resident) == 2) {
    out.resident_bytes = static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  auto const status = proc_text("/proc/self/status");
  if (auto const at = status.find("Threads:"); at != std::string::npos) {
    out.threads = std::strtol(status.c_str() + at + 8, nullptr, 10);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) out.descriptors_max = static_cast<int64_t>(limit.rlim_cur);
  out.descriptors = count_descriptors();
  out.start_seconds = start_seconds();
  return out;
}

void TopicFigures::add(TopicFigures const& other) {
  partitions += other.partitions;
  leading += other.leading;
  log_bytes += other.log_bytes;
  bytes_in += other.bytes_in;
  records_in += other.records_in;
  bytes_out += other.bytes_out;
}

Collector::Collector(env::Env& env, broker::LocalNode& node, AdminOptions const& options)
    : env_(env), node_(node), options_(options), lag_tracker_(options.stuck_after), hot_(env.control_reactor().now()) {}

Figures Collector::collect_state(env::Env& env, broker::LocalNode& node) {
  Figures out;
  // The reactor may be busy for longer than we wait, so what it fills is shared.
  auto const filled = std::make_shared<std::promise<broker::LocalNode::State>>();
  auto future = filled->get_future();
  env.control_reactor().post([filled, &node] { filled->set_value(node.state()); });
  out.has_node = future.wait_for(kStateMax) == std::future_status::ready;
  if (out.has_node) out.node.state = future.get();
  out.phase = node.phase();
  out.is_ready = out.has_node && out.phase == broker::LocalNode::Phase::serving && out.node.state.has_quorum &&
                 out.node.state.opening == 0;
  return out;
}

bool Collector::ask_node(runtime::FiguresRequest request, broker::LocalNode::Figures& out) {
  auto const filled = std::make_shared<std::promise<broker::LocalNode::Figures>>();
  auto future = filled->get_future();
  env_.control_reactor().post([filled, node = &node_, request = std::move(request)] {
    node->figures(request, [filled](broker::LocalNode::Figures figures) { filled->set_value(std::move(figures)); });
  });
  if (future.wait_for(kStateMax) != std::future_status::ready) return false;
  out = future.get();
  return true;
}

void Collector::sample() {
  auto const figures = collect();
  if (figures.has_node) hot_.sample(figures.node, env_.control_reactor().now());
}

std::string Collector::hot(std::optional<std::string> const& topic, std::optional<int32_t> partition) {
  broker::LocalNode::Figures figures;
  ask_node({.group_id = std::nullopt, .offset_count_max = 0}, figures);
  return hot_.json(figures, node_.node_id(), env_.control_reactor().now(), topic, partition);
}

Figures Collector::collect(std::optional<std::string> const& group_id) {
  auto const begun = env_.control_reactor().now();
  Figures out;
  out.has_node = ask_node({group_id, group_id ? kOneGroupOffsetsMax : options_.group_partitions_max}, out.node);
  out.phase = node_.phase();
  out.is_ready = out.has_node && out.phase == broker::LocalNode::Phase::serving && out.node.state.has_quorum &&
                 out.node.state.opening == 0;
  out.node_id = node_.node_id();
  out.is_active_controller = out.has_node && out.node.quorum.leader == node_.node_id();
  out.net = node_.net_stats();
  out.requests = node_.request_figures();
  out.process = process_figures();
  for (auto const& path : node_.log_directories()) {
    auto const space = env_.disk().space(path);
    if (space) out.directories.push_back({path, space->total_bytes, space->free_bytes});
  }
  find_lags(out, !group_id);
  find_topics(out);
  out.collect_seconds = static_cast<double>((env_.control_reactor().now() - begun).count()) / 1e9;
  return out;
}

void Collector::find_lags(Figures& out, bool is_complete) {
  if (out.node.image == nullptr) return;
  NodeLagSource source(node_, *out.node.image);
  out.lags = lag_tracker_.update(out.node.groups.groups, is_complete, source, env_.control_reactor().now(),
                                 env_.wall_now());
}

void Collector::find_topics(Figures& out) {
  std::map<std::string, TopicFigures> all;
  for (auto const& partition : out.node.partitions) {
    auto& topic = all[partition->identity().name.topic];
    ++topic.partitions;
    auto const status = partition->status();
    if (status == runtime::PartitionStatus::opening) continue;
    if (status == runtime::PartitionStatus::leader) ++topic.leading;
    topic.log_bytes += partition->size_bytes();
    auto const end = partition->marks().end;
    auto const opened = partition->opened_at();
    topic.bytes_in += std::max<int64_t>(end.position - opened.position, 0);
    topic.records_in += std::max<int64_t>(end.offset - opened.offset, 0);
    topic.bytes_out += partition->fetched_bytes();
  }
  std::erase_if(named_topics_, [&](auto const& name) { return !all.contains(name); });
  for (auto const& [name, figures] : all) {
    if (named_topics_.size() < options_.topics_max) named_topics_.insert(name);
    auto const has_row = named_topics_.contains(name);
    out.topics[has_row ? name : std::string(kOtherTopics)].add(figures);
  }
}

}  // namespace millrace::admin
