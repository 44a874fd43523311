// One entry of log.dirs: its identity and lock, the partitions in it, checkpoints, background write-out, and whether
// it is in service. All calls may be made from any thread; those marked *blocks* wait for the disk.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/hooks.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/base/units.h"
#include "millrace/env/disk.h"
#include "millrace/storage/file_cache.h"
#include "millrace/storage/log_config.h"

namespace millrace::storage {

class PartitionLog;
class PlainLog;
enum class LogKind : uint8_t;

inline constexpr std::string_view kClusterMetadataTopic = "__cluster_metadata";

// How the last owner of the directory ended. Only `machine_lost` may have lost bytes that were written; a call of the
// disk that failed counts as that too, since a failed sync may drop what it should have written.
enum class PreviousStop { first_start, clean, process_killed, machine_lost };

struct LogDirectoryOptions {
  std::string path;
  std::optional<std::string> cluster_id;  // none: what meta.properties says; a directory without it then refuses
  BrokerId node_id;
  DirectoryId fresh_directory_id;  // for a directory that has none; not zero, not one of the reserved ids
  std::string boot_id;
  Wall now;                            // for the date in meta.properties
  int64_t low_space_bytes = 1_GiB;     // below this many free bytes Produce is refused
  int64_t ballast_bytes = 0;           // kept in a file that a start gives up when nothing else is free; 0: none
  int64_t preallocate_bytes = 64_MiB;  // largest step in which blocks are reserved; 0: none
  Duration flush_interval = 1s;        // longest time that bytes stay unsynced ...
  int64_t flush_bytes = 64_MiB;        // ... and most of them per partition
  Duration checkpoint_interval = 5s;   // high watermarks
  bool is_flush_promised = false;      // nothing here is acknowledged before it is synced; see withdraw_flush_promise()
  bool keeps_cut_bytes = true;         // a tail cut after a lost machine stays in a side file
  Logger* log = &Logger::none();
  Hooks* hooks = &Hooks::none();
};

struct PartitionDirectory {
  std::string name;  // of the directory
  TopicPartition topic_partition;
  std::optional<TopicId> topic_id;  // from partition.metadata
  bool is_future{};                 // `-future`: a replica moving in from another directory
  // Records of it were synced, and its id with them. Where that is gone, the file was damaged.
  bool was_synced{};
};

class LogDirectory {
 public:
  // *blocks* Locks the directory, makes it if it is missing, checks identity. invalid: another cluster's, node's or
  // version's directory, or one in use; nothing was changed then. Removes the clean-stop mark, durably.
  static Result<std::unique_ptr<LogDirectory>> open(env::Disk& disk, FileCache& files, LogDirectoryOptions options);
  ~LogDirectory();
  LogDirectory(LogDirectory const&) = delete;
  LogDirectory& operator=(LogDirectory const&) = delete;

  std::string const& path() const { return options_.path; }
  DirectoryId directory_id() const { return directory_id_; }
  std::string const& cluster_id() const { return cluster_id_; }
  PreviousStop previous_stop() const { return previous_stop_; }
  // The broker epoch in the mark of the last clean stop, -1 if it tells none. None: a process before this one has
  // registered since, or there was no such stop.
  std::optional<int64_t> marked_epoch() const { return marked_epoch_; }
  // Since its last clean start nothing was acknowledged here that was not synced: a lost machine took none of it.
  bool kept_flush_promise() const { return kept_flush_promise_; }
  // The disk failed the last owner on this boot: the page cache may show bytes that will never reach it.
  bool is_cache_suspect() const { return is_cache_suspect_; }

  // *blocks* Partition directories, the metadata log left out. Finishes the removal of `-delete` directories later
  // (remove_deleted_step). invalid: a directory name that no broker writes.
  Result<std::vector<PartitionDirectory>> partitions();

  // *blocks* exists: there is one already.
  Result<std::shared_ptr<PartitionLog>> create_log(TopicPartition const& partition, TopicId topic_id,
                                                   LogConfig const& config, Wall now);
  // *blocks* Recovers. corrupt: bytes below the recovery point, or above it after a mere process kill, fail their
  // check and valid ones follow: nothing was cut, the replica must be repaired from a peer. Others are unaffected.
  Result<std::shared_ptr<PartitionLog>> open_log(PartitionDirectory const& directory, LogConfig const& config,
                                                 Wall now);
  // *blocks* All logs that were there have been opened. Until this is called, a process that dies after a machine was
  // lost counts as one more lost machine.
  Status recovery_done();
  // *blocks* The controller knows how the last owner ended: what the next start is to tell it of begins here.
  Status registered();
  // *blocks* Before anything is acknowledged here that is not synced. Durable when it returns.
  Status withdraw_flush_promise();
  // *blocks* Renames the directory to `TOPIC-PARTITION.UUID-delete`, so that it is gone at once, and durably. The log
  // object answers reads that are under way; it must not be appended to any more.
  Status delete_log(PartitionLog& log, Uuid suffix);
  // *blocks* Renames the directory to `TOPIC-PARTITION.UUID-stray` and returns that name: its files stay for the operator.
  Result<std::string> set_stray_aside(PartitionDirectory const& directory, Uuid suffix);
  // *blocks* Unlinks one renamed directory's files. False: none is left.
  Result<bool> remove_deleted_step();

  // ---- Background work: a driver calls these as pool jobs

  // *blocks* Syncs what is due by age or size, advances recovery points and writes the checkpoints that changed.
  // Returns when it wants to be called again. Call about every 100 ms while appends go on.
  Result<Mono> flush_step(Mono now);
  // *blocks* Everything, at once.
  Status flush_all();
  // *blocks* Reads the free space and sets is_low_on_space(). What was given up for a start comes back before Produce may
  // use the room.
  Status check_space();
  // *blocks* High watermarks and log starts.
  Status write_checkpoints();
  // *blocks* Up to where compaction has been.
  Status write_cleaner_checkpoint();
  // *blocks* The last call: close_cleanly() of every log must have succeeded; writes checkpoints and then the
  // clean-stop mark with the epoch of the registration whose records are all here.
  Status stop_cleanly(int64_t broker_epoch);

  // ---- State

  bool is_offline() const { return is_offline_.load(std::memory_order_acquire); }
  std::string offline_reason() const;
  // First call wins: every later operation here fails with ErrorKind::io; `on_offline` runs once, on this thread. The
  // next start does not trust the page cache (see PreviousStop).
  void mark_offline(std::string reason);
  void set_offline_handler(std::function<void(std::string const& reason)> on_offline);
  bool is_low_on_space() const { return is_low_on_space_.load(std::memory_order_relaxed); }

  env::Disk& disk() { return disk_; }
  FileCache& files() { return files_; }
  LogDirectoryOptions const& options() const { return options_; }

 private:
  friend class PartitionLog;
  friend class PlainLog;
  struct Body;
  LogDirectory(env::Disk& disk, FileCache& files, LogDirectoryOptions options);
  Status start();
  Status load_checkpoints();
  Status replace_boot_file(std::string const& text);
  Result<std::shared_ptr<PartitionLog>> create_log_of_kind(TopicPartition const& partition, TopicId topic_id,
                                                           LogConfig const& config, Wall now, LogKind kind);
  Result<std::shared_ptr<PartitionLog>> open_log_of_kind(PartitionDirectory const& directory, LogConfig const& config,
                                                         Wall now, LogKind kind);
  Offset synced_up_to(TopicPartition const& partition) const;
  std::shared_ptr<PartitionLog> adopt(std::shared_ptr<PartitionLog> log);
  Status rename_for_deletion(std::string const& name, Uuid suffix);
  Result<std::string> rename_aside(std::string const& name, Uuid id, std::string_view suffix);
  // Before a log of that name is made: no checkpoint file speaks of an older one any more.
  Status forget_durably(TopicPartition const& partition);
  Status flush(std::span<std::shared_ptr<PartitionLog> const> logs);
  // What is to become of the rest if there is no room for it: it is written later, or the call fails with no_space.
  enum class IfFull { later, refuse };
  Status write_recovery_points(IfFull if_full);
  Status write_checkpoints(IfFull if_full);
  Status write_cleaner_checkpoint(IfFull if_full);
  Status write_file(std::string_view name, std::string_view content, std::string& last);
  Status require_written(std::string_view name, bool is_written) const;
  void note_disk_failure();
  Status check_earlier_write_back();
  Status start_flush_promise();
  void give_up_ballast_if_full();
  void restore_ballast();

  env::Disk& disk_;
  FileCache& files_;
  LogDirectoryOptions options_;
  DirectoryId directory_id_{};
  std::string cluster_id_;
  PreviousStop previous_stop_ = PreviousStop::first_start;
  std::optional<int64_t> marked_epoch_;
  bool has_marked_epoch_file_ = false;
  bool is_cache_suspect_ = false;
  bool kept_flush_promise_ = false;
  std::atomic<bool> has_flush_promise_{false};
  std::atomic<bool> is_offline_{false};
  std::atomic<bool> is_low_on_space_{false};
  std::atomic<bool> has_ballast_{false};
  std::unique_ptr<Body> body_;
};

// What lies in a node's directories is, taken together, that of the registration in this epoch: an old copy of one of
// them makes all old. -1: a mark does not tell. None: no directory knows, all are new or were in use by the last one.
std::optional<int64_t> oldest_marked_epoch(std::vector<LogDirectory*> const& directories);

// `name` as a topic and partition, or none: the last '-' separates them.
std::optional<TopicPartition> parse_partition_directory_name(std::string_view name);

}  // namespace millrace::storage
