#include "producer_batches.h"

#include "millrace/bytes/crc32c.h"
#include "millrace/bytes/cursor.h"
#include "millrace/bytes/endian.h"
#include "partition_body.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kMagic = "MRbatch1";
constexpr size_t kEarlierMax = kProducerBatchesKept - 1;

template <class T>
void put(std::string& out, T value) {
  std::array<std::byte, sizeof(T)> bytes;
  store_be(bytes.data(), value);
  out += as_text(bytes);
}

}  // namespace

std::string format_producer_batches(ProducerState const& producers, TopicId topic_id, Offset at,
                                    std::string_view snapshot) {
  std::string body;
  producers.for_each([&](ProducerId id, ProducerEntry const& entry) {
    if (entry.batch_count < 2) return;
    put(body, id.value);
    put(body, entry.epoch.value);
    put(body, static_cast<uint8_t>(entry.batch_count - 1));
    for (size_t i = 0; i + 1 < entry.batch_count; ++i) {
      put(body, entry.batches[i].last_sequence);
      put(body, entry.batches[i].offset_delta);
      put(body, entry.batches[i].last_offset.value);
      put(body, entry.batches[i].timestamp_ms);
    }
  });
  if (body.empty()) return {};
  std::string out(kMagic);
  out.append(reinterpret_cast<char const*>(topic_id.bytes.data()), topic_id.bytes.size());
  put(out, at.value);
  put(out, crc32c(as_bytes(snapshot)));
  out += body;
  put(out, crc32c(as_bytes(out)));
  return out;
}

void restore_producer_batches(std::string_view content, TopicId topic_id, Offset at, std::string_view snapshot,
                              Offset log_start, ProducerState& producers) {
  if (content.size() < sizeof(uint32_t)) return;
  auto const covered = as_bytes(content).first(content.size() - sizeof(uint32_t));
  Reader checksum(as_bytes(content).subspan(covered.size()));
  if (checksum.u32() != crc32c(covered)) return;
  Reader in(covered);
  bool const is_ours = as_text(in.bytes(kMagic.size())) == kMagic && in.uuid() == topic_id && in.i64() == at.value &&
                       in.u32() == crc32c(as_bytes(snapshot));
  if (!is_ours) return;
  while (in.ok() && !in.at_end()) {
    ProducerId const id(in.i64());
    ProducerEpoch const epoch(in.i16());
    size_t const count = in.u8();
    std::array<ProducerBatch, kEarlierMax> batches;
    if (count > kEarlierMax) return;
    for (size_t i = 0; i < count; ++i) {
      batches[i] = {.last_sequence = in.i32(),
                    .offset_delta = in.i32(),
                    .last_offset = Offset(in.i64()),
                    .timestamp_ms = in.i64()};
    }
    if (in.ok()) producers.add_earlier(id, epoch, {batches.data(), count}, log_start);
  }
}

// ---- The files of a log

PartitionLog::Body::ProducerFiles PartitionLog::Body::producer_files(Offset at) const {
  ProducerFiles files;
  files.snapshot = producers.snapshot();
  files.batches = format_producer_batches(producers, topic_id, at, files.snapshot);
  return files;
}

Status PartitionLog::Body::write_producer_files(Offset at, ProducerFiles const& files) {
  MR_TRY_ASSIGN(auto file,
                directory.disk().open(path(offset_file_stem(at) + ".snapshot"), env::OpenMode::create_empty));
  ByteView const piece = as_bytes(files.snapshot);
  MR_TRY(file->write(Position(0), {&piece, 1}));
  snapshots.insert(at);
  if (files.batches.empty()) return remove_producer_batches();
  auto const save = [&]() -> Status {
    MR_TRY_ASSIGN(auto side_file, directory.disk().open(path(kProducerBatchesFile), env::OpenMode::create_empty));
    ByteView const batches = as_bytes(files.batches);
    return side_file->write(Position(0), {&batches, 1});
  };
  auto saved = save();
  if (saved || saved.error().kind != ErrorKind::no_space) return saved;
  return remove_producer_batches();  // an older one could be taken for this snapshot's
}

Status PartitionLog::Body::remove_producer_batches() {
  auto removed = directory.disk().remove_file(path(kProducerBatchesFile));
  if (!removed && removed.error().kind == ErrorKind::not_found) return {};
  return removed;
}

}  // namespace millrace::storage
