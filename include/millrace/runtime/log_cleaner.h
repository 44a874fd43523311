// Compacts the partitions of a node, the dirtiest first, with few passes at a time and bounded memory. What a pass
// reads and writes goes through the directories' pools in small steps; a partition's driver only lends its log to begin
// and to exchange segments.
//
// Belongs to the control reactor's thread. Outlives nothing: who destroys it has stopped the reactor's tasks.
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "millrace/runtime/partition_driver.h"
#include "millrace/storage/compaction.h"

namespace millrace::runtime {

struct LogCleanerOptions {
  bool is_enabled = true;               // log.cleaner.enable
  Duration backoff = 15s;               // log.cleaner.backoff.ms: the wait when nothing was to be done
  size_t pass_count_max = 1;            // log.cleaner.threads: passes at one time
  int64_t key_map_bytes_max = 128_MiB;  // log.cleaner.dedupe.buffer.size, of all passes
  double bytes_per_second_max = std::numeric_limits<double>::max();  // log.cleaner.io.max.bytes.per.second, of all passes
};

// `of_file` with the keys that were set in the cluster for `node` or for all.
LogCleanerOptions cleaner_options_with_cluster_configs(LogCleanerOptions of_file, metadata::Image const& image, BrokerId node);

class LogCleaner {
 public:
  static constexpr int64_t kStepBytes = 4 << 20;  // one job
  static constexpr Duration kBackoffMin = 10ms;   // however small the setting is

  using Partitions = std::function<std::vector<std::shared_ptr<PartitionDriver>>()>;
  LogCleaner(env::Env& env, RunLists& run_lists, Partitions partitions, LogCleanerOptions options);
  ~LogCleaner();

  void start();
  // From now on. Passes that run go on with the memory that they have; there may be more of them than are allowed anew
  // until they end. Whether there is a cleaner at all stays as it was.
  void set_options(LogCleanerOptions const& options);
  // No step and no exchange begins after this.
  void stop() { is_stopping_ = true; }

 private:
  struct Pass {
    std::shared_ptr<PartitionDriver> partition;
    std::shared_ptr<storage::Compaction> compaction;
    Mono begun{};
    Result<storage::Compaction::Next> next = storage::Compaction::Next::step;
  };
  struct Look;

  void divide_memory();
  void arm(Duration wait);
  void look();
  void choose(Look& look);
  void begin(std::shared_ptr<PartitionDriver> partition);
  void step(std::shared_ptr<Pass> const& pass);
  void on_step(std::shared_ptr<Pass> const& pass, int64_t bytes_before);
  void install(std::shared_ptr<Pass> const& pass);
  void end(std::shared_ptr<Pass> const& pass, Status status);
  env::Reactor& reactor() { return run_lists_.control().reactor(); }

  env::Env& env_;
  RunLists& run_lists_;
  Partitions const partitions_;
  LogCleanerOptions options_;
  storage::RetentionClock clock_;  // a clock that leaps ahead must not end the time of tombstones
  storage::CompactionRules rules_;
  std::set<TopicIdPartition> running_;
  std::set<TopicIdPartition> uncleanable_;  // a batch fails its check: until the next start
  bool is_started_ = false;
  bool is_armed_ = false;
  bool is_looking_ = false;
  bool is_stopping_ = false;
};

}  // namespace millrace::runtime
