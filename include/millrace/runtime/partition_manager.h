// The partitions of this node: which there are, in which log directory, and the background work of the directories.
// Follows the image: what a publication creates, changes or deletes here is opened, told or removed. Publishing never
// waits for a disk; a partition that is still opening is a state of its driver.
//
// find() may be called by any thread; everything else belongs to the control reactor's thread.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "millrace/metadata/delta.h"
#include "millrace/runtime/directory_assignments.h"
#include "millrace/runtime/log_cleaner.h"
#include "millrace/runtime/partition_driver.h"
#include "millrace/runtime/partition_replication.h"
#include "millrace/storage/log_directory.h"

namespace millrace::runtime {

struct PartitionManagerOptions {
  BrokerId node_id;
  TopicConfig topic_defaults;                        // log.* and the like, as the node has them
  Duration retention_check_interval = 5min;          // log.retention.check.interval.ms
  Duration producer_check_interval = 10min;          // how often silent producers are dropped
  LogCleanerOptions cleaner;
  ReplicationOptions replication;
  // Of this life of the process, where it registers as a broker. Until an image shows that registration, it tells what
  // earlier lives were to do: no partition is told its role.
  std::optional<Uuid> incarnation_id = std::nullopt;
  bool is_broker = true;
};

class PartitionManager {
 public:
  static constexpr size_t kOpeningMax = 64;          // jobs outstanding
  static constexpr Duration kFlushTickMin = 100ms;
  static constexpr Duration kFlushTickMax = 1s;
  static constexpr Duration kSpaceCheckInterval = 10s;

  // Directories outlive the manager.
  PartitionManager(env::Env& env, RunLists& run_lists, std::vector<storage::LogDirectory*> directories,
                   PartitionManagerOptions options);
  ~PartitionManager();

  std::shared_ptr<PartitionDriver> find(TopicIdPartition const& id) const;
  std::vector<std::shared_ptr<PartitionDriver>> all() const;  // by id

  std::vector<storage::LogDirectory*> const& directories() const { return directories_; }  // any thread

  // Lists what the directories hold; then `ready` runs and publications may come.
  void start(Callback<void(Status)> ready);
  void on_publication(metadata::Publication const& publication);
  // Whom leaders ask for other in-sync sets, and who is told where replicas lie. Before start(); it outlives this.
  void set_controller(ControllerClient* controller) {
    replication_.set_controller(controller);
    assignments_.set_controller(controller);
  }
  PartitionReplication const& replication() const { return replication_; }
  // This node has joined, as a broker with its registration: its replicas may fetch from others under that epoch.
  void set_broker_epoch(int64_t epoch);
  // The node's file was read again; open partitions follow.
  void reload(PartitionManagerOptions of_file);
  // The directory went out of service: its partitions answer so. Told by whoever set the directory's handler.
  void on_directory_offline(storage::LogDirectory& directory);
  // Closes every log cleanly, then the directories with `broker_epoch`: their marks are the last that is written. Logs
  // that are not open yet stay as they are if their last owner had stopped cleanly; otherwise they are recovered first.
  // Where the last owner's end is not dealt with yet, the next start is to meet it again: there is no mark. One that
  // has not registered (-1) leaves the epoch of the marks that it found, and no mark if there was none.
  void stop(int64_t broker_epoch, Callback<void(Status)> done);

  size_t opening_count() const { return opening_.size() + opening_in_flight_; }
  // Runs once no partition of the publications so far is opening.
  void when_all_open(Task task);

 private:
  struct Found {
    storage::LogDirectory* directory{};
    storage::PartitionDirectory entry;
  };
  struct Opening {
    std::shared_ptr<PartitionDriver> driver;
    storage::LogDirectory* directory{};
    std::optional<storage::PartitionDirectory> existing = std::nullopt;
  };

  void add(TopicIdPartition const& id, std::string const& topic, metadata::PartitionImage const& partition,
           metadata::Image const& image);
  bool is_registered_in(metadata::Image const& image) const;
  void tell_all_roles(metadata::Image const& image);
  void tell_role(std::shared_ptr<PartitionDriver> const& driver, metadata::PartitionImage const& partition,
                 metadata::Image const& image);
  void remove(TopicIdPartition const& id);
  void set_strays_aside(metadata::Image const& image);
  void set_aside(storage::PartitionDirectory const& entry, storage::LogDirectory& directory);
  storage::LogDirectory* choose_directory(metadata::PartitionImage const& partition);
  void open_next();
  void tell_directories(Status (storage::LogDirectory::*what)());  // those that are online; a failure is logged
  void maybe_recovered();
  bool may_leave_mark(storage::LogDirectory const& directory) const;
  void on_opened(Opening opening, Result<std::shared_ptr<storage::PartitionLog>> log);
  void compare_directory(TopicIdPartition const& id, metadata::Image const& image);
  void reconfigure_all();
  bool update_topic_defaults(metadata::Publication const& publication);  // false: they are as before
  void apply_cluster_configs();
  void reconfigure(metadata::Image const& image, std::string const& topic);
  void arm_flush(storage::LogDirectory& directory, Mono when);
  void arm_space_check();
  void arm_retention();
  void arm_producer_check();
  void schedule_unlink(storage::LogDirectory& directory, Duration delay);
  void close_logs(std::set<PartitionDriver const*> const& unopened, int64_t broker_epoch, Callback<void(Status)> done);
  void stop_directories(int64_t broker_epoch, Callback<void(Status)> done);
  // A pool job of the directory that stop() waits for.
  void run_on(storage::LogDirectory& directory, Task job, Task done);
  void when_idle(Task task);
  env::Reactor& reactor() { return run_lists_.control().reactor(); }

  env::Env& env_;
  RunLists& run_lists_;
  std::vector<storage::LogDirectory*> const directories_;
  PartitionManagerOptions const options_;
  TopicConfig file_topic_defaults_;
  LogCleanerOptions file_cleaner_options_;
  TopicConfig topic_defaults_;                       // with what was set in the cluster
  metadata::ImagePtr image_;                         // the last one; null: none yet

  mutable std::shared_mutex table_mutex_;
  std::unordered_map<TopicIdPartition, std::shared_ptr<PartitionDriver>> table_;

  std::multimap<TopicPartition, Found> found_;       // on disk, not yet claimed by the image
  std::map<storage::LogDirectory*, size_t> partition_counts_;
  std::map<TopicIdPartition, storage::LogDirectory*> placed_;
  std::set<TopicPartition> removing_;                // the name is taken until its directory is renamed
  std::deque<Opening> opening_;
  std::vector<Opening> blocked_;                     // wait for a removal of the same name
  size_t opening_in_flight_ = 0;
  std::vector<Task> when_all_open_;
  std::set<storage::LogDirectory const*> with_unrecovered_;  // a log of theirs could not be opened
  std::set<TopicIdPartition> lost_;                  // could not be opened, though their directories are in service
  size_t job_count_ = 0;
  std::vector<Task> when_idle_;
  storage::RetentionClock retention_clock_;
  LogCleaner cleaner_;
  PartitionReplication replication_;
  DirectoryAssignments assignments_;
  Random random_;
  bool is_first_publication_ = true;
  bool are_found_opened_ = false;                    // what the first publication claims of what was on disk
  bool may_tell_roles_ = false;                      // this life's registration has been published
  bool is_registered_ = false;
  bool is_stopping_ = false;
};

}  // namespace millrace::runtime
