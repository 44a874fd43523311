// DescribeClientQuotas: the entities that match a filter, with their limits.
#include "millrace/protocol/api/describe_client_quotas.h"

#include "handlers.h"
#include "millrace/metadata/client_quotas.h"

namespace millrace::broker {
namespace {

using Request = protocol::DescribeClientQuotasRequest;
using Response = protocol::DescribeClientQuotasResponse;

enum class Match : int8_t { exact = 0, default_entity = 1, any = 2 };

struct Filter {
  ErrorCode code = ErrorCode::none;
  std::string message;
  std::map<Str, std::optional<Str>> exact;  // none: the default
  std::set<Str> any;
  bool is_strict = false;

  bool names(Str type) const { return exact.contains(type) || any.contains(type); }
};

// What is wrong with one component, or none.
std::optional<std::pair<ErrorCode, std::string>> add_component(Filter& filter,
                                                               Request::ComponentData const& component) {
  auto const type = component.entity_type;
  auto const invalid = [](std::string message) { return std::pair{ErrorCode::invalid_request, std::move(message)}; };
  if (type.empty()) return invalid("Invalid empty entity type.");
  if (filter.names(type))
    return invalid(fmt::format("Entity type {} cannot appear more than once in the filter.", type));
  if (type != metadata::kUserEntity && type != metadata::kClientIdEntity && type != metadata::kIpEntity) {
    return std::pair{ErrorCode::unsupported_version, fmt::format("Unsupported entity type {}", type)};
  }
  switch (static_cast<Match>(component.match_type)) {
    case Match::exact:
      if (!component.match) return invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.");
      filter.exact[type] = component.match;
      return std::nullopt;
    case Match::default_entity:
      if (component.match) return invalid("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.");
      filter.exact[type] = std::nullopt;
      return std::nullopt;
    case Match::any:
      if (component.match) return invalid("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.");
      filter.any.insert(type);
      return std::nullopt;
  }
  return invalid(fmt::format("Unknown match type {}", component.match_type));
}

Filter make_filter(Request const& request) {
  Filter filter;
  filter.is_strict = request.strict;
  for (auto const& component : request.components) {
    auto problem = add_component(filter, component);
    if (!problem) continue;
    std::tie(filter.code, filter.message) = *std::move(problem);
    return filter;
  }
  bool const is_of_client = filter.names(metadata::kUserEntity) || filter.names(metadata::kClientIdEntity);
  if (filter.names(metadata::kIpEntity) && is_of_client) {
    filter.code = ErrorCode::invalid_request;
    filter.message =
        "Invalid entity filter component combination. IP filter component should not be used with user or "
        "clientId filter component.";
  }
  return filter;
}

bool matches(Filter const& filter, metadata::QuotaEntity const& entity) {
  if (filter.is_strict && entity.size() != filter.exact.size() + filter.any.size()) return false;
  size_t matched = 0;
  for (auto const& [type, name] : entity) {
    if (filter.any.contains(type)) ++matched;
    auto const exact = filter.exact.find(type);
    if (exact == filter.exact.end()) continue;
    if (exact->second != (name ? std::optional<Str>(*name) : std::nullopt)) return false;
    ++matched;
  }
  return matched == filter.exact.size() + filter.any.size();
}

void fill(Arena& arena, Response::EntryData& out, metadata::QuotaEntity const& entity,
          metadata::QuotaMap const& quotas) {
  out.entity = arena.array<Response::EntityData>(entity.size());
  for (size_t i = 0; i < entity.size(); ++i) {
    auto const& [type, name] = entity[i];
    out.entity[i] = {type, name ? std::optional<Str>(*name) : std::nullopt};
  }
  out.values = arena.array<Response::ValueData>(quotas.size());
  size_t next = 0;
  quotas.for_each([&](std::string const& key, double value) { out.values[next++] = {key, value}; });
}

}  // namespace

void handle_describe_client_quotas(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto const filter = make_filter(request);
  Response response;
  response.error_code = filter.code;
  response.error_message = filter.message;
  if (filter.code != ErrorCode::none) {
    response.entries = kNullArray;
    return context->reply(response);
  }
  auto& arena = context->arena();
  ArrayBuilder<Response::EntryData> entries(arena, context->image().quotas.size());
  context->image().quotas.for_each([&](metadata::QuotaEntityKey const& key, metadata::QuotaMap const& quotas) {
    if (matches(filter, key.entity)) fill(arena, entries.add(), key.entity, quotas);
  });
  response.entries = entries.finish();
  context->reply(response);
}

}  // namespace millrace::broker
