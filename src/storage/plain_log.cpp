#include "millrace/storage/plain_log.h"

#include "checkpoint_text.h"
#include "partition_body.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kSnapshotSuffix = ".checkpoint";
constexpr std::string_view kPartSuffix = ".checkpoint.part";
constexpr size_t kStemBytes = 31;  // 20 digits, '-', 10 digits

std::string snapshot_stem(SnapshotId id) { return fmt::format("{:020}-{:010}", id.end_offset.value, id.epoch.value); }

std::optional<SnapshotId> parse_snapshot_name(std::string_view name) {
  if (name.size() != kStemBytes + kSnapshotSuffix.size() || !name.ends_with(kSnapshotSuffix) || name[20] != '-')
    return std::nullopt;
  auto const offset = parse_number<int64_t>(name.substr(0, 20));
  auto const epoch = parse_number<int32_t>(name.substr(21, 10));
  if (!offset || !epoch) return std::nullopt;
  return SnapshotId{Offset(*offset), LeaderEpoch(*epoch)};
}

}  // namespace

class PlainLog::Body {
 public:
  explicit Body(std::shared_ptr<PartitionLog> opened)
      : log(std::move(opened)), inner(*log->body_), disk(inner.directory.disk()) {}

  std::string path(SnapshotId id, std::string_view suffix) const {
    return inner.path(snapshot_stem(id) + std::string(suffix));
  }

  Status load_snapshots() {
    MR_TRY_ASSIGN(auto const entries, disk.list(inner.path()));
    for (auto const& entry : entries) {
      if (entry.name.ends_with(kPartSuffix) || entry.name.ends_with(".checkpoint.deleted")) {
        MR_TRY(disk.remove_file(inner.path(entry.name)));  // never finished, or given up
      } else if (auto const id = parse_snapshot_name(entry.name)) {
        snapshots.insert(*id);
      }
    }
    return {};
  }

  // The part is whole and synced: it takes its name.
  Status install(SnapshotId id) {
    MR_TRY(disk.rename(path(id, kPartSuffix), path(id, kSnapshotSuffix)));
    MR_TRY(disk.sync_directory(inner.path()));
    snapshots.insert(id);
    return {};
  }

  std::shared_ptr<PartitionLog> log;
  PartitionLog::Body& inner;
  env::Disk& disk;
  std::set<SnapshotId> snapshots;
};

PlainLog::PlainLog(std::unique_ptr<Body> body) : body_(std::move(body)) {}
PlainLog::~PlainLog() = default;

Result<std::unique_ptr<PlainLog>> PlainLog::open(LogDirectory& directory, TopicId topic_id, LogConfig const& config,
                                                 Wall now, CheckSnapshot const& check) {
  TopicPartition const partition{std::string(kClusterMetadataTopic), 0};
  auto const name = fmt::format("{}-0", kClusterMetadataTopic);
  auto log = directory.disk().exists(directory.path() + "/" + name)
                 ? directory.open_log_of_kind({name, partition, topic_id, false}, config, now, LogKind::plain)
                 : directory.create_log_of_kind(partition, topic_id, config, now, LogKind::plain);
  if (!log) return std::move(log).error();
  auto body = std::make_unique<Body>(*std::move(log));
  MR_TRY(body->load_snapshots());
  std::unique_ptr<PlainLog> plain(new PlainLog(std::move(body)));
  MR_TRY(plain->sync());
  // A crash between the arrival of a snapshot and the reset of the log leaves a log that ends below it, or parts from
  // it: what lies there in an earlier epoch was never committed. Kafka has the same rule.
  while (auto const latest = plain->latest_snapshot()) {
    auto const last = plain->epochs().latest();
    bool const has_its_epoch = latest->epoch <= (last ? last->epoch : LeaderEpoch{0});
    if (has_its_epoch && latest->end_offset <= plain->end().offset) break;
    auto status = check ? check(*plain, *latest) : Status{};
    if (status) {
      MR_TRY(plain->reset_to_latest_snapshot());
      break;
    }
    bool const is_damaged = status.error().kind == ErrorKind::corrupt;
    if (!is_damaged || !plain->goes_back_before(*latest)) return std::move(status).error();
    MR_TRY(plain->forget_snapshot(*latest));
  }
  // What lies below the oldest kept snapshot was given up with the older ones.
  if (!plain->body_->snapshots.empty())
    plain->body_->log->advance_log_start(plain->body_->snapshots.begin()->end_offset);
  return plain;
}

Offset PlainLog::log_start() const { return body_->log->log_start(); }
LogMark PlainLog::end() const { return body_->log->end(); }
LeaderEpochs const& PlainLog::epochs() const { return body_->log->epochs(); }
EpochEnd PlainLog::end_of_epoch(LeaderEpoch epoch) const { return body_->log->end_of_epoch(epoch); }
ReadView PlainLog::view() const { return body_->log->view(); }
RecoveryReport const& PlainLog::recovery() const { return body_->log->recovery(); }

Result<Appended> PlainLog::append(std::span<ByteView const> batches, Wall now) {
  MR_TRY_ASSIGN(auto const appended, append_unsynced(batches, now));
  MR_TRY(sync());
  return appended;
}

Result<Appended> PlainLog::append_unsynced(std::span<ByteView const> batches, Wall now) {
  return body_->log->append(batches, now);
}

Result<Offset> PlainLog::sync() { return body_->log->sync(); }
void PlainLog::assign_epoch(LeaderEpoch epoch) { body_->log->assign_epoch(epoch); }
Status PlainLog::truncate_to(Offset offset) {
  if (offset < log_start()) {
    return Error{ErrorKind::invalid,
                 fmt::format("truncate the metadata log to {} below its start {}", offset, log_start())};
  }
  MR_TRY(body_->log->truncate_to(offset));
  MR_TRY(sync());
  return {};
}

std::vector<SnapshotId> PlainLog::snapshots() const { return {body_->snapshots.begin(), body_->snapshots.end()}; }
std::optional<SnapshotId> PlainLog::latest_snapshot() const {
  if (body_->snapshots.empty()) return std::nullopt;
  return *body_->snapshots.rbegin();
}

std::string PlainLog::snapshot_path(SnapshotId id) const { return body_->path(id, kSnapshotSuffix); }

bool PlainLog::goes_back_before(SnapshotId id) const {
  if (log_start() == Offset{0}) return true;
  auto const& kept = body_->snapshots;
  auto const start = log_start();
  auto const older = std::find_if(kept.begin(), kept.end(), [&](SnapshotId one) { return one.end_offset >= start; });
  return older != kept.end() && *older < id;
}

namespace {

class PartFile final : public PlainLog::Download {
 public:
  PartFile(env::Disk& disk, std::string path, std::shared_ptr<env::File> file, std::function<Status()> install)
      : disk_(disk), path_(std::move(path)), file_(std::move(file)), install_(std::move(install)) {}
  ~PartFile() override {
    if (is_finished_) return;
    file_.reset();
    // If this fails the next opening removes it.
    static_cast<void>(disk_.remove_file(path_).ok());
  }
  Status append(ByteView piece) override {
    MR_TRY(file_->write(Position(bytes_), {&piece, 1}));
    bytes_ += static_cast<int64_t>(piece.size());
    return {};
  }
  int64_t bytes() const override { return bytes_; }
  Status finish() override {
    MR_TRY(file_->sync());
    MR_TRY(install_());
    is_finished_ = true;
    return {};
  }

 private:
  env::Disk& disk_;
  std::string path_;
  std::shared_ptr<env::File> file_;
  std::function<Status()> install_;
  int64_t bytes_ = 0;
  bool is_finished_ = false;
};

}  // namespace

Result<std::unique_ptr<PlainLog::Download>> PlainLog::begin_download(SnapshotId id) {
  auto const part = body_->path(id, kPartSuffix);
  MR_TRY_ASSIGN(auto file, body_->disk.open(part, env::OpenMode::create_empty));
  return std::unique_ptr<Download>(std::make_unique<PartFile>(body_->disk, part, std::move(file),
                                                              [body = body_.get(), id] { return body->install(id); }));
}

Status PlainLog::forget_snapshot(SnapshotId id) {
  MR_TRY(body_->disk.remove_file(body_->path(id, kSnapshotSuffix)));
  body_->snapshots.erase(id);
  return {};
}

Status PlainLog::write_snapshot(SnapshotId id, std::span<ByteView const> content) {
  MR_TRY_ASSIGN(auto download, begin_download(id));
  for (auto const& piece : content) MR_TRY(download->append(piece));
  return download->finish();
}

Result<int64_t> PlainLog::snapshot_bytes(SnapshotId id) {
  MR_TRY_ASSIGN(auto file, body_->disk.open(body_->path(id, kSnapshotSuffix), env::OpenMode::read));
  return file->size();
}

Result<size_t> PlainLog::read_snapshot(SnapshotId id, Position position, MutableByteView into) {
  MR_TRY_ASSIGN(auto file, body_->disk.open(body_->path(id, kSnapshotSuffix), env::OpenMode::read));
  return file->read(position, into);
}

Status PlainLog::reset_to_latest_snapshot() {
  auto const latest = latest_snapshot();
  MR_ASSERT(latest.has_value());
  MR_TRY(body_->log->truncate_fully_and_start_at(latest->end_offset));
  body_->log->assign_epoch(latest->epoch);
  MR_TRY(sync());
  return delete_before_snapshot(*latest);
}

Status PlainLog::delete_before_snapshot(SnapshotId id) {
  MR_TRY_ASSIGN(auto const deleted, body_->log->delete_records(id.end_offset, end().offset));
  if (deleted.files) MR_TRY(PartitionLog::unlink(*deleted.files));
  while (!body_->snapshots.empty() && *body_->snapshots.begin() < id) {
    MR_TRY(body_->disk.remove_file(body_->path(*body_->snapshots.begin(), kSnapshotSuffix)));
    body_->snapshots.erase(body_->snapshots.begin());
  }
  return {};
}

Status PlainLog::close_cleanly() { return body_->log->close_cleanly(); }

}  // namespace millrace::storage
