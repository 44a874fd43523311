// Envelope: a broker passes a client's request on to the controller. The request runs here as if the client had sent it
// on this listener, and its answer goes back inside the envelope's.
#include "millrace/broker/forwarding.h"

#include <charconv>

#include "handlers.h"
#include "millrace/broker/routing.h"
#include "millrace/protocol/api/envelope.h"
#include "millrace/protocol/records/framing.h"
#include "millrace/protocol/records/principal.h"

namespace millrace::broker {
namespace {

constexpr size_t kIpv4Bytes = 4;
constexpr size_t kIpv6Bytes = 16;

void refuse(RequestContext& context, ErrorCode code) {
  protocol::EnvelopeResponse response;
  response.error_code = code;
  context.reply(response);
}

// The way back of the request inside.
class InnerAnswer final : public net::Answer {
 public:
  explicit InnerAnswer(std::shared_ptr<RequestContext> outer) : outer_(std::move(outer)) {}

  void send(env::Response response, Duration throttle) override {
    static_cast<void>(throttle);  // of the client, whom its own broker throttles
    if (is_not_controller) return refuse(*outer_, ErrorCode::not_controller);
    size_t bytes = 0;
    for (auto const& chunk : response.chunks) bytes += std::get<SharedBytes>(chunk).size();
    auto joined = SharedBytes::allocate(bytes);
    auto to = joined.mutable_view().begin();
    for (auto const& chunk : response.chunks) {
      auto const view = std::get<SharedBytes>(chunk).view();
      to = std::copy(view.begin(), view.end(), to);
    }
    protocol::EnvelopeResponse out;
    out.response_data = joined.view();
    outer_->reply(out);
  }
  void send_nothing(Duration) override { refuse(*outer_, ErrorCode::invalid_request); }
  // The request inside cannot be read, though the envelope could.
  void close(std::string) override { refuse(*outer_, ErrorCode::unsupported_version); }
  void let_next_produce_start() override {}

  bool is_not_controller = false;

 private:
  std::shared_ptr<RequestContext> outer_;
};

// None: it is good.
std::optional<ErrorCode> check_principal(std::optional<ByteView> bytes) {
  if (!bytes) return ErrorCode::principal_deserialization_failure;
  Reader in(*bytes);
  auto const version = protocol::read_int16_prefix(in);
  Arena arena;
  protocol::DefaultPrincipalData principal;
  if (!version || !protocol::DefaultPrincipalData::kValid.contains(*version) ||
      !protocol::decode(in, *version, arena, principal)) {
    return ErrorCode::principal_deserialization_failure;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::byte> address_bytes(std::string_view ip) {
  static constexpr size_t kGroupBytes = 2;
  std::vector<std::byte> before, after;
  auto* out = &before;
  bool const is_ipv6 = ip.find(':') != std::string_view::npos;
  bool is_decimal = !is_ipv6;  // the end of an IPv6 address may be, too
  while (!ip.empty()) {
    if (is_ipv6 && ip.starts_with("::")) {
      if (out == &after) return {};
      out = &after;
      ip.remove_prefix(2);
      continue;
    }
    is_decimal |= ip.find('.') < ip.find(':');
    auto const part = ip.substr(0, ip.find_first_of(is_decimal ? "." : ":"));
    uint32_t value = 0;
    auto const [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, is_decimal ? 10 : 16);
    if (error != std::errc() || end != part.data() + part.size() || value > (is_decimal ? 0xffU : 0xffffU)) return {};
    if (!is_decimal) out->push_back(std::byte(value >> 8));
    out->push_back(std::byte(value & 0xff));
    ip.remove_prefix(part.size());
    // One separator; two begin the run of zeros.
    if (ip.starts_with("::")) continue;
    if (!ip.empty()) ip.remove_prefix(1);
  }
  auto const wanted = is_ipv6 ? kIpv6Bytes : kIpv4Bytes;
  auto const count = before.size() + after.size();
  bool const has_gap = out == &after;
  if (has_gap ? count > wanted - kGroupBytes : count != wanted) return {};
  if (has_gap) before.resize(wanted - after.size());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

runtime::ForwardedFrom forwarded_from(net::ConnectionInfo const& connection, Str user) {
  protocol::DefaultPrincipalData principal;
  principal.type = "User";
  principal.name = user;
  runtime::ForwardedFrom out;
  auto encoded = protocol::encode_versioned(principal, protocol::DefaultPrincipalData::kValid.max);
  MR_ASSERT(encoded.ok());
  out.principal = *std::move(encoded);
  out.address = address_bytes(connection.peer.ip);
  if (out.address.empty()) out.address.assign(kIpv4Bytes, std::byte{0});  // a network that numbers its peers otherwise
  return out;
}

void handle_envelope(ContextPtr context) {
  protocol::EnvelopeRequest request;
  if (!context->decode(request)) return;
  auto const address_bytes = request.client_host_address.size();
  if (address_bytes != kIpv4Bytes && address_bytes != kIpv6Bytes) return refuse(*context, ErrorCode::invalid_request);
  if (auto const problem = check_principal(request.request_principal)) return refuse(*context, *problem);
  auto const prefix = protocol::peek_request(request.request_data);
  if (!prefix) return refuse(*context, ErrorCode::unsupported_version);
  auto const* route = context->services().routes.find(prefix->api_key, ListenerKind::controller);
  auto const* info = protocol::find_api(prefix->api_key);
  if (info == nullptr || !info->is_forwardable) return refuse(*context, ErrorCode::invalid_request);
  if (route == nullptr || !info->valid.contains(prefix->api_version)) return refuse(*context, ErrorCode::unsupported_version);
  if (!context->services().controller.is_active()) return refuse(*context, ErrorCode::not_controller);

  auto frame = context->frame().slice(static_cast<size_t>(request.request_data.data() - context->frame().data()),
                                      request.request_data.size());
  auto& services = context->services();
  auto& thread = context->thread();
  auto const arrived = context->arrived();
  auto connection = context->connection_ptr();
  auto answer = std::make_unique<InnerAnswer>(std::move(context));
  auto& told = answer->is_not_controller;
  auto inner = std::make_unique<RequestContext>(services, thread, std::move(connection), std::move(frame), arrived,
                                                std::move(answer));
  inner->set_on_not_controller([&told] { told = true; });
  if (!inner->read_header()) return inner->close("the request header cannot be read");
  route->handle(std::move(inner));
}

}  // namespace millrace::broker
