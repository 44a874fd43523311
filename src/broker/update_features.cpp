// UpdateFeatures: all of the request's levels, or none.
#include "handlers.h"
#include "millrace/protocol/api/update_features.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

using Request = protocol::UpdateFeaturesRequest;
using Response = protocol::UpdateFeaturesResponse;

constexpr int16_t kLastVersionWithResults = 1;

void reply(RequestContext& context, metadata::UpdateFeaturesAnswer const& answer) {
  Response response;
  response.error_code = answer.error.code;
  response.error_message = answer.error.message ? std::optional<Str>(*answer.error.message) : std::nullopt;
  if (context.version() <= kLastVersionWithResults && answer.error.ok()) {
    ArrayBuilder<Response::UpdatableFeatureResult> results(context.arena(), answer.features.size());
    for (auto const& [name, error] : answer.features) {
      auto& out = results.add();
      out.feature = name;
      out.error_code = error.code;
      out.error_message = std::nullopt;
    }
    response.results = results.finish();
  }
  context.reply(response);
}

}  // namespace

void handle_update_features(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  metadata::UpdateFeatures to_controller;
  to_controller.validate_only = request.validate_only;
  for (auto const& update : request.feature_updates) {
    auto type = metadata::UpgradeType::unknown;
    if (context->version() == 0) {
      type = update.allow_downgrade ? metadata::UpgradeType::safe_downgrade : metadata::UpgradeType::upgrade;
    } else if (update.upgrade_type >= 1 && update.upgrade_type <= 3) {
      type = static_cast<metadata::UpgradeType>(update.upgrade_type);
    }
    to_controller.updates.push_back({std::string(update.feature), update.max_version_level, type});
  }
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + from_ms(request.timeout_ms);
  runtime::submit_as<metadata::UpdateFeaturesAnswer>(
      controller, std::move(to_controller), deadline, reactor,
      [context = std::move(context)](metadata::UpdateFeaturesAnswer answer) { reply(*context, answer); });
}

}  // namespace millrace::broker
