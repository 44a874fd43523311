#include "millrace/storage/dump.h"

#include "checkpoint_text.h"
#include "millrace/bytes/cursor.h"
#include "millrace/bytes/endian.h"
#include "millrace/bytes/text.h"
#include "millrace/protocol/json.h"
#include "millrace/protocol/records/consumer_protocol.h"
#include "millrace/protocol/records/control.h"
#include "millrace/protocol/records/framing.h"
#include "millrace/protocol/records/group_classic.h"
#include "millrace/record/legacy.h"
#include "millrace/record/record.h"
#include "millrace/storage/producer_state.h"
#include "segment.h"

namespace millrace::storage {
namespace {

constexpr int64_t kIndexBytesMax = 1LL << 30;
constexpr uint64_t kRecordsBytesMax = 1ull << 30;

std::string quoted(std::string_view text) {
  auto const clean = replace_malformed_utf8(text);
  std::string out = "\"";
  for (auto const c : clean) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// An object or array under construction.
class Json {
 public:
  Json& text(std::string_view name, std::string_view value) { return raw(name, quoted(value)); }
  template <class T>
  Json& number(std::string_view name, T value) {
    return raw(name, fmt::format("{}", value));
  }
  Json& raw(std::string_view name, std::string_view value) {
    out_ += fmt::format("{}{}: {}", out_.empty() ? "" : ", ", quoted(name), value);
    return *this;
  }
  std::string object() const { return "{" + out_ + "}"; }

 private:
  std::string out_;
};

class JsonArray {
 public:
  void add(std::string_view value) { out_ += fmt::format("{}{}", out_.empty() ? "" : ",\n ", value); }
  std::string text() const { return "[" + out_ + "]"; }

 private:
  std::string out_;
};

std::string line(std::string_view text) { return Json().text("line", text).object(); }

// ---- Payloads

// A body of `table` as JSON; `decoded_version` is the one it was written in.
Result<std::string> body_json(protocol::MessageTable const& table, Reader& in, int16_t version) {
  Arena arena;
  auto* const object = arena.allocate(table.root().size(), alignof(std::max_align_t));
  std::memcpy(object, table.root().prototype(), table.root().size());
  MR_TRY(protocol::decode(table, in, version, arena, object));
  return protocol::to_json(table, object, version);
}

protocol::RecordLog log_of(PayloadFormat format) {
  switch (format) {
    case PayloadFormat::offsets: return protocol::RecordLog::group;
    case PayloadFormat::transaction_log: return protocol::RecordLog::transaction;
    case PayloadFormat::share_group_state: return protocol::RecordLog::share_state;
    case PayloadFormat::cluster_metadata: return protocol::RecordLog::metadata;
    case PayloadFormat::text: break;
  }
  return protocol::RecordLog::none;
}

struct Shown {
  std::string key = "null";
  std::string payload = "null";
};

Shown show_text(record::RecordView const& record) {
  // Kafka's tool shows a deletion as an empty payload, and nothing at all of a record without key and value.
  auto const absent = record.key ? "\"\"" : "null";
  return {record.key ? quoted(as_text(*record.key)) : "null", record.value ? quoted(as_text(*record.value)) : absent};
}

// What a member of a classic consumer group said, in place of its base64; other protocols stay as they are.
std::string with_consumer_protocol(std::string json, ByteView body, int16_t version) {
  Reader in(body);
  Arena arena;
  protocol::GroupMetadataValue group;
  if (!protocol::decode(in, version, arena, group) || group.protocol_type != "consumer") return json;
  size_t from = 0;
  auto const replace = [&](std::string_view field, ByteView bytes, protocol::MessageTable const& table) {
    auto const old = fmt::format("\"{}\":\"{}\"", field, base64(bytes));
    auto const at = json.find(old, from);
    if (at == std::string::npos) return;
    from = at + old.size();
    Reader value(bytes);
    auto const value_version = protocol::read_int16_prefix(value);
    if (!value_version) return;
    auto const text = body_json(table, value, *value_version);
    if (!text) return;
    auto const fresh = fmt::format("\"{}\":{}", field, *text);
    json.replace(at, old.size(), fresh);
    from = at + fresh.size();
  };
  for (auto const& member : group.members) {
    replace("subscription", member.subscription, protocol::ConsumerProtocolSubscription::table());
    replace("assignment", member.assignment, protocol::ConsumerProtocolAssignment::table());
  }
  return json;
}

// Kafka's tool prints the state of a transaction by name.
std::string with_transaction_state(std::string json) {
  constexpr std::array<std::string_view, 8> kNames = {"Empty",        "Ongoing",          "PrepareCommit",
                                                      "PrepareAbort", "CompleteCommit",   "CompleteAbort",
                                                      "Dead",         "PrepareEpochFence"};
  constexpr std::string_view kField = "\"transactionStatus\":";
  auto const at = json.find(kField);
  if (at == std::string::npos) return json;
  auto const digits = at + kField.size();
  auto const end = json.find_first_not_of("-0123456789", digits);
  auto const state = parse_number<size_t>(std::string_view(json).substr(digits, end - digits));
  if (state && *state < kNames.size()) json.replace(digits, end - digits, quoted(kNames[*state]));
  return json;
}

// Keys and values of a coordinator's record: {"type":"1","data":{...}} and {"version":"4","data":{...}}.
Result<Shown> show_coordinator(record::RecordView const& record, protocol::RecordLog log) {
  if (!record.key) return Error{ErrorKind::corrupt, "a record without a key"};
  Reader key(*record.key);
  MR_TRY_ASSIGN(auto const type, protocol::read_int16_prefix(key));
  auto const* key_info = protocol::find_record(log, protocol::RecordPart::key, type);
  auto const* value_info = protocol::find_record(log, protocol::RecordPart::value, type);
  if (!key_info || !value_info) return Error{ErrorKind::unsupported, fmt::format("unknown record type {}", type)};
  Shown shown;
  MR_TRY_ASSIGN(auto const key_body, body_json(key_info->table(), key, 0));
  shown.key = quoted(fmt::format(R"({{"type":"{}","data":{}}})", type, key_body));
  if (!record.value) {
    shown.payload = quoted("<DELETE>");
    return shown;
  }
  Reader value(*record.value);
  MR_TRY_ASSIGN(auto const version, protocol::read_int16_prefix(value));
  auto const body_bytes = record.value->subspan(record.value->size() - value.remaining());
  MR_TRY_ASSIGN(auto body, body_json(value_info->table(), value, version));
  if (log == protocol::RecordLog::group && type == protocol::GroupMetadataValue::kKey) {
    body = with_consumer_protocol(std::move(body), body_bytes, version);
  }
  if (log == protocol::RecordLog::transaction) body = with_transaction_state(std::move(body));
  shown.payload = quoted(fmt::format(R"({{"version":"{}","data":{}}})", version, body));
  return shown;
}

Shown show(record::RecordView const& record, PayloadFormat format) {
  if (format == PayloadFormat::text) return show_text(record);
  if (format == PayloadFormat::cluster_metadata) {
    if (!record.value) return show_text(record);
    auto const body = protocol::metadata_record_to_json(*record.value);
    return body ? Shown{"null", quoted(*body)} : Shown{"null", quoted(fmt::format("<{}>", body.error().message))};
  }
  auto shown = show_coordinator(record, log_of(format));
  return shown ? *shown : show_text(record);
}

// A control record's own fields. The words stand where Kafka's tool prints them.
void show_control(record::RecordView const& record, Json& out) {
  auto type = record::ControlType::unknown;
  std::string headers = "[]";
  auto const version = record.value && record.value->size() >= 2 ? load_be<int16_t>(record.value->data()) : int16_t{0};
  auto const body = [&](protocol::MessageTable const& table) {
    Reader in(record.value.value_or(ByteView{}));
    auto const json = body_json(table, in, version);
    return json ? *json : fmt::format("<{}>", json.error().message);
  };
  auto const fault = record::read_control_type(record, type);
  std::string marker, leader_change, other;
  int32_t coordinator_epoch = -1;
  if (fault) {
    other = fault.message;
  } else if (type == record::ControlType::abort || type == record::ControlType::commit) {
    marker = type == record::ControlType::abort ? "ABORT" : "COMMIT";
    if (auto const bad = record::read_end_transaction(record, coordinator_epoch)) other = bad.message;
  } else if (type == record::ControlType::leader_change) {
    leader_change = body(protocol::LeaderChangeMessage::table());
  } else if (type == record::ControlType::snapshot_header) {
    headers += " SnapshotHeader " + body(protocol::SnapshotHeaderRecord::table());
  } else if (type == record::ControlType::snapshot_footer) {
    headers += " SnapshotFooter " + body(protocol::SnapshotFooterRecord::table());
  } else if (type == record::ControlType::kraft_version) {
    headers += " KRaftVersion " + body(protocol::KRaftVersionRecord::table());
  } else if (type == record::ControlType::kraft_voters) {
    headers += " KRaftVoters " + body(protocol::VotersRecord::table());
  } else {
    other = fmt::format("control type {}", static_cast<int>(type));
  }
  out.text("headerKeys", headers);
  if (!marker.empty()) out.text("endTxnMarker", marker).number("coordinatorEpoch", coordinator_epoch);
  if (!leader_change.empty()) out.text("LeaderChange", leader_change);
  if (!other.empty()) out.text("line", other);
  out.raw("key", "null").raw("payload", "null");
}

std::string header_keys(record::RecordView const& record) {
  std::string out;
  record::HeaderReader reader(record);
  record::HeaderView header;
  for (bool is_first = true; reader.next(header); is_first = false)
    out += (is_first ? "" : ",") + std::string(header.key);
  return "[" + out + "]";
}

// ---- Batches

constexpr std::string_view time_name(record::TimestampType type) {
  return type == record::TimestampType::log_append_time ? "LogAppendTime" : "CreateTime";
}

Result<std::string> dump_records(record::BatchView batch, PayloadFormat format) {
  CodecContext context;
  std::vector<std::byte> scratch;
  ByteView records;
  if (auto const fault =
          record::open_records(batch, {.output_bytes_max = kRecordsBytesMax}, context, scratch, records)) {
    return fault.to_error();
  }
  JsonArray out;
  record::RecordReader reader(batch, records);
  record::RecordView record;
  while (reader.next(record)) {
    auto const sequence = batch.base_sequence() == record::kNoSequence
                              ? record::kNoSequence
                              : record::increment_sequence(batch.base_sequence(), record.offset_delta);
    Json json;
    json.number("offset", record.offset)
        .number(time_name(batch.timestamp_type()), record.timestamp)
        .number("keySize", record.key ? static_cast<int64_t>(record.key->size()) : -1)
        .number("valueSize", record.value ? static_cast<int64_t>(record.value->size()) : -1)
        .number("sequence", sequence);
    if (batch.is_control()) {
      show_control(record, json);
    } else {
      auto const shown = show(record, format);
      json.text("headerKeys", header_keys(record)).raw("key", shown.key).raw("payload", shown.payload);
    }
    out.add(json.object());
  }
  if (reader.fault()) return reader.fault().to_error();
  return out.text();
}

Result<std::string> dump_legacy_records(record::BatchView batch) {
  CodecContext context;
  std::vector<std::byte> scratch;
  std::vector<record::LegacyMessage> messages;
  if (auto const fault =
          record::read_legacy_deep(batch, {.output_bytes_max = kRecordsBytesMax}, context, scratch, messages)) {
    return fault.to_error();
  }
  JsonArray out;
  for (auto const& message : messages) {
    Json json;
    json.number("offset", message.offset)
        .number(time_name(message.timestamp_type), message.timestamp)
        .number("keySize", message.key ? static_cast<int64_t>(message.key->size()) : -1)
        .number("valueSize", message.value ? static_cast<int64_t>(message.value->size()) : -1)
        .raw("key", message.key ? quoted(as_text(*message.key)) : "null")
        .raw("payload", quoted(message.value ? as_text(*message.value) : ""));
    out.add(json.object());
  }
  return out.text();
}

std::string dump_batch(record::BatchView batch, BatchHead const& head, Position position, PayloadFormat format) {
  auto const codec = [](int id) {
    return codec_from_id(id) ? std::string(codec_name(*codec_from_id(id))) : fmt::format("{}", id);
  };
  Json json;
  if (head.magic == 2) {
    auto const horizon = batch.delete_horizon_ms();
    json.number("baseOffset", batch.base_offset())
        .number("lastOffset", batch.last_offset())
        .number("count", batch.record_count())
        .number("baseSequence", batch.base_sequence())
        .number("lastSequence", batch.last_sequence())
        .number("producerId", batch.producer_id())
        .number("producerEpoch", batch.producer_epoch())
        .number("partitionLeaderEpoch", batch.leader_epoch())
        .raw("isTransactional", batch.is_transactional() ? "true" : "false")
        .raw("isControl", batch.is_control() ? "true" : "false")
        .text("deleteHorizonMs", horizon ? fmt::format("OptionalLong[{}]", *horizon) : "OptionalLong.empty")
        .number("position", position)
        .number(time_name(batch.timestamp_type()), batch.max_timestamp())
        .number("size", batch.size_bytes())
        .number("magic", static_cast<int>(head.magic))
        .text("compresscodec", codec(batch.codec_id()))
        .number("crc", batch.crc());
  } else {
    record::LegacyMessage message;
    if (auto const fault = record::read_legacy(batch, message)) return line(fault.message);
    json.number("offset", message.offset)
        .number("position", position)
        .number(time_name(message.timestamp_type), message.timestamp)
        .number("size", batch.size_bytes())
        .number("magic", static_cast<int>(head.magic))
        .text("compresscodec", codec(message.codec_id));
  }
  auto const fault = record::check(batch);
  auto const records = fault             ? Result<std::string>(fault.to_error())
                       : head.magic == 2 ? dump_records(batch, format)
                                         : dump_legacy_records(batch);
  if (records) return json.raw("records", *records).object();
  return json.text("line", records.error().message).object();
}

Result<std::string> dump_batches(env::Disk& disk, std::string const& path, std::string_view first_line,
                                 PayloadFormat format) {
  MR_TRY_ASSIGN(auto file, disk.open(path, env::OpenMode::read));
  MR_TRY_ASSIGN(auto const size, file->size());
  JsonArray out;
  if (!first_line.empty()) out.add(line(first_line));
  BatchScanner scanner(*file, Position(0), Position(size));
  for (BatchHead head;;) {
    auto const more = scanner.next(head);
    if (!more) {
      out.add(line(
          fmt::format("Found {} invalid bytes at the end: {}", size - scanner.position().value, more.error().message)));
      break;
    }
    if (!*more) break;
    MR_TRY_ASSIGN(auto const bytes, scanner.bytes());
    out.add(dump_batch(record::BatchView(bytes), head, scanner.position(), format));
  }
  return out.text();
}

// ---- Other files

std::string dump_producers(std::string_view content) {
  JsonArray out;
  auto const entries = parse_producer_snapshot(content);
  if (!entries) {
    out.add(line(entries.error().message));
    return out.text();
  }
  for (auto const& [id, entry] : *entries) {
    Json json;
    auto const open = entry.open_transaction_first_offset;
    json.number("producerId", id)
        .number("producerEpoch", entry.epoch)
        .number("coordinatorEpoch", entry.coordinator_epoch)
        .text("currentTxnFirstOffset", open ? fmt::format("OptionalLong[{}]", *open) : "OptionalLong.empty")
        .number("lastTimestamp", entry.last_timestamp_ms);
    if (entry.batch_count > 0) {
      auto const& batch = entry.batches[entry.batch_count - 1];
      json.number("firstSequence", batch.first_sequence())
          .number("lastSequence", batch.last_sequence)
          .number("lastOffset", batch.last_offset)
          .number("offsetDelta", batch.offset_delta)
          .number("timestamp", batch.timestamp_ms);
    }
    out.add(json.object());
  }
  return out.text();
}

}  // namespace

PayloadFormat payload_format_of(std::string_view path) {
  auto const holds = [&](std::string_view topic) {
    return path.find(std::string(topic) + "-") != std::string_view::npos;
  };
  if (holds("__cluster_metadata") || path.ends_with(".checkpoint")) return PayloadFormat::cluster_metadata;
  if (holds("__consumer_offsets")) return PayloadFormat::offsets;
  if (holds("__transaction_state")) return PayloadFormat::transaction_log;
  if (holds("__share_group_state")) return PayloadFormat::share_group_state;
  return PayloadFormat::text;
}

Result<std::string> dump_file(env::Disk& disk, std::string const& path, PayloadFormat format) {
  auto const slash = path.rfind('/');
  std::string_view const name = std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
  auto const dot = name.rfind('.');
  auto const suffix = dot == std::string_view::npos ? std::string_view{} : name.substr(dot);
  auto const base = parse_number<int64_t>(name.substr(0, std::min<size_t>(name.size(), 20)));
  if (!base) return Error{ErrorKind::invalid, fmt::format("{}: the name does not begin with an offset", path)};
  if (suffix == ".log") return dump_batches(disk, path, "", format);
  if (suffix == ".checkpoint") {
    auto const epoch = name.size() > 21 ? parse_number<int32_t>(name.substr(21, dot - 21)) : std::nullopt;
    return dump_batches(disk, path, fmt::format("Snapshot end offset: {}, epoch: {}", *base, epoch.value_or(-1)),
                        format);
  }
  MR_TRY_ASSIGN(auto const content, disk.read_file(path, kIndexBytesMax));
  JsonArray out;
  if (suffix == ".index") {
    for (auto const& entry : parse_offset_index(content)) {
      out.add(Json().number("offset", *base + entry.relative_offset).number("position", entry.position).object());
    }
  } else if (suffix == ".timeindex") {
    for (auto const& entry : parse_time_index(content)) {
      out.add(Json().number("timestamp", entry.timestamp_ms).number("offset", *base + entry.relative_offset).object());
    }
  } else if (suffix == ".txnindex") {
    for (auto const& entry : parse_transaction_index(content)) {
      out.add(Json()
                  .number("version", 0)
                  .number("producerId", entry.producer_id)
                  .number("firstOffset", entry.first_offset)
                  .number("lastOffset", entry.last_offset)
                  .number("lastStableOffset", entry.last_stable_offset)
                  .object());
    }
  } else if (suffix == ".snapshot") {
    return dump_producers(content);
  } else {
    return Error{ErrorKind::invalid, fmt::format("{}: a file of this kind has no dump", path)};
  }
  return out.text();
}

}  // namespace millrace::storage
