#include "millrace/runtime/metadata_log.h"

#include "millrace/metadata/controller.h"
#include "millrace/raft/control_records.h"
#include "millrace/raft/quorum_state.h"
#include "millrace/record/builder.h"
#include "millrace/record/record.h"

namespace millrace::runtime {
namespace {

constexpr int64_t kReadBytes = 8LL << 20;
constexpr int64_t kSnapshotBytesMax = 1LL << 30;
constexpr size_t kSnapshotBatchBytes = 4U << 20;

using record::ControlType;

// What a run of batches says: records go to the replayer, control records tell the voters.
struct Loader {
  metadata::Replayer& replayer;
  raft::LoadedState& raft;
  metadata::RecordList* formatted = nullptr;  // set: records are kept here and not replayed
  bool is_snapshot = false;
  int64_t last_timestamp_ms = -1;
  bool saw_footer = false;
  bool saw_voters = false;
  std::vector<raft::EpochStart>* epochs = nullptr;  // set: where each begins is noted here
  std::deque<LoadedTail>* tail = nullptr;           // set: the newest images are kept here

  Status control(record::RecordView const& record) {
    ControlType type{};
    if (auto fault = record::read_control_type(record, type)) return fault.to_error();
    auto const value = record.value.value_or(ByteView{});
    switch (type) {
      case ControlType::kraft_version: {
        MR_TRY_ASSIGN(raft.kraft_version, raft::decode_kraft_version(value));
        return {};
      }
      case ControlType::kraft_voters: {
        MR_TRY_ASSIGN(raft.voters, raft::decode_voters(value));
        saw_voters = true;
        return {};
      }
      case ControlType::snapshot_header: {
        MR_TRY_ASSIGN(last_timestamp_ms, raft::decode_snapshot_header(value));
        return {};
      }
      case ControlType::snapshot_footer: saw_footer = true; return {};
      default: return {};
    }
  }

  Status batch(record::BatchView batch) {
    if (auto fault = record::check(batch)) return fault.to_error();
    CodecContext codecs;
    std::vector<std::byte> scratch;
    ByteView payload;
    if (auto fault = record::open_records(batch, {}, codecs, scratch, payload)) return fault.to_error();
    record::RecordReader records(batch, payload);
    record::RecordView record;
    while (records.next(record)) {
      if (batch.is_control()) {
        MR_TRY(control(record));
        if (!is_snapshot) replayer.skip(record.offset, batch.leader_epoch(), record.timestamp);
        continue;
      }
      auto const value = record.value.value_or(ByteView{});
      if (formatted != nullptr) {
        formatted->add_encoded(SharedBytes::copy_of(value));
        continue;
      }
      MR_TRY(replayer.apply(value, record.offset, batch.leader_epoch(), record.timestamp));
    }
    if (auto fault = records.fault()) return fault.to_error();
    if (epochs != nullptr && (epochs->empty() || epochs->back().epoch < batch.leader_epoch())) {
      epochs->push_back({batch.leader_epoch(), batch.base_offset()});
    }
    if (tail != nullptr) {
      tail->push_back({batch.next_offset(), replayer.visible(), replayer.take_delta()});
      if (tail->size() > kLoadedTailMax) tail->pop_front();
    }
    return {};
  }
};

Result<Bytes> read_snapshot(storage::PlainLog& log, storage::SnapshotId id) {
  MR_TRY_ASSIGN(auto const size, log.snapshot_bytes(id));
  if (size > kSnapshotBytesMax) {
    return Error{ErrorKind::limit, fmt::format("read metadata snapshot {}-{}: {} bytes", id.end_offset, id.epoch, size)};
  }
  Bytes bytes(static_cast<size_t>(size));
  size_t done = 0;
  while (done < bytes.size()) {
    MR_TRY_ASSIGN(auto const count, log.read_snapshot(id, Position{static_cast<int64_t>(done)}, MutableByteView(bytes).subspan(done)));
    if (count == 0) return Error{ErrorKind::corrupt, fmt::format("read metadata snapshot {}-{}: it ends early", id.end_offset, id.epoch)};
    done += count;
  }
  return bytes;
}

Status load_snapshot(storage::PlainLog& log, storage::SnapshotId id, Loader& loader) {
  MR_TRY_ASSIGN(auto const bytes, read_snapshot(log, id));
  loader.is_snapshot = true;
  record::BatchReader batches(bytes);
  record::BatchView batch;
  while (batches.next(batch)) MR_TRY(loader.batch(batch));
  if (auto fault = batches.fault()) return fault.to_error();
  if (!loader.saw_footer || !batches.rest().empty()) {
    return Error{ErrorKind::corrupt, fmt::format("read metadata snapshot {}-{}: it has no end", id.end_offset, id.epoch)};
  }
  return {};
}

Error damaged(storage::PlainLog const& log, storage::SnapshotId id, Error const& why) {
  return {why.kind, fmt::format("read {}: {}", log.snapshot_path(id), why.message)};
}

Error cannot_do_without(Error damage) {
  damage.message +=
      "; the log does not go back to what it holds. While all other controllers are up, move the files of its "
      "directory away and start again: this node fetches them anew, and votes when it has";
  return damage;
}

// The newest snapshot that is whole; none: the log goes back to its beginning. Damaged ones are noted, and given up
// where the log holds what is in them.
Result<std::optional<storage::SnapshotId>> load_newest_snapshot(storage::PlainLog& log, Loader& loader,
                                                                std::vector<std::string>& given_up) {
  std::optional<storage::SnapshotId> whole;
  std::vector<storage::SnapshotId> bad;
  std::optional<Error> newest_damage;
  auto const kept = log.snapshots();
  for (auto id = kept.rbegin(); id != kept.rend() && !whole; ++id) {
    if (id->end_offset == Offset{0} || id->end_offset < log.log_start()) break;  // what bootstraps is in the log, too
    metadata::Replayer replayer;  // half of a damaged one must not stay behind
    auto quorum = loader.raft;
    Loader one{replayer, quorum};
    if (auto const status = load_snapshot(log, *id, one); !status) {
      auto damage = damaged(log, *id, status.error());
      if (damage.kind != ErrorKind::corrupt) return damage;
      bad.push_back(*id);
      given_up.push_back(damage.message);
      if (!newest_damage) newest_damage = std::move(damage);
      continue;
    }
    whole = *id;
    loader.replayer = std::move(replayer);
    loader.raft = std::move(quorum);
    loader.last_timestamp_ms = one.last_timestamp_ms;
  }
  if (!whole && newest_damage && log.log_start() > Offset{0}) return cannot_do_without(*std::move(newest_damage));
  for (auto const id : bad) MR_TRY(log.forget_snapshot(id));
  return whole;
}

Result<int64_t> load_log(storage::PlainLog& log, Offset from, Loader& loader) {
  loader.is_snapshot = false;
  auto const view = log.view();
  auto const end = log.end();
  int64_t total = 0;
  while (from < end.offset) {
    storage::ReadRequest request;
    request.from = from;
    request.bytes_max = kReadBytes;
    request.upper = end;
    request.region_bytes_min = std::numeric_limits<int64_t>::max();
    MR_TRY_ASSIGN(auto const result, view.read(request));
    if (!result.records) break;
    auto const* bytes = std::get_if<SharedBytes>(&*result.records);
    MR_ASSERT(bytes != nullptr);
    record::BatchReader batches(bytes->view());
    record::BatchView batch;
    auto const before = from;
    while (batches.next(batch)) {
      if (batch.next_offset() <= from) continue;
      MR_TRY(loader.batch(batch));
      from = batch.next_offset();
      total += static_cast<int64_t>(batch.size_bytes());
    }
    if (auto fault = batches.fault()) return fault.to_error();
    if (from == before) break;
  }
  if (from < end.offset) {
    return Error{ErrorKind::corrupt, fmt::format("read the metadata log: nothing can be read at offset {}, the log ends at {}", from,
                                                 end.offset)};
  }
  return total;
}

// Of what lies between the log's start and `end`, where the loading of records begins.
std::vector<raft::EpochStart> epochs_before(storage::PlainLog const& log, storage::SnapshotId const& snapshot) {
  std::vector<raft::EpochStart> out;
  auto const start = log.log_start();
  for (auto const& e : log.epochs().entries()) {
    if (e.start >= snapshot.end_offset) break;
    if (!out.empty() && e.start <= start) out.pop_back();
    out.push_back({e.epoch, std::max(e.start, start)});
  }
  if (start < snapshot.end_offset && (out.empty() || out.front().start > start)) out.assign(1, {snapshot.epoch, start});
  return out;
}

raft::VoterSet sole_voter(MetadataLogOptions const& options) {
  raft::Voter voter;
  voter.key = options.self;
  voter.endpoints = options.endpoints;
  return {{voter}};
}

}  // namespace

std::string quorum_state_path(storage::LogDirectory const& directory) {
  return fmt::format("{}/{}-0/{}", directory.path(), storage::kClusterMetadataTopic, raft::kQuorumStateFile);
}

Result<LoadedMetadata> load_metadata_log(storage::LogDirectory& directory, MetadataLogOptions const& options, Wall now) {
  LoadedMetadata out;
  storage::LogConfig config;
  auto const check = [&out](storage::PlainLog& log, storage::SnapshotId id) -> Status {
    auto const content = load_snapshot_content(log, id);
    if (content) return {};
    auto damage = damaged(log, id, content.error());
    if (damage.kind != ErrorKind::corrupt) return damage;
    if (!log.goes_back_before(id)) return cannot_do_without(std::move(damage));
    out.given_up.push_back(damage.message);
    return damage;
  };
  MR_TRY_ASSIGN(out.log, storage::PlainLog::open(directory, metadata::kMetadataTopicId, config, now, check));
  out.raft.voters = options.static_voters;
  if (options.static_voters.voters.empty() && options.is_first_voter) out.raft.voters = sole_voter(options);
  out.snapshot = out.log->latest_snapshot();
  Loader loader{out.replayer, out.raft};
  static constexpr storage::SnapshotId kBootstrap{Offset{0}, LeaderEpoch{0}};
  bool const is_empty = out.log->end().offset == Offset{0};
  if (is_empty && !out.snapshot) {
    // Format: what storage tools leave behind, so that any Kafka node would start from it too.
    out.formatted = metadata::Controller::default_feature_records();
    out.raft.kraft_version = options.static_voters.voters.empty() ? int16_t{1} : int16_t{0};
    out.raft.voters_are_unwritten = out.raft.kraft_version > 0 && options.is_first_voter;
    auto const bytes = build_snapshot(out.formatted, LeaderEpoch{0}, now.ms, out.raft.kraft_version, out.raft.voters, now);
    ByteView const content(bytes);
    MR_TRY(out.log->write_snapshot(kBootstrap, std::span(&content, 1)));
    out.snapshot = kBootstrap;
  } else if (is_empty && *out.snapshot == kBootstrap) {
    loader.formatted = &out.formatted;
    auto const status = load_snapshot(*out.log, kBootstrap, loader);
    if (!status) return damaged(*out.log, kBootstrap, status.error());
    out.raft.voters_are_unwritten = out.raft.kraft_version > 0 && !out.raft.voters.voters.empty();
  } else {
    Offset from{0};
    MR_TRY_ASSIGN(out.snapshot, load_newest_snapshot(*out.log, loader, out.given_up));
    if (out.snapshot) {
      out.raft.epochs = epochs_before(*out.log, *out.snapshot);
      from = out.snapshot->end_offset;
      out.replayer.skip(from - 1, out.snapshot->epoch, loader.last_timestamp_ms);
    }
    loader.epochs = &out.raft.epochs;
    bool const is_alone = out.raft.voters.voters.size() == 1 && out.raft.voters.voters.front().key.id == options.self.id;
    if (!is_alone) loader.tail = &out.tail;
    MR_TRY_ASSIGN(out.bytes_since_snapshot, load_log(*out.log, from, loader));
    loader.epochs = nullptr;
    loader.tail = nullptr;
    out.raft.high_watermark = from;
  }
  if (out.raft.kraft_version > 0 && !out.raft.voters_are_unwritten) {
    // A listener that has moved is told to the quorum with this node's next leadership.
    for (auto& voter : out.raft.voters.voters) {
      if (voter.key != options.self || voter.endpoints == options.endpoints) continue;
      voter.endpoints = options.endpoints;
      out.raft.voters_are_unwritten = true;
    }
  }
  if (out.replayer.is_in_transaction()) {
    return Error{ErrorKind::corrupt, "read the metadata log: it ends inside a metadata transaction"};
  }
  if (out.snapshot && *out.snapshot != kBootstrap) out.raft.snapshot = {out.snapshot->end_offset, out.snapshot->epoch};
  for (auto const& id : out.log->snapshots()) {
    if (id.end_offset == out.log->log_start()) out.raft.log_start = {id.end_offset, id.epoch};
  }
  out.raft.log_start.offset = out.log->log_start();
  out.raft.log_end = {out.log->end().offset,
                      out.raft.epochs.empty() ? out.raft.log_start.epoch : out.raft.epochs.back().epoch};
  auto quorum_state = directory.disk().read_file(quorum_state_path(directory), raft::kQuorumStateBytesMax);
  if (quorum_state) {
    MR_TRY_ASSIGN(out.raft.election, raft::parse_quorum_state(*quorum_state));
    // What this node will say about its vote must be on the disk, not only in a page cache that the disk has failed.
    if (directory.is_cache_suspect())
      MR_TRY(env::replace_file(directory.disk(), quorum_state_path(directory), *quorum_state));
  } else if (quorum_state.error().kind != ErrorKind::not_found) {
    return std::move(quorum_state).error();
  }
  return out;
}

Result<metadata::Replayer> replay_log(storage::PlainLog& log) {
  metadata::Replayer out;
  raft::LoadedState quorum;
  Loader loader{out, quorum};
  Offset from{0};
  if (auto const snapshot = log.latest_snapshot(); snapshot && snapshot->end_offset > Offset{0}) {
    MR_TRY(load_snapshot(log, *snapshot, loader));
    from = snapshot->end_offset;
    out.skip(from - 1, snapshot->epoch, loader.last_timestamp_ms);
  }
  MR_TRY(load_log(log, from, loader));
  return out;
}

Result<LoadedSnapshot> load_snapshot_content(storage::PlainLog& log, storage::SnapshotId id) {
  LoadedSnapshot out;
  raft::LoadedState quorum;
  quorum.kraft_version = -1;
  Loader loader{out.replayer, quorum};
  MR_TRY(load_snapshot(log, id, loader));
  out.replayer.skip(id.end_offset - 1, id.epoch, loader.last_timestamp_ms);
  if (loader.saw_voters) out.voters = std::move(quorum.voters);
  if (quorum.kraft_version >= 0) out.kraft_version = quorum.kraft_version;
  return out;
}

Result<std::vector<SharedBytes>> read_batches(storage::PlainLog& log, Offset from, int32_t bytes_max) {
  storage::ReadRequest request;
  request.from = from;
  request.bytes_max = bytes_max;
  request.upper = log.end();
  request.region_bytes_min = std::numeric_limits<int64_t>::max();
  std::vector<SharedBytes> out;
  auto const view = log.view();
  MR_TRY_ASSIGN(auto const result, view.read(request));
  if (!result.records) return out;
  auto const* bytes = std::get_if<SharedBytes>(&*result.records);
  MR_ASSERT(bytes != nullptr);
  record::BatchReader batches(bytes->view());
  record::BatchView batch;
  while (batches.next(batch)) {
    if (batch.next_offset() <= from) continue;
    out.push_back(bytes->slice(static_cast<size_t>(batch.bytes().data() - bytes->data()), batch.size_bytes()));
  }
  return out;
}

Result<raft::BatchInfo> describe_batch(record::BatchView batch) {
  if (auto fault = record::check(batch)) return fault.to_error();
  if (!batch.has_header()) return Error{ErrorKind::corrupt, "a batch of the metadata log is of an old format"};
  raft::BatchInfo out{batch.base_offset(), batch.next_offset(), batch.leader_epoch(), {}, {}};
  if (!batch.is_control()) return out;
  metadata::Replayer ignored;
  raft::LoadedState quorum;
  quorum.kraft_version = -1;
  Loader loader{ignored, quorum};
  MR_TRY(loader.batch(batch));
  if (loader.saw_voters) out.voters = std::make_shared<raft::VoterSet const>(std::move(quorum.voters));
  if (quorum.kraft_version >= 0) out.kraft_version = quorum.kraft_version;
  return out;
}

Status replay_batch(record::BatchView batch, metadata::Replayer& replayer) {
  raft::LoadedState quorum;
  Loader loader{replayer, quorum};
  return loader.batch(batch);
}

Bytes build_record_batch(Offset base, LeaderEpoch epoch, metadata::RecordList const& records, Wall now) {
  record::BatchOptions options;
  options.base_offset = base;
  options.leader_epoch = epoch;
  record::BatchBuilder builder(options);
  for (auto const& value : records.values()) builder.append({now.ms, std::nullopt, value.view(), {}});
  return builder.build();
}

namespace {

record::BatchBuilder control_builder(Offset base, LeaderEpoch epoch) {
  record::BatchOptions options;
  options.base_offset = base;
  options.leader_epoch = epoch;
  options.is_control = true;
  return record::BatchBuilder(options);
}

void add_control(record::BatchBuilder& builder, ControlType type, SharedBytes const& value, Wall now) {
  auto const key = record::control_key(type);
  builder.append({now.ms, ByteView(key), value.view(), {}});
}

void add_voters(record::BatchBuilder& builder, int16_t kraft_version, raft::VoterSet const& voters, Wall now) {
  add_control(builder, ControlType::kraft_version, raft::encode_kraft_version(kraft_version), now);
  add_control(builder, ControlType::kraft_voters, raft::encode_voters(voters), now);
}

void append_bytes(Bytes& out, Bytes const& more) { out.insert(out.end(), more.begin(), more.end()); }

}  // namespace

Bytes build_leader_change_batch(raft::effect::AppendLeaderChange const& change, int16_t kraft_version, raft::VoterSet const& voters,
                                Wall now) {
  auto builder = control_builder(change.base, change.epoch);
  add_control(builder, ControlType::leader_change,
              raft::encode_leader_change(change.leader, change.voters, change.granting_voters), now);
  if (change.with_voters) add_voters(builder, kraft_version, voters, now);
  return builder.build();
}

Bytes build_snapshot(metadata::RecordList const& records, LeaderEpoch epoch, int64_t last_timestamp_ms, int16_t kraft_version,
                     raft::VoterSet const& voters, Wall now) {
  Bytes out;
  auto header = control_builder(Offset{0}, epoch);
  add_control(header, ControlType::snapshot_header, raft::encode_snapshot_header(last_timestamp_ms), now);
  if (kraft_version > 0) add_voters(header, kraft_version, voters, now);
  append_bytes(out, header.build());
  auto next = header.next_offset();
  metadata::RecordList batch;
  auto const flush = [&] {
    if (batch.empty()) return;
    append_bytes(out, build_record_batch(next, epoch, batch, now));
    next += static_cast<int64_t>(batch.size());
    batch = {};
  };
  size_t bytes = 0;
  for (auto const& value : records.values()) {
    batch.add_encoded(value);
    bytes += value.size();
    if (bytes < kSnapshotBatchBytes) continue;
    flush();
    bytes = 0;
  }
  flush();
  auto footer = control_builder(next, epoch);
  add_control(footer, ControlType::snapshot_footer, raft::encode_snapshot_footer(), now);
  append_bytes(out, footer.build());
  return out;
}

}  // namespace millrace::runtime
