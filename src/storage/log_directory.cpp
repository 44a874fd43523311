#include "millrace/storage/log_directory.h"

#include "directory_body.h"
#include "meta_properties.h"
#include "partition_body.h"
#include "recovery_file.h"

namespace millrace::storage {
namespace {

// Makes `path` and the parents that it lacks, each with an entry that outlives a power loss: else all below is lost.
Status make_durable_directory(env::Disk& disk, std::string const& path, bool is_fresh) {
  auto const parent_of = [](std::string const& at) {
    auto const slash = at.rfind('/');
    return slash == std::string::npos ? std::string(".") : slash == 0 ? std::string("/") : at.substr(0, slash);
  };
  bool is_missing = !disk.exists(path);
  if (!is_missing && !is_fresh) return {};
  std::vector<std::pair<std::string, bool>> parents;  // and whether it gets a new entry
  for (auto at = path; at != "." && at != "/"; at = parent_of(at)) {
    is_missing = is_missing && !disk.exists(at);
    parents.emplace_back(parent_of(at), is_missing);
  }
  MR_TRY(disk.make_directory(path));
  for (auto const& [parent, has_new_entry] : parents) {
    // An older start may have made them and not lived to sync them. Those that cannot be opened were not made by us.
    auto synced = disk.sync_directory(parent);
    if (!synced && has_new_entry) return synced;
  }
  return {};
}

constexpr std::string_view kArea = "storage";
constexpr std::string_view kMetaProperties = "meta.properties";
constexpr std::string_view kLockFile = ".lock";
constexpr std::string_view kCleanStopFile = ".kafka_cleanshutdown";
constexpr std::string_view kRecoveryPointsFile = "recovery-point-offset-checkpoint";
constexpr std::string_view kLogStartsFile = "log-start-offset-checkpoint";
constexpr std::string_view kHighWatermarksFile = "replication-offset-checkpoint";
constexpr std::string_view kCleanedFile = "cleaner-offset-checkpoint";
constexpr std::string_view kBootFile = "millrace-boot-id";
constexpr std::string_view kRecoveryFile = "millrace-recovery";
constexpr std::string_view kFlushPromiseFile = "millrace-flush-promise";
constexpr std::string_view kMarkedEpochFile = "millrace-marked-epoch";
constexpr std::string_view kBallastFile = "millrace-ballast";
constexpr std::string_view kRecoveringLine = "recovering";
constexpr std::string_view kDiskFailedLine = "disk failed";
constexpr std::string_view kDeleteSuffix = "-delete";
constexpr std::string_view kStraySuffix = "-stray";
constexpr std::string_view kFutureSuffix = "-future";
constexpr int64_t kSmallFileBytesMax = 64 * 1024;
constexpr int64_t kCheckpointBytesMax = 256 << 20;
constexpr size_t kNameBytesMax = 255;
constexpr Duration kStepInterval = 100ms;
constexpr Duration kIdleInterval = 250ms;

// `topic-partition.id-suffix`, the name that Kafka gives a directory it is about to remove.
bool has_id_suffix(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) && name.substr(0, name.size() - suffix.size()).find('.') != std::string_view::npos;
}

std::string hex(Uuid const& id) {
  std::string out;
  for (auto const byte : id.bytes) out += fmt::format("{:02x}", byte);
  return out;
}

// `millrace-boot-id`: whose page cache the directory's files were last written through, and what is to be known of it.
std::string boot_text(std::string_view boot_id, std::string_view second_line = {}) {
  return fmt::format("{}\n{}{}", boot_id, second_line, second_line.empty() ? "" : "\n");
}

// Anything but a whole file of another boot, or of this one without a failure: the note of a failure may have been
// interrupted anywhere.
bool may_tell_disk_failure(std::optional<std::string> const& boot, std::string_view boot_id) {
  if (!boot) return true;
  auto const writer = std::string_view(*boot).substr(0, boot->find('\n'));
  if (*boot == boot_text(writer) || *boot == boot_text(writer, kRecoveringLine)) return false;
  return writer == boot_id || *boot != boot_text(writer, kDiskFailedLine);
}

std::optional<int64_t> parse_clean_stop(std::string_view text) {
  constexpr std::string_view kKey = "\"brokerEpoch\":";
  auto const at = text.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = text.substr(at + kKey.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return parse_number<int64_t>(rest.substr(0, rest.find_first_not_of("-0123456789")));
}

Result<std::optional<std::string>> read_optional(env::Disk& disk, std::string const& path, int64_t bytes_max) {
  auto content = disk.read_file(path, bytes_max);
  if (content) return std::optional(*std::move(content));
  if (content.error().kind == ErrorKind::not_found) return std::optional<std::string>();
  return std::move(content).error();
}

}  // namespace

std::optional<TopicPartition> parse_partition_directory_name(std::string_view name) {
  auto const dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  auto const partition = parse_number<int32_t>(name.substr(dash + 1));
  if (!partition || *partition < 0) return std::nullopt;
  return TopicPartition{std::string(name.substr(0, dash)), *partition};
}

std::optional<int64_t> oldest_marked_epoch(std::vector<LogDirectory*> const& directories) {
  std::optional<int64_t> oldest;
  for (auto const* directory : directories) {
    auto const epoch = directory->marked_epoch();
    if (epoch) oldest = std::min(oldest.value_or(*epoch), *epoch);
  }
  return oldest;
}

void LogDirectory::Body::add_dirty(std::weak_ptr<PartitionLog> log) {
  std::lock_guard guard(mutex);
  if (dirty.empty()) dirty_since = last_now;
  dirty.push_back(std::move(log));
}

void LogDirectory::Body::forget(TopicPartition const& partition) {
  known.erase(partition);
  stale[partition] = kStaleRecoveryPoint | kStaleLogStart | kStaleHighWatermark | kStaleCleaned;
}

void LogDirectory::Body::not_stale(std::map<TopicPartition, uint8_t> const& written_without, uint8_t file) {
  for (auto const& [partition, files] : written_without) {
    auto const found = stale.find(partition);
    if (found == stale.end()) continue;
    found->second &= static_cast<uint8_t>(~file);
    if (found->second == 0) stale.erase(found);
  }
}

LogDirectory::LogDirectory(env::Disk& disk, FileCache& files, LogDirectoryOptions options)
    : disk_(disk), files_(files), options_(std::move(options)), body_(std::make_unique<Body>()) {}
LogDirectory::~LogDirectory() = default;

Result<std::unique_ptr<LogDirectory>> LogDirectory::open(env::Disk& disk, FileCache& files,
                                                         LogDirectoryOptions options) {
  std::unique_ptr<LogDirectory> directory(new LogDirectory(disk, files, std::move(options)));
  MR_TRY(directory->start());
  return directory;
}

Status LogDirectory::start() {
  auto const file = [&](std::string_view name) { return fmt::format("{}/{}", options_.path, name); };
  auto const refuse = [&](std::string_view why) {
    return Error{ErrorKind::invalid, fmt::format("log directory {}: {}", options_.path, why)};
  };
  MR_TRY(make_durable_directory(disk_, options_.path, !disk_.exists(file(kMetaProperties))));
  auto lock = disk_.lock(file(kLockFile));
  if (!lock) return refuse(fmt::format("cannot be locked, another process may use it: {}", lock.error().message));
  body_->lock = *std::move(lock);

  // Identity. Nothing is written before it is known to be ours.
  MR_TRY_ASSIGN(auto const meta_text, read_optional(disk_, file(kMetaProperties), kSmallFileBytesMax));
  MetaProperties meta;
  if (meta_text) {
    auto parsed = MetaProperties::parse(*meta_text);
    if (!parsed) return refuse(parsed.error().message);
    meta = *std::move(parsed);
    if (options_.cluster_id && *options_.cluster_id != meta.cluster_id) {
      return refuse(fmt::format("belongs to cluster {}, this node to {}", meta.cluster_id, *options_.cluster_id));
    }
    if (meta.node_id != options_.node_id) {
      return refuse(fmt::format("belongs to node {}, this is node {}", meta.node_id, options_.node_id));
    }
  } else {
    if (!options_.cluster_id) return refuse("has no meta.properties and no cluster id is configured");
    // Partitions are somebody's: given a new identity they would be served as another cluster's, or thrown away.
    MR_TRY_ASSIGN(auto const entries, disk_.list(options_.path));
    for (auto const& entry : entries) {
      if (!entry.is_directory || !parse_partition_directory_name(entry.name)) continue;
      return refuse(fmt::format("holds {} but no meta.properties, which says whose it is; restore that file or move the "
                                "partitions away", entry.name));
    }
    meta.cluster_id = *options_.cluster_id;
    meta.node_id = options_.node_id;
  }
  if (!meta.directory_id) meta.directory_id = options_.fresh_directory_id;
  cluster_id_ = meta.cluster_id;
  directory_id_ = *meta.directory_id;

  // How the last owner ended.
  MR_TRY_ASSIGN(auto const clean_stop, read_optional(disk_, file(kCleanStopFile), kSmallFileBytesMax));
  MR_TRY_ASSIGN(auto const boot, read_optional(disk_, file(kBootFile), kSmallFileBytesMax));
  MR_TRY_ASSIGN(auto const marked_epoch, read_optional(disk_, file(kMarkedEpochFile), kSmallFileBytesMax));
  // All else was synced before the mark of a clean stop was made.
  is_cache_suspect_ = meta_text && !clean_stop && may_tell_disk_failure(boot, options_.boot_id);
  if (!meta_text) {
    previous_stop_ = PreviousStop::first_start;
  } else if (clean_stop) {
    previous_stop_ = PreviousStop::clean;
    marked_epoch_ = parse_clean_stop(*clean_stop).value_or(-1);
  } else if (boot && *boot == boot_text(options_.boot_id)) {
    previous_stop_ = PreviousStop::process_killed;
  } else {
    previous_stop_ = PreviousStop::machine_lost;
  }
  if (meta_text && !clean_stop && marked_epoch) marked_epoch_ = parse_clean_stop(*marked_epoch).value_or(-1);
  has_marked_epoch_file_ = clean_stop || marked_epoch;
  MR_TRY(load_checkpoints());
  give_up_ballast_if_full();

  // From here on the directory is in use. The mark goes first, durably: nothing may be written under it. What it tells
  // of an old copy that was put back here must outlive a kill before the controller has heard it.
  if (clean_stop) {
    MR_TRY(disk_.rename(file(kCleanStopFile), file(kMarkedEpochFile)));
    MR_TRY(disk_.sync_directory(options_.path));
  }
  // Until recovery_done() another loss of the process must not pass for a mere kill.
  auto const second_line = is_cache_suspect_                                   ? kDiskFailedLine
                           : previous_stop_ == PreviousStop::machine_lost ? kRecoveringLine
                                                                          : std::string_view{};
  if (auto const text = boot_text(options_.boot_id, second_line); boot != text) MR_TRY(replace_boot_file(text));
  if (is_cache_suspect_) {
    options_.log->warn(kArea, "{}: the disk failed its last owner; what was not known to be synced is written again",
                       options_.path);
    // Tells the old failure a last time, so that it does not pass for a new one.
    static_cast<void>(disk_.sync_file_system(options_.path));
  }
  MR_TRY(start_flush_promise());
  auto const text = meta.text(options_.now);
  if (!meta_text || MetaProperties::parse(*meta_text)->directory_id != meta.directory_id) {
    MR_TRY(env::replace_file(disk_, file(kMetaProperties), text));
  }
  return check_space();
}

// A start writes: small files here, and the registration of the node in the metadata log. On a disk without any room it
// would end there, and nobody could read, nor delete anything.
void LogDirectory::give_up_ballast_if_full() {
  auto const path = fmt::format("{}/{}", options_.path, kBallastFile);
  has_ballast_ = disk_.exists(path);
  if (!has_ballast_) return;
  auto const space = disk_.space(options_.path);
  bool const is_wanted = options_.ballast_bytes > 0;
  if (is_wanted && (!space || space->free_bytes >= options_.ballast_bytes / 2)) return;
  if (auto removed = disk_.remove_file(path); !removed) {
    return options_.log->warn(kArea, "give up {}: {}", path, removed.error().message);
  }
  has_ballast_ = false;
  if (is_wanted) {
    options_.log->warn(kArea, "{}: {} bytes free; {} is given up for this start", options_.path, space->free_bytes, kBallastFile);
  }
}

// Losing it costs nothing but the next start on a full disk: no sync, and a failure is no error.
void LogDirectory::restore_ballast() {
  if (has_ballast_.exchange(true)) return;
  auto const path = fmt::format("{}/{}", options_.path, kBallastFile);
  auto file = disk_.open(path, env::OpenMode::create_empty);
  if (file && (*file)->allocate(Position(0), options_.ballast_bytes)) return;
  static_cast<void>(disk_.remove_file(path));
  has_ballast_ = false;
}

// The promise begins with a clean start, when all that is here is on the disk, and lasts over starts that go on with
// it.
Status LogDirectory::start_flush_promise() {
  auto const path = fmt::format("{}/{}", options_.path, kFlushPromiseFile);
  kept_flush_promise_ = disk_.exists(path);
  bool const was_clean = previous_stop_ == PreviousStop::clean || previous_stop_ == PreviousStop::first_start;
  has_flush_promise_ = kept_flush_promise_;
  if (!options_.is_flush_promised) return withdraw_flush_promise();
  if (!was_clean || kept_flush_promise_) return {};
  MR_TRY(env::replace_file(disk_, path, "0\n"));
  has_flush_promise_ = true;
  return {};
}

Status LogDirectory::withdraw_flush_promise() {
  if (!has_flush_promise_) return {};
  std::lock_guard lock(body_->promise_mutex);
  if (!has_flush_promise_) return {};
  auto done = disk_.remove_file(fmt::format("{}/{}", options_.path, kFlushPromiseFile));
  if (done) done = disk_.sync_directory(options_.path);
  if (!done) {
    mark_offline(fmt::format("withdraw the promise of {} to flush: {}", options_.path, done.error().message));
    return done;
  }
  has_flush_promise_ = false;
  return {};
}

Status LogDirectory::registered() {
  if (!has_marked_epoch_file_) return {};
  MR_TRY(disk_.remove_file(fmt::format("{}/{}", options_.path, kMarkedEpochFile)));
  has_marked_epoch_file_ = false;
  return disk_.sync_directory(options_.path);
}

// On a full disk the old one makes room first: without either, the machine counts as lost.
Status LogDirectory::replace_boot_file(std::string const& text) {
  auto const path = fmt::format("{}/{}", options_.path, kBootFile);
  auto replaced = env::replace_file(disk_, path, text);
  if (replaced || replaced.error().kind != ErrorKind::no_space) return replaced;
  if (auto removed = disk_.remove_file(path); !removed) return replaced;
  return env::replace_file(disk_, path, text);
}

Status LogDirectory::recovery_done() {
  if (previous_stop_ != PreviousStop::machine_lost) return {};
  return env::replace_file(disk_, fmt::format("{}/{}", options_.path, kBootFile), boot_text(options_.boot_id));
}

Status LogDirectory::load_checkpoints() {
  std::optional<std::string> recovery_points;
  auto const load = [&](std::string_view name, auto&& take) -> Status {
    auto const path = fmt::format("{}/{}", options_.path, name);
    MR_TRY_ASSIGN(auto text, read_optional(disk_, path, kCheckpointBytesMax));
    if (!text) return {};
    auto entries = parse_offsets_checkpoint(*text);
    if (!entries) {
      // Damaged is as good as absent: recovery then reads more, and marks start at the log's start.
      options_.log->warn(kArea, "{}: {}; treated as absent", path, entries.error().message);
      return {};
    }
    for (auto const& entry : *entries) take(body_->known[entry.partition], entry.offset);
    if (name == kRecoveryPointsFile) recovery_points = std::move(text);
    return {};
  };
  MR_TRY(load(kRecoveryPointsFile, [](Body::Known& known, Offset o) { known.recovery_point = o; }));
  MR_TRY(load(kLogStartsFile, [](Body::Known& known, Offset o) { known.log_start = o; }));
  MR_TRY(load(kCleanedFile, [](Body::Known& known, Offset o) { known.first_dirty = o; }));
  MR_TRY(load(kHighWatermarksFile, [](Body::Known& known, Offset o) { known.high_watermark = o; }));
  MR_TRY_ASSIGN(auto const side,
                read_optional(disk_, fmt::format("{}/{}", options_.path, kRecoveryFile), kCheckpointBytesMax));
  if (!side) return {};
  auto const entries = parse_recovery_file(*side, recovery_points.value_or(""));
  if (!entries) return {};  // somebody else wrote here meanwhile
  for (auto const& entry : *entries) {
    auto& known = body_->known[entry.partition];
    if (entry.is_plain) known.recovery_point = entry.recovery_point;
    known.is_plain = entry.is_plain;
    if (known.recovery_point != entry.recovery_point) continue;
    known.has_no_producers = entry.has_no_producers;
    known.indexes = entry.indexes;
  }
  return {};
}

Result<std::vector<PartitionDirectory>> LogDirectory::partitions() {
  MR_TRY_ASSIGN(auto const entries, disk_.list(options_.path));
  std::vector<PartitionDirectory> out;
  std::set<TopicPartition> present;
  for (auto const& entry : entries) {
    if (!entry.is_directory || entry.name == "lost+found") continue;
    if (has_id_suffix(entry.name, kDeleteSuffix)) {
      std::lock_guard lock(body_->mutex);
      body_->deleted_names.push_back(entry.name);
      continue;
    }
    if (has_id_suffix(entry.name, kStraySuffix)) continue;  // kept for the operator to look at
    PartitionDirectory found{.name = entry.name};
    std::string_view plain_name = entry.name;
    if (has_id_suffix(entry.name, kFutureSuffix)) {
      found.is_future = true;
      plain_name = plain_name.substr(0, plain_name.rfind('.'));
    }
    auto const partition = parse_partition_directory_name(plain_name);
    if (!partition) {
      return Error{ErrorKind::invalid, fmt::format("{}/{} is no partition's directory", options_.path, entry.name)};
    }
    if (partition->topic == kClusterMetadataTopic) {
      present.insert(*partition);
      continue;
    }
    found.topic_partition = *partition;
    found.was_synced = previous_stop_ == PreviousStop::clean || synced_up_to(*partition) > Offset(0);
    MR_TRY_ASSIGN(auto const metadata,
                  read_optional(disk_, fmt::format("{}/{}/{}", options_.path, entry.name, kPartitionMetadataFile),
                                kSmallFileBytesMax));
    if (metadata) {
      auto id = parse_partition_metadata(*metadata);
      if (!id) {
        options_.log->warn(kArea, "{}/{}: {}", options_.path, entry.name, id.error().message);
      } else {
        found.topic_id = *id;
      }
    }
    if (!found.is_future) present.insert(*partition);
    out.push_back(std::move(found));
  }
  // What the checkpoints remember of partitions that are gone is forgotten.
  std::lock_guard lock(body_->mutex);
  std::vector<TopicPartition> gone;
  for (auto const& [partition, known] : body_->known) {
    if (!present.contains(partition) && known.log.expired()) gone.push_back(partition);
  }
  for (auto const& partition : gone) body_->forget(partition);
  return out;
}

Offset LogDirectory::synced_up_to(TopicPartition const& partition) const {
  std::lock_guard lock(body_->mutex);
  auto const known = body_->known.find(partition);
  return known == body_->known.end() ? Offset(0) : known->second.recovery_point;
}

std::shared_ptr<PartitionLog> LogDirectory::adopt(std::shared_ptr<PartitionLog> log) {
  log->body_->self = log;
  std::lock_guard lock(body_->mutex);
  auto& known = body_->known[log->topic_partition()];
  known.log = log;
  known.is_plain = log->body_->kind == LogKind::plain;
  return log;
}

Result<std::shared_ptr<PartitionLog>> LogDirectory::create_log(TopicPartition const& partition, TopicId topic_id,
                                                               LogConfig const& config, Wall now) {
  return create_log_of_kind(partition, topic_id, config, now, LogKind::partition);
}

Result<std::shared_ptr<PartitionLog>> LogDirectory::create_log_of_kind(TopicPartition const& partition,
                                                                       TopicId topic_id, LogConfig const& config,
                                                                       Wall now, LogKind kind) {
  auto body = std::make_unique<PartitionLog::Body>(*this, fmt::format("{}-{}", partition.topic, partition.partition),
                                                   partition, topic_id, config, kind);
  if (is_offline()) return body->offline_error();
  if (disk_.exists(body->path())) return Error{ErrorKind::exists, fmt::format("{} exists already", body->path())};
  MR_TRY(forget_durably(partition));
  auto made = disk_.make_directory(body->path());
  if (made) {
    auto file = disk_.open(body->path(kPartitionMetadataFile), env::OpenMode::create_empty);
    auto const text = partition_metadata_text(topic_id);
    ByteView const piece = as_bytes(text);
    made = file ? (*file)->write(Position(0), {&piece, 1}) : Status(std::move(file).error());
  }
  if (made) made = body->create(Offset(0), now);
  if (!made) return body->failed(std::move(made).error(), "create");
  body->is_directory_unsynced = true;
  {
    std::lock_guard lock(body_->mutex);
    body_->known[partition] = {};
  }
  return adopt(std::shared_ptr<PartitionLog>(new PartitionLog(std::move(body))));
}

Result<std::shared_ptr<PartitionLog>> LogDirectory::open_log(PartitionDirectory const& directory,
                                                             LogConfig const& config, Wall now) {
  return open_log_of_kind(directory, config, now, LogKind::partition);
}

Result<std::shared_ptr<PartitionLog>> LogDirectory::open_log_of_kind(PartitionDirectory const& directory,
                                                                     LogConfig const& config, Wall now, LogKind kind) {
  auto body = std::make_unique<PartitionLog::Body>(*this, directory.name, directory.topic_partition,
                                                   directory.topic_id.value_or(TopicId{}), config, kind);
  if (is_offline()) return body->offline_error();
  if (is_cache_suspect_ && directory.topic_id) {
    auto written = env::replace_file(disk_, body->path(kPartitionMetadataFile), partition_metadata_text(*directory.topic_id));
    if (!written) return body->failed(std::move(written).error(), "write again the metadata of");
  }
  Body::Known known;
  {
    std::lock_guard lock(body_->mutex);
    if (auto const i = body_->known.find(directory.topic_partition); i != body_->known.end()) known = i->second;
  }
  // The metadata log may be appended to until the very end, so its tail is checked after a clean stop too.
  bool const is_checked = kind == LogKind::plain && previous_stop_ == PreviousStop::clean;
  PartitionLog::Body::Start const start{.stop = is_checked ? PreviousStop::process_killed : previous_stop_,
                                        .log_start = known.log_start,
                                        .recovery_point = known.recovery_point,
                                        .high_watermark = known.high_watermark,
                                        .has_no_producers = known.has_no_producers,
                                        .indexes = known.indexes,
                                        .first_dirty = known.first_dirty,
                                        .is_cache_suspect = is_cache_suspect_,
                                        .kept_flush_promise = kept_flush_promise_};
  if (auto opened = body->open(start, now); !opened) {
    return body->failed(std::move(opened).error(), "open");
  }
  auto log = adopt(std::shared_ptr<PartitionLog>(new PartitionLog(std::move(body))));
  if (log->body_->are_epochs_dirty || log->end().offset > log->recovery_point()) log->body_->mark_dirty();
  return log;
}

Status LogDirectory::delete_log(PartitionLog& log, Uuid suffix) {
  log.body_->retire();
  MR_TRY(rename_for_deletion(log.body_->name, suffix));
  std::lock_guard lock(body_->mutex);
  body_->forget(log.topic_partition());
  return {};
}

Result<std::string> LogDirectory::set_stray_aside(PartitionDirectory const& directory, Uuid suffix) {
  MR_TRY_ASSIGN(auto renamed, rename_aside(directory.name, suffix, kStraySuffix));
  std::lock_guard lock(body_->mutex);
  if (!directory.is_future) body_->forget(directory.topic_partition);
  return renamed;
}

Status LogDirectory::rename_for_deletion(std::string const& name, Uuid suffix) {
  MR_TRY_ASSIGN(auto renamed, rename_aside(name, suffix, kDeleteSuffix));
  std::lock_guard lock(body_->mutex);
  body_->deleted_names.push_back(std::move(renamed));
  return {};
}

Result<std::string> LogDirectory::rename_aside(std::string const& name, Uuid id, std::string_view suffix) {
  auto const ending = fmt::format(".{}{}", hex(id), suffix);
  auto renamed = name.substr(0, kNameBytesMax - ending.size()) + ending;
  auto status = disk_.rename(fmt::format("{}/{}", options_.path, name), fmt::format("{}/{}", options_.path, renamed));
  if (status) status = disk_.sync_directory(options_.path);
  if (!status) {
    if (status.error().kind == ErrorKind::io) mark_offline(status.error().message);
    return std::move(status).error();
  }
  return renamed;
}

Status LogDirectory::forget_durably(TopicPartition const& partition) {
  auto const is_stale = [&] {
    std::lock_guard lock(body_->mutex);
    return body_->stale.contains(partition);
  };
  if (!is_stale()) return {};
  MR_TRY(write_recovery_points(IfFull::later));
  MR_TRY(write_checkpoints());
  MR_TRY(write_cleaner_checkpoint());
  if (!is_stale()) return {};
  return Error{ErrorKind::no_space, fmt::format("checkpoints of {} still speak of an older {}-{}", options_.path, partition.topic,
                                                partition.partition)};
}

Result<bool> LogDirectory::remove_deleted_step() {
  std::string name;
  {
    std::lock_guard lock(body_->mutex);
    if (body_->deleted_names.empty()) return false;
    name = body_->deleted_names.front();
  }
  auto const path = fmt::format("{}/{}", options_.path, name);
  auto entries = disk_.list(path);
  if (!entries && entries.error().kind != ErrorKind::not_found) return std::move(entries).error();
  if (entries) {
    for (auto const& entry : *entries) MR_TRY(disk_.remove_file(fmt::format("{}/{}", path, entry.name)));
    MR_TRY(disk_.remove_directory(path));
  }
  std::lock_guard lock(body_->mutex);
  std::erase(body_->deleted_names, name);
  return !body_->deleted_names.empty();
}

// ---- Background work

Result<Mono> LogDirectory::flush_step(Mono now) {
  std::vector<std::shared_ptr<PartitionLog>> logs;
  bool is_due = false;
  {
    std::lock_guard lock(body_->mutex);
    body_->last_now = now;
    std::erase_if(body_->dirty, [&](auto const& weak) {
      if (auto log = weak.lock()) {
        logs.push_back(std::move(log));
        return false;
      }
      return true;
    });
    is_due = !logs.empty() && now - body_->dirty_since >= options_.flush_interval;
  }
  if (is_offline()) return Error{ErrorKind::io, offline_reason()};
  for (auto const& log : logs) {
    if (log->body_->unflushed_bytes() >= options_.flush_bytes) is_due = true;
  }
  if (is_due) {
    MR_TRY(flush(logs));
  }
  bool is_checkpoint_due = false;
  {
    std::lock_guard lock(body_->mutex);
    is_checkpoint_due = now >= body_->next_checkpoint;
    if (is_checkpoint_due) body_->next_checkpoint = now + options_.checkpoint_interval;
  }
  if (is_checkpoint_due) {
    MR_TRY(check_space());
    MR_TRY(write_checkpoints());
  }
  return now + (logs.empty() ? kIdleInterval : kStepInterval);
}

Status LogDirectory::flush_all() {
  std::vector<std::shared_ptr<PartitionLog>> logs;
  {
    std::lock_guard lock(body_->mutex);
    for (auto const& weak : body_->dirty) {
      if (auto log = weak.lock()) logs.push_back(std::move(log));
    }
  }
  return flush(logs);
}

Status LogDirectory::flush(std::span<std::shared_ptr<PartitionLog> const> logs) {
  if (logs.empty()) return {};
  std::lock_guard flush_lock(body_->flush_mutex);
  {
    std::lock_guard lock(body_->mutex);
    body_->dirty.clear();
    body_->dirty_since = body_->last_now;
  }
  std::vector<std::pair<PartitionLog::Body*, FlushTarget>> targets;
  for (auto const& log : logs) {
    auto& body = *log->body_;
    std::lock_guard io_lock(body.io_mutex);
    if (auto target = body.begin_flush()) {
      targets.emplace_back(&body, *target);
      continue;
    } else {
      auto const error = body.failed(std::move(target).error(), "save the state of");
      if (error.kind == ErrorKind::not_found) continue;  // deleted meanwhile
      if (error.kind != ErrorKind::no_space) return error;
      body.flush_failed();  // the data path goes on
    }
  }
  if (auto synced = disk_.sync_file_system(options_.path); !synced) {
    mark_offline(fmt::format("sync {}: {}", options_.path, synced.error().message));
    return synced;
  }
  bool is_renamed = false;
  for (auto& [body, target] : targets) {
    std::lock_guard io_lock(body->io_mutex);
    is_renamed = is_renamed || target.has_new_epochs;
    if (auto finished = body->finish_flush(target); !finished) {
      auto const error = body->failed(std::move(finished).error(), "save the state of");
      if (error.kind != ErrorKind::no_space && error.kind != ErrorKind::not_found) return error;
      target.is_lost = true;
      if (error.kind == ErrorKind::no_space) body->flush_failed();
    }
  }
  // The recovery point must not stand over epochs that have not got their name yet.
  if (is_renamed) {
    if (auto synced = disk_.sync_file_system(options_.path); !synced) {
      mark_offline(fmt::format("sync {}: {}", options_.path, synced.error().message));
      return synced;
    }
  }
  for (auto& [body, target] : targets) {
    std::lock_guard io_lock(body->io_mutex);
    body->complete_flush(target);
  }
  return write_recovery_points(IfFull::later);
}

Status LogDirectory::write_file(std::string_view name, std::string_view content, std::string& last) {
  if (content == last) return {};
  auto written = env::replace_file(disk_, fmt::format("{}/{}", options_.path, name), content);
  if (written) {
    last = content;
    return {};
  }
  auto error = std::move(written).error();
  if (error.kind == ErrorKind::no_space) {
    options_.log->warn(kArea, "{}: {} not written: {}; tried again later", options_.path, name, error.message);
    return {};
  }
  if (error.kind == ErrorKind::io) mark_offline(fmt::format("write {}: {}", name, error.message));
  return error;
}

Status LogDirectory::require_written(std::string_view name, bool is_written) const {
  if (is_written) return {};
  return Error{ErrorKind::no_space, fmt::format("write {} of {}: no space left", name, options_.path)};
}

Status LogDirectory::write_recovery_points(IfFull if_full) {
  std::lock_guard checkpoint_lock(body_->checkpoint_mutex);
  std::vector<PartitionOffset> points;
  std::vector<RecoveryEntry> side;
  std::map<TopicPartition, uint8_t> stale;
  {
    std::lock_guard lock(body_->mutex);
    stale = body_->stale;
    for (auto& [partition, known] : body_->known) {
      if (auto const log = known.log.lock()) {
        auto const flushed = log->body_->flushed();
        known.recovery_point = log->recovery_point();
        known.has_no_producers = flushed.end == known.recovery_point && flushed.has_no_producers;
        known.indexes = flushed.end == known.recovery_point ? flushed.indexes : SavedIndexes{};
      }
      if (!known.is_plain) points.push_back({partition, known.recovery_point});
      side.push_back({partition, known.recovery_point, known.is_plain, known.has_no_producers, known.indexes});
    }
  }
  auto const text = offsets_checkpoint_text(points);
  MR_TRY(write_file(kRecoveryPointsFile, text, body_->last_recovery_points));
  if (body_->last_recovery_points == text) {
    std::lock_guard lock(body_->mutex);
    body_->not_stale(stale, Body::kStaleRecoveryPoint);
  }
  auto const side_text = recovery_file_text(side, text);
  MR_TRY(write_file(kRecoveryFile, side_text, body_->last_recovery));
  if (if_full == IfFull::later) return {};
  MR_TRY(require_written(kRecoveryPointsFile, body_->last_recovery_points == text));
  return require_written(kRecoveryFile, body_->last_recovery == side_text);
}

Status LogDirectory::write_checkpoints() { return write_checkpoints(IfFull::later); }

Status LogDirectory::write_checkpoints(IfFull if_full) {
  std::lock_guard checkpoint_lock(body_->checkpoint_mutex);
  std::vector<PartitionOffset> starts, marks;
  std::map<TopicPartition, uint8_t> stale;
  {
    std::lock_guard lock(body_->mutex);
    stale = body_->stale;
    for (auto& [partition, known] : body_->known) {
      if (known.is_plain) continue;
      bool is_start_needed = known.log_start > Offset(0);
      if (auto const log = known.log.lock()) {
        known.log_start = std::max(log->log_start(), Offset(log->body_->log_start_wanted.load()));
        known.high_watermark = Offset(log->body_->high_watermark.load());
        // The first segment's name says it otherwise.
        is_start_needed = known.log_start > Offset(log->body_->durable_first_base.load());
      }
      if (is_start_needed) starts.push_back({partition, known.log_start});
      marks.push_back({partition, known.high_watermark});
    }
  }
  auto const starts_text = offsets_checkpoint_text(starts);
  auto const marks_text = offsets_checkpoint_text(marks);
  // The marks first: who is refused for want of room for them must not find a new log start on the disk.
  MR_TRY(write_file(kHighWatermarksFile, marks_text, body_->last_high_watermarks));
  if (if_full == IfFull::refuse) MR_TRY(require_written(kHighWatermarksFile, body_->last_high_watermarks == marks_text));
  MR_TRY(write_file(kLogStartsFile, starts_text, body_->last_log_starts));
  if (if_full == IfFull::refuse) MR_TRY(require_written(kLogStartsFile, body_->last_log_starts == starts_text));
  std::lock_guard lock(body_->mutex);
  if (body_->last_log_starts == starts_text) body_->not_stale(stale, Body::kStaleLogStart);
  if (body_->last_high_watermarks == marks_text) body_->not_stale(stale, Body::kStaleHighWatermark);
  return {};
}

Status LogDirectory::write_cleaner_checkpoint() { return write_cleaner_checkpoint(IfFull::later); }

Status LogDirectory::write_cleaner_checkpoint(IfFull if_full) {
  std::lock_guard checkpoint_lock(body_->checkpoint_mutex);
  std::vector<PartitionOffset> cleaned;
  std::map<TopicPartition, uint8_t> stale;
  {
    std::lock_guard lock(body_->mutex);
    stale = body_->stale;
    for (auto& [partition, known] : body_->known) {
      if (auto const log = known.log.lock(); log && log->body_->first_dirty.load() >= 0) {
        known.first_dirty = Offset(log->body_->first_dirty.load());
      }
      if (known.first_dirty) cleaned.push_back({partition, *known.first_dirty});
    }
  }
  auto const text = offsets_checkpoint_text(cleaned);
  // Nothing was ever compacted here, and no file says otherwise.
  if (!cleaned.empty() || disk_.exists(fmt::format("{}/{}", options_.path, kCleanedFile)))
    MR_TRY(write_file(kCleanedFile, text, body_->last_cleaned));
  else
    body_->last_cleaned = text;
  if (if_full == IfFull::refuse) MR_TRY(require_written(kCleanedFile, body_->last_cleaned == text));
  std::lock_guard lock(body_->mutex);
  if (body_->last_cleaned == text) body_->not_stale(stale, Body::kStaleCleaned);
  return {};
}

Status LogDirectory::check_space() {
  auto const space = disk_.space(options_.path);
  if (!space) return space.error();
  auto const owed = has_ballast_ ? 0 : options_.ballast_bytes;
  bool const is_low = space->free_bytes < options_.low_space_bytes + owed;
  if (owed > 0 && !is_low) restore_ballast();
  if (is_low != is_low_on_space_.exchange(is_low)) {
    options_.log->warn(kArea, "{}: {} bytes free, Produce is {}", options_.path, space->free_bytes,
                       is_low ? "refused" : "accepted");
  }
  return {};
}

Status LogDirectory::stop_cleanly(int64_t broker_epoch) {
  if (is_offline()) return Error{ErrorKind::io, offline_reason()};
  auto synced = MR_MUTANT(*options_.hooks, "clean_mark_before_sync") ? Status() : disk_.sync_file_system(options_.path);
  if (!synced) {
    mark_offline(fmt::format("sync {}: {}", options_.path, synced.error().message));
    return synced;
  }
  std::vector<std::shared_ptr<PartitionLog>> logs;
  {
    std::lock_guard lock(body_->mutex);
    for (auto const& [partition, known] : body_->known) {
      if (auto log = known.log.lock()) logs.push_back(std::move(log));
    }
  }
  for (auto const& log : logs) {
    auto& body = *log->body_;
    std::lock_guard io_lock(body.io_mutex);
    if (body.kind == LogKind::plain && !body.closing) continue;  // synced with every append
    if (!body.closing)
      return Error{ErrorKind::invalid, fmt::format("{} was not closed before its directory", body.name)};
    body.complete_flush(*body.closing);
  }
  MR_TRY(write_recovery_points(IfFull::later));
  MR_TRY(write_checkpoints());
  if (is_offline()) return Error{ErrorKind::io, offline_reason()};
  MR_TRY(recovery_done());
  auto marked = env::replace_file(disk_, fmt::format("{}/{}", options_.path, kCleanStopFile),
                                  fmt::format("{{\"version\":0,\"brokerEpoch\":{}}}", broker_epoch));
  if (!marked && marked.error().kind == ErrorKind::io) mark_offline(fmt::format("leave the clean-stop mark: {}", marked.error().message));
  return marked;
}

// ---- State

std::string LogDirectory::offline_reason() const {
  std::lock_guard lock(body_->mutex);
  return body_->offline_reason;
}

void LogDirectory::mark_offline(std::string reason) {
  std::function<void(std::string const&)> handler;
  {
    std::lock_guard lock(body_->mutex);
    if (is_offline_.load()) return;
    body_->offline_reason = reason;
    is_offline_.store(true, std::memory_order_release);
    handler = body_->on_offline;
  }
  options_.log->error(kArea, "log directory {} goes offline: {}", options_.path, reason);
  note_disk_failure();
  if (handler) handler(reason);
}

// A killed process may have been told of a failed write-back and not have lived to note it. Its files would say no more
// of it, but the file system tells whoever asks for the first time. Asked once, before the first sync counts.
Status LogDirectory::check_earlier_write_back() {
  if (previous_stop_ != PreviousStop::process_killed) return {};
  std::lock_guard lock(body_->write_back_mutex);
  if (body_->is_write_back_checked) return {};
  MR_TRY(disk_.sync_file_system(options_.path));
  body_->is_write_back_checked = true;
  return {};
}

// It need not outlive the machine, whose next boot has another id; so it is not synced, which might fail as well.
void LogDirectory::note_disk_failure() {
  if (MR_MUTANT(*options_.hooks, "disk_failure_not_noted")) return;
  auto const path = fmt::format("{}/{}", options_.path, kBootFile);
  auto const text = boot_text(options_.boot_id, kDiskFailedLine);
  auto file = disk_.open(path, env::OpenMode::create_empty);
  ByteView const piece = as_bytes(text);
  auto const written = file ? (*file)->write(Position(0), {&piece, 1}) : Status(std::move(file).error());
  // Without the file the machine counts as lost.
  if (written || disk_.remove_file(path)) return;
  options_.log->error(kArea, "{}: {}; restart the machine before this directory is used again", path, written.error().message);
}

void LogDirectory::set_offline_handler(std::function<void(std::string const& reason)> on_offline) {
  std::lock_guard lock(body_->mutex);
  body_->on_offline = std::move(on_offline);
}

}  // namespace millrace::storage
