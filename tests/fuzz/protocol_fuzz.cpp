// Any bytes as any message: every API at every version, request and response, and every stored record. Proves that no
// input makes the decoder read out of bounds or overflow, that no refused input took more memory than its size and 16
// KiB (nor any input, where the arena is limited to that), and that what was decoded encodes to bytes that decode to
// the same and encode to the same again, also by way of JSON.
//
// Input: two bytes choose the message, one the version, the rest is the body. One more choice is a whole request frame,
// and one a metadata record with its frame.
#include <sanitizer/allocator_interface.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "millrace/protocol/json.h"
#include "millrace/protocol/records/framing.h"

namespace millrace::protocol {
namespace {

constexpr size_t kSlackBytes = 16 * 1024;
constexpr size_t kJsonInputBytesMax = 1024;  // printing and parsing megabytes again finds nothing new

// Counts what the heap gives out between start() and stop(). libFuzzer runs the target in one thread.
struct Meter {
  bool is_running = false;
  size_t live_bytes = 0;
  size_t peak_bytes = 0;
  void start() { *this = {true, 0, 0}; }
  void stop() { is_running = false; }
};
Meter meter;

void on_malloc(void const volatile*, size_t size) {
  if (!meter.is_running) return;
  meter.live_bytes += size;
  meter.peak_bytes = std::max(meter.peak_bytes, meter.live_bytes);
}
void on_free(void const volatile* memory) {
  if (!meter.is_running || memory == nullptr) return;
  meter.live_bytes -= std::min(meter.live_bytes, __sanitizer_get_allocated_size(const_cast<void const*>(memory)));
}

void require(bool condition, char const* what, MessageTable const* table = nullptr, int version = 0) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s (%.*s v%d)\n", what, table == nullptr ? 0 : static_cast<int>(table->name().size()),
               table == nullptr ? "" : table->name().data(), version);
  std::abort();
}

struct Object {
  explicit Object(MessageTable const& table)
      : bytes(table.root().prototype(), table.root().prototype() + table.root().size()) {}
  std::vector<std::byte> bytes;
  std::byte* get() { return bytes.data(); }
};

std::vector<std::byte> encoded(MessageTable const& table, void const* object, int16_t version,
                               UnknownTags const* tags) {
  auto const size = encoded_size(table, object, version, tags);
  require(size.ok(), "what was decoded cannot be measured", &table, version);
  std::vector<std::byte> bytes(size->bytes);
  Writer out(bytes);
  encode(table, object, version, out, nullptr, tags);
  require(out.remaining() == 0, "measured more than was written", &table, version);
  return bytes;
}

// Text repaired to over 32767 bytes can be read and not written; Kafka has the same limit.
bool is_encodable(MessageTable const& table, void const* object, int16_t version) {
  auto const size = encoded_size(table, object, version);
  require(size.ok() || size.error().kind == ErrorKind::invalid, "a decoded field has no place", &table, version);
  return size.ok();
}

void check_round_trip(MessageTable const& table, int16_t version, ByteView body) {
  Arena arena;
  UnknownTags tags;
  Object first(table);
  Reader in(body);
  if (!decode(table, in, version, arena, first.get(), &tags)) return;
  if (!is_encodable(table, first.get(), version)) return;
  auto const canonical = encoded(table, first.get(), version, tags.empty() ? nullptr : &tags);

  Object second(table);
  UnknownTags tags_again;
  Reader again(canonical);
  require(decode(table, again, version, arena, second.get(), &tags_again).ok(), "own bytes are refused", &table,
          version);
  require(again.remaining() == 0, "own bytes are not read whole", &table, version);
  require(equal(table.root(), first.get(), second.get()), "own bytes decode to something else", &table, version);
  require(encoded(table, second.get(), version, tags_again.empty() ? nullptr : &tags_again) == canonical,
          "own bytes encode to something else", &table, version);

  if (body.size() > kJsonInputBytesMax) return;
  Object third(table);
  auto const json = to_json(table, first.get(), version);
  require(from_json(table, json, version, arena, third.get()).ok(), "own JSON is refused", &table, version);
  // Compared as JSON: it has one NaN where the wire has many, and no place for unknown tags.
  require(to_json(table, third.get(), version) == json, "own JSON is read as something else", &table, version);
}

// The most memory that elements of an array take for a byte of the frame.
double growth_max(Plan const& plan) {
  double growth = 0;
  for (auto const* steps : {&plan.steps, &plan.tagged}) {
    for (auto const& step : *steps) {
      if (step.kind == Kind::array) {
        growth = std::max(growth, static_cast<double>(step.element_bytes) / step.element_wire_bytes_min);
      }
      if (step.plan != nullptr) growth = std::max(growth, growth_max(*step.plan));
    }
  }
  return growth;
}

void check_message(MessageTable const& table, int16_t version, ByteView body) {
  Object object(table);
  auto const frame_bytes = body.size() + kSlackBytes;
  auto const decode_metered = [&](size_t arena_bytes_max) {
    Reader in(body);
    std::memcpy(object.get(), table.root().prototype(), table.root().size());
    meter.start();
    Arena arena(arena_bytes_max);
    auto status = decode(table, in, version, arena, object.get());
    meter.stop();
    return status;
  };
  // An arena that allows no more than that. The rest of the slack is for an error's text and the like.
  auto const limited = decode_metered(body.size() + kSlackBytes / 2);
  require(meter.peak_bytes <= frame_bytes, "more memory than the frame and 16 KiB", &table, version);
  // No limit: what is refused costs no more either, and what is accepted only what its elements need. Text repaired
  // takes three bytes for one.
  auto const unlimited = decode_metered(Arena::kUnlimited);
  auto const growth = unlimited ? (growth_max(table.root().plan(version)) + 3) * 4 / 3 + 1 : 1.0;
  require(static_cast<double>(meter.peak_bytes) <= growth * static_cast<double>(body.size()) + kSlackBytes,
          unlimited ? "more memory than its elements need" : "refused after more memory than the frame and 16 KiB",
          &table, version);
  require(limited.ok() == unlimited.ok() || limited.error().kind == ErrorKind::limit, "the limit changes what is valid",
          &table, version);
  if (unlimited) check_round_trip(table, version, body);
}

void check_request_frame(ByteView frame) {
  Arena arena(frame.size() + kSlackBytes);
  Reader in(frame);
  RequestHeader header;
  if (!decode_request_header(in, arena, header)) return;
  auto const* api = find_api(header.request_api_key);
  require(api != nullptr, "a header of no API");
  if (!api->valid.contains(header.request_api_version)) return;
  check_message(api->request(), header.request_api_version, in.rest());
}

struct Choice {
  std::vector<MessageTable const*> tables;
  Choice() {
    for (auto const& api : all_apis()) {
      if (api.request == nullptr) continue;
      tables.push_back(&api.request());
      tables.push_back(&api.response());
    }
    for (auto const& record : all_records()) tables.push_back(&record.table());
    tables.push_back(&RequestHeader::table());
    tables.push_back(&ResponseHeader::table());
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    meter.start();
    delete new std::vector<char>(1000);
    meter.stop();
    require(meter.peak_bytes >= 1000 && meter.live_bytes == 0, "the meter does not see the heap");
  }
};

}  // namespace

void fuzz(ByteView input) {
  static Choice const choice;
  Reader in(input);
  auto const which = in.u16() % (choice.tables.size() + 2);
  auto const version_choice = in.u8();
  if (!in.ok()) return;
  auto const body = in.rest();
  if (which == choice.tables.size()) return check_request_frame(body);
  if (which == choice.tables.size() + 1) return static_cast<void>(metadata_record_to_json(body));
  auto const& table = *choice.tables[which];
  auto const version_count = table.valid().max - table.valid().min + 1;
  check_message(table, static_cast<int16_t>(table.valid().min + version_choice % version_count), body);
}

}  // namespace millrace::protocol

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  millrace::protocol::fuzz({reinterpret_cast<std::byte const*>(data), size});
  return 0;
}
