#include "millrace/broker/context.h"

namespace millrace::broker {
namespace {

// Structs in memory are larger than on the wire, but never by more than this.
constexpr size_t kArenaBytesPerFrameByte = 32;
constexpr size_t kArenaBytesMin = 1024 * 1024;  // answers are made in it too

}  // namespace

RequestContext::RequestContext(Services& services, ThreadState& thread, std::shared_ptr<net::ConnectionInfo> connection,
                               SharedBytes frame, Mono arrived, std::unique_ptr<net::Answer> answer)
    : services_(services),
      thread_(thread),
      connection_(std::move(connection)),
      frame_(std::move(frame)),
      in_(frame_.view()),
      arrived_(arrived),
      image_(thread.image),
      answer_(std::move(answer)) {}

RequestContext::~RequestContext() = default;

bool RequestContext::read_header() { return protocol::decode_request_header(in_, arena_, header_).ok(); }

bool RequestContext::decode(protocol::MessageTable const& table, void* out) {
  Arena arena(kArenaBytesMin + kArenaBytesPerFrameByte * frame_.size());
  auto const status = protocol::decode(table, in_, version(), arena, out);
  if (!status.ok()) {
    close(status.error().message);
    return false;
  }
  request_arena_ = std::move(arena);
  return true;
}

void RequestContext::reply(protocol::MessageTable const& table, void const* response, std::span<env::Chunk> slots,
                           Duration throttle) {
  auto const key = static_cast<ApiKey>(header_.request_api_key);
  reply_as(table, response, version(), protocol::api_info(key).response_header_version(version()), slots, throttle);
}

void RequestContext::reply_as(protocol::MessageTable const& table, void const* response, int16_t at_version,
                              int16_t header_version, std::span<env::Chunk> slots, Duration throttle) {
  auto encoded = protocol::encode_response(table, response, header_.correlation_id, at_version, header_version);
  if (!encoded.ok()) {
    services_.log().error("broker", "{}: the answer cannot be encoded: {}", log_name(), encoded.error().message);
    close(encoded.error().message);
    return;
  }
  constexpr size_t kSizeBytes = 4;  // net writes the size of the frame
  encoded->bytes = encoded->bytes.slice(kSizeBytes, encoded->bytes.size() - kSizeBytes);
  for (auto& slot : encoded->slots) slot.position -= kSizeBytes;
  env::Response out;
  out.chunks.reserve(encoded->slots.size() * 2 + 1);
  encoded->for_each_piece([&](SharedBytes bytes) { out.chunks.emplace_back(std::move(bytes)); },
                          [&](protocol::RecordSlot const& slot) {
                            if (slot.bytes > 0) out.chunks.push_back(std::move(slots[slot.index]));
                          });
  count(&table, response);
  answer_->send(std::move(out), throttle);
}

void RequestContext::count(protocol::MessageTable const* table, void const* response) {
  auto& counters = thread_.requests;
  auto& api = counters.of(static_cast<ApiKey>(header_.request_api_key));
  if (table != nullptr) {
    protocol::for_each_error(table->root(), response, [&](int16_t code) {
      api.errors.add(1);
      counters.error(code).add(1);
      if (static_cast<ErrorCode>(code) == ErrorCode::not_controller && on_not_controller_) std::move(on_not_controller_)();
    });
  }
  if (api.is_timed_now()) api.add_time(thread_.reactor.now() - arrived_);
}

void RequestContext::reply_encoded(SharedBytes answer, Duration throttle) {
  env::Response out;
  out.chunks.emplace_back(std::move(answer));
  count(nullptr, nullptr);
  answer_->send(std::move(out), throttle);
}

void RequestContext::reply_nothing(Duration throttle) {
  count(nullptr, nullptr);
  answer_->send_nothing(throttle);
}
void RequestContext::close(std::string reason) { answer_->close(std::move(reason)); }

std::string RequestContext::log_name() const {
  auto const* info = protocol::find_api(header_.request_api_key);
  return fmt::format("{} v{} from {}:{}", info ? info->name : "?", version(), connection_->peer.ip,
                     connection_->peer.port);
}

}  // namespace millrace::broker
