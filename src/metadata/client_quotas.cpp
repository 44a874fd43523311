#include "millrace/metadata/client_quotas.h"

namespace millrace::metadata {
namespace {

using Name = std::optional<std::string>;

// An entity of the two parts; an outer none leaves a part out, an inner one is its default.
QuotaEntityKey entity_of(std::optional<Name> user, std::optional<Name> client_id) {
  QuotaEntityKey key;
  if (client_id) key.entity.emplace_back(kClientIdEntity, *std::move(client_id));
  if (user) key.entity.emplace_back(kUserEntity, *std::move(user));
  return key;
}

}  // namespace

std::optional<QuotaLimit> find_quota(Image const& image, std::string_view user, std::string_view client_id,
                                     std::string_view key) {
  if (image.quotas.empty()) return std::nullopt;
  Name const own_user{std::string(user)};
  Name const own_client{std::string(client_id)};
  std::optional<Name> const any = Name();
  std::optional<Name> const left_out = std::nullopt;
  struct Step {
    std::optional<Name> user, client_id;
  };
  Step const steps[] = {{own_user, own_client}, {own_user, any}, {own_user, left_out},
                        {any, own_client},      {any, any},      {any, left_out},
                        {left_out, own_client}, {left_out, any}};
  for (auto const& step : steps) {
    auto const* quotas = image.quotas.find(entity_of(step.user, step.client_id));
    auto const* bound = quotas == nullptr ? nullptr : quotas->find(key);
    if (bound == nullptr) continue;
    return QuotaLimit{*bound, step.user ? std::string(user) : "", step.client_id ? std::string(client_id) : ""};
  }
  return std::nullopt;
}

}  // namespace millrace::metadata
