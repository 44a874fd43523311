// ApiVersions: what this broker serves on the listener that the client came through, and the cluster's features.
#include "handlers.h"
#include "millrace/broker/routing.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/api_versions.h"

namespace millrace::broker {
namespace {

constexpr int16_t kFirstVersionWithSoftware = 3;
// Before this version a client could not read a feature whose lowest level is 0, so Kafka leaves those out.
constexpr int16_t kFirstVersionWithLevelZero = 4;

// Letters and digits, with dots and dashes between them.
bool is_software_word(Str text) {
  auto const is_alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return is_alphanumeric(c) || c == '.' || c == '-'; });
}

void add_features(RequestContext& context, protocol::ApiVersionsResponse& response) {
  using Response = protocol::ApiVersionsResponse;
  auto const& image = context.image();
  if (auto const* self = image.find_broker(context.services().config.node_id)) {
    ArrayBuilder<Response::SupportedFeatureKey> supported(context.arena(), self->features.size());
    for (auto const& feature : self->features) {
      if (feature.level_min == 0 && context.version() < kFirstVersionWithLevelZero) continue;
      supported.add({feature.name, feature.level_min, feature.level_max});
    }
    response.supported_features = supported.finish();
  }
  ArrayBuilder<Response::FinalizedFeatureKey> finalized(context.arena(), image.features.size());
  image.features.for_each([&](std::string const& name, int16_t level) {
    if (level > 0) finalized.add({name, level, level});
  });
  response.finalized_features = finalized.finish();
  response.finalized_features_epoch = image.offset.value;
}

}  // namespace

void handle_api_versions(ContextPtr context) {
  protocol::ApiVersionsResponse response;
  auto const& info = protocol::api_info(ApiKey::api_versions);
  if (!info.valid.contains(context->version())) {
    // In the oldest form, which any client can read; it names only what the client must choose anew.
    response.error_code = ErrorCode::unsupported_version;
    response.api_keys = context->arena().array<protocol::ApiVersionsResponse::ApiVersion>(1);
    response.api_keys[0] = {static_cast<int16_t>(ApiKey::api_versions), info.advertised.min, info.advertised.max};
    return context->reply_at(0, 0, response);
  }
  protocol::ApiVersionsRequest request;
  if (!context->decode(request)) return;

  auto const is_refused = [&] {
    if (context->version() < kFirstVersionWithSoftware) return false;
    if (!is_software_word(request.client_software_name) || !is_software_word(request.client_software_version)) return true;
    return request.cluster_id && *request.cluster_id != context->services().config.cluster_id;
  };
  if (is_refused()) {
    response.error_code = ErrorCode::invalid_request;
    return context->reply(response);
  }
  if (context->version() >= kFirstVersionWithSoftware) {
    context->connection().client_software_name = request.client_software_name;
    context->connection().client_software_version = request.client_software_version;
  }

  auto const& routes = context->services().routes;
  auto const kind = context->connection_state().listener_kind;
  ArrayBuilder<protocol::ApiVersionsResponse::ApiVersion> keys(context->arena(), routes.routes().size());
  for (auto const& route : routes.routes()) {
    auto const key = static_cast<int16_t>(route.key);
    if (!route.is_advertised || routes.find(key, kind) == nullptr) continue;
    auto const& served = protocol::api_info(route.key).advertised;
    if (!served.empty()) keys.add({key, served.min, served.max});
  }
  response.api_keys = keys.finish();
  add_features(*context, response);
  context->reply(response);
}

}  // namespace millrace::broker
