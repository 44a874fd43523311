#include "batches.h"

#include "millrace/record/builder.h"
#include "millrace/record/legacy.h"

namespace millrace::vectors {

namespace {

using nlohmann::json;
using namespace record;

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr DecompressLimits kLimits{.output_bytes_max = uint64_t{1} << 30};

std::string to_base64(ByteView bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    auto const count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::vector<std::byte> from_base64(std::string const& text) {
  std::vector<std::byte> bytes;
  uint32_t group = 0;
  int bits = 0;
  for (auto const c : text) {
    if (c == '=') break;
    group = group << 6 | static_cast<uint32_t>(kAlphabet.find(c));
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::byte>(group >> bits));
    }
  }
  return bytes;
}

std::vector<std::byte> from_hex(std::string const& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

json optional_json(std::optional<ByteView> const& bytes) { return bytes ? json(to_base64(*bytes)) : json(nullptr); }

std::string_view type_name(TimestampType type) {
  switch (type) {
    case TimestampType::none: return "NoTimestampType";
    case TimestampType::create_time: return "CreateTime";
    case TimestampType::log_append_time: return "LogAppendTime";
  }
  return "";
}

struct Read {
  json batches = json::array();
  json error;  // null: none
};

void fail(Read& read, char const* at, Fault const& fault) {
  read.error = {{"at", at}, {"code", static_cast<int>(fault.code)}};
}

bool read_legacy_batch(BatchView view, CodecContext& context, json& out, Read& read) {
  LegacyMessage wrapper;
  if (auto fault = read_legacy(view, wrapper)) return fail(read, "header", fault), false;
  std::vector<std::byte> scratch;
  std::vector<LegacyMessage> messages;
  auto const fault = read_legacy_deep(view, kLimits, context, scratch, messages);
  out["baseOffset"] = messages.empty() ? wrapper.offset.value : messages.front().offset.value;
  out["lastOffset"] = wrapper.offset.value;
  out["compression"] = codec_name(codec_from_id(wrapper.codec_id).value_or(Codec::none));
  out["timestampType"] = type_name(wrapper.timestamp_type);
  out["maxTimestamp"] = wrapper.timestamp;
  if (auto damaged = check(view)) return fail(read, "ensureValid", damaged), false;
  if (fault) return fail(read, "records", fault), false;
  out["records"] = json::array();
  for (auto const& m : messages) {
    out["records"].push_back({{"offset", m.offset.value}, {"timestamp", m.timestamp}, {"key", optional_json(m.key)},
                              {"value", optional_json(m.value)}});
  }
  return true;
}

json record_json(RecordView const& record, BatchView view) {
  json out = {{"offset", record.offset.value},
              {"timestamp", record.timestamp},
              {"sequence", view.base_sequence() < 0 ? kNoSequence
                                                    : increment_sequence(view.base_sequence(), record.offset_delta)},
              {"key", optional_json(record.key)},
              {"value", optional_json(record.value)}};
  HeaderReader headers(record);
  HeaderView header;
  while (headers.next(header)) out["headers"].push_back({header.key, optional_json(header.value)});
  return out;
}

bool read_batch(BatchView view, CodecContext& context, json& out, Read& read) {
  // Kafka reads field by field and stops at the first that a too short batch does not have.
  auto const has = [&](size_t position, size_t bytes) { return view.size_bytes() >= position + bytes; };
  Fault const too_short{Code::unknown_server_error, "header"};
  out["baseOffset"] = view.base_offset().value;
  if (!has(kLastOffsetDeltaPosition, 4)) return fail(read, "header", too_short), false;
  out["lastOffset"] = view.last_offset().value;
  auto const codec = view.codec();
  if (!codec) return fail(read, "compression", {Code::unknown_server_error, ""}), false;
  out["compression"] = codec_name(*codec);
  out["timestampType"] = type_name(view.timestamp_type());
  out["partitionLeaderEpoch"] = view.leader_epoch().value;
  out["crc"] = view.crc();
  if (!has(kBaseTimestampPosition, 8)) return fail(read, "header", too_short), false;
  out["baseTimestamp"] = view.base_timestamp();
  if (!has(kMaxTimestampPosition, 8)) return fail(read, "header", too_short), false;
  out["maxTimestamp"] = view.max_timestamp();
  if (!has(kProducerIdPosition, 8)) return fail(read, "header", too_short), false;
  out["producerId"] = view.producer_id().value;
  if (!has(kProducerEpochPosition, 2)) return fail(read, "header", too_short), false;
  out["producerEpoch"] = view.producer_epoch().value;
  if (!has(kBaseSequencePosition, 4)) return fail(read, "header", too_short), false;
  out["baseSequence"] = view.base_sequence();
  out["lastSequence"] = view.last_sequence();
  out["isTransactional"] = view.is_transactional();
  out["isControl"] = view.is_control();
  if (!has(kRecordCountPosition, 4)) return fail(read, "header", too_short), false;
  out["count"] = view.record_count();
  if (auto const horizon = view.delete_horizon_ms()) out["deleteHorizonMs"] = *horizon;
  if (auto fault = check(view)) return fail(read, "ensureValid", fault), false;

  out["records"] = json::array();
  if (view.record_count() == 0) return true;
  std::vector<std::byte> scratch;
  ByteView bytes;
  if (auto fault = open_records(view, kLimits, context, scratch, bytes)) return fail(read, "records", fault), false;
  RecordReader records(view, bytes);
  RecordView record;
  while (records.next(record)) out["records"].push_back(record_json(record, view));
  if (!records.fault()) return true;
  if (view.is_compressed()) out["records"] = json::array();  // Kafka lists these only when it has read them all
  return fail(read, "records", records.fault()), false;
}

json read_blob(ByteView bytes, CodecContext& context) {
  Read read;
  BatchReader reader(bytes);
  BatchView view;
  bool whole = true;
  while (whole && reader.next(view)) {
    json batch = {{"magic", view.magic()}, {"size", view.size_bytes()}};
    whole = view.magic() < kMagicMax ? read_legacy_batch(view, context, batch, read)
                                     : read_batch(view, context, batch, read);
    read.batches.push_back(batch);
  }
  if (reader.fault()) fail(read, "iterate", reader.fault());
  json out = {{"batches", read.batches}};
  if (!read.error.is_null()) {
    out["error"] = read.error;
  } else if (!reader.rest().empty()) {
    out["trailing"] = reader.rest().size();
  }
  return out;
}

std::optional<ByteView> optional_bytes(json const& value, std::deque<std::vector<std::byte>>& storage) {
  if (value.is_null()) return std::nullopt;
  return ByteView(storage.emplace_back(from_base64(value.get<std::string>())));
}

void build_legacy(json const& batch, std::vector<std::byte>& out) {
  std::deque<std::vector<std::byte>> storage;
  auto const& type = batch.at("timestampType");
  for (auto const& record : batch.at("records")) {
    append_legacy({.magic = batch.at("magic").get<int8_t>(),
                   .offset = Offset(record.at("offset").get<int64_t>()),
                   .timestamp_type = type == "LogAppendTime" ? TimestampType::log_append_time
                                     : type == "CreateTime"  ? TimestampType::create_time
                                                             : TimestampType::none,
                   .timestamp = record.at("timestamp").get<int64_t>(),
                   .codec_id = 0,
                   .key = optional_bytes(record.at("key"), storage),
                   .value = optional_bytes(record.at("value"), storage)},
                  out);
  }
}

// Builds the batch that `batch` describes. `original` gives only the times that a batch with log append time hides.
std::vector<std::byte> build_batch(json const& batch, BatchView original, CodecContext& context) {
  BatchOptions options;
  options.base_offset = Offset(batch.at("baseOffset").get<int64_t>());
  options.leader_epoch = LeaderEpoch(batch.at("partitionLeaderEpoch").get<int32_t>());
  options.codec = codec_from_name(batch.at("compression").get<std::string>()).value();
  options.producer_id = ProducerId(batch.at("producerId").get<int64_t>());
  options.producer_epoch = ProducerEpoch(batch.at("producerEpoch").get<int16_t>());
  options.base_sequence = batch.at("baseSequence").get<int32_t>();
  options.is_transactional = batch.at("isTransactional").get<bool>();
  options.is_control = batch.at("isControl").get<bool>();
  options.last_offset = Offset(batch.at("lastOffset").get<int64_t>());
  if (batch.at("timestampType") == "LogAppendTime") options.log_append_time = batch.at("maxTimestamp").get<int64_t>();
  if (batch.contains("deleteHorizonMs")) options.delete_horizon_ms = batch.at("deleteHorizonMs").get<int64_t>();
  if (batch.at("count") == 0) options.max_timestamp = batch.at("maxTimestamp").get<int64_t>();

  std::vector<std::byte> scratch;
  ByteView bytes;
  if (open_records(original, kLimits, context, scratch, bytes)) return {};
  RecordReader times(original, bytes);
  std::deque<std::vector<std::byte>> storage;
  BatchBuilder builder(options);
  for (auto const& record : batch.at("records")) {
    RecordView with_time;
    if (!times.next(with_time)) return {};
    std::vector<HeaderView> headers;
    if (record.contains("headers")) {
      for (auto const& header : record.at("headers")) {
        headers.push_back({header.at(0).get_ref<std::string const&>(), optional_bytes(header.at(1), storage)});
      }
    }
    builder.append_at(Offset(record.at("offset").get<int64_t>()),
                      {.timestamp = options.log_append_time ? original.base_timestamp() + with_time.timestamp_delta
                                                            : record.at("timestamp").get<int64_t>(),
                       .key = optional_bytes(record.at("key"), storage),
                       .value = optional_bytes(record.at("value"), storage),
                       .headers = headers});
  }
  return builder.build(context);
}

// What building may change: the bytes that a codec writes, and with them size and checksum.
json without_encoding(json blob) {
  for (auto& batch : blob.at("batches")) {
    batch.erase("size");
    batch.erase("crc");
  }
  return blob;
}

std::string check_building(json const& line, ByteView bytes, CodecContext& context) {
  std::vector<std::byte> built;
  BatchReader reader(bytes);
  BatchView original;
  bool has_wrapper = false;
  for (auto const& batch : line.at("batches")) {
    if (!reader.next(original)) return "fewer batches than described";
    if (batch.at("magic") < kMagicMax) {
      has_wrapper = has_wrapper || batch.at("compression") != "none";
      build_legacy(batch, built);
    } else {
      auto const again = build_batch(batch, original, context);
      built.insert(built.end(), again.begin(), again.end());
    }
  }
  if (line.at("encode") == "exact") {
    return std::equal(built.begin(), built.end(), bytes.begin(), bytes.end()) ? "" : "built bytes differ";
  }
  if (has_wrapper) return "";  // compressed messages of old formats are never written
  auto const again = read_blob(built, context);
  return without_encoding(again) == without_encoding(read_blob(bytes, context)) ? "" : "what was built reads differently";
}

}  // namespace

std::string check_batches_line(json const& line, CodecContext& context) {
  auto const bytes = from_hex(line.at("h").get<std::string>());
  json expected = {{"batches", line.at("batches")}};
  if (line.contains("error")) {
    expected["error"] = line.at("error");
    expected["error"].erase("class");
  }
  if (line.contains("trailing")) expected["trailing"] = line.at("trailing");
  auto const actual = read_blob(bytes, context);
  if (actual != expected) {
    auto const patch = json::diff(expected, actual).dump();
    return fmt::format("{}: reads differently: {}", line.at("c").get<std::string>(), patch.substr(0, 600));
  }
  if (line.at("encode") == "broken") return "";
  auto const problem = check_building(line, bytes, context);
  return problem.empty() ? "" : fmt::format("{}: {}", line.at("c").get<std::string>(), problem);
}

}  // namespace millrace::vectors
