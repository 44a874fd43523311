#include <charconv>
#include <cmath>

#include "cluster.h"
#include "config_ops.h"
#include "millrace/protocol/api/alter_client_quotas.h"
#include "millrace/protocol/api/describe_client_quotas.h"
#include "output.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kDefault = "<default>";

// How an entity's part is matched, as the protocol numbers it.
enum class Match : int8_t { exact = 0, default_name = 1 };

struct Part {
  std::string_view type;
  std::optional<std::string_view> name;  // none: the default of its type
};

Result<std::vector<Part>> parts_of(QuotaEntityOptions const& options) {
  std::vector<Part> parts;
  auto const add = [&](std::string_view type, std::optional<std::string> const& name, bool is_default) -> Status {
    if (name && is_default)
      return Error{ErrorKind::invalid, fmt::format("--{0} and --default-{0} exclude each other", type)};
    if (name) parts.push_back({type, *name});
    if (is_default) parts.push_back({type, std::nullopt});
    return {};
  };
  MR_TRY(add("user", options.user, options.default_user));
  MR_TRY(add("client-id", options.client_id, options.default_client_id));
  MR_TRY(add("ip", options.ip, options.default_ip));
  return parts;
}

// Its parts as in Kafka's own order: user, client id, address.
template <class Entity>
std::vector<Entity> sorted_parts(Array<Entity> const& entity) {
  std::vector<Entity> parts(entity.begin(), entity.end());
  std::sort(parts.begin(), parts.end(), [](Entity const& a, Entity const& b) {
    auto const rank = [](Str type) { return type == "user" ? 0 : type == "client-id" ? 1 : 2; };
    return rank(a.entity_type) < rank(b.entity_type);
  });
  return parts;
}

template <class Entity>
std::string entity_name(Array<Entity> const& entity) {
  std::string text;
  for (auto const& part : sorted_parts(entity)) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", part.entity_type, part.entity_name.value_or(kDefault));
  }
  return text;
}

struct QuotaChange {
  std::string_view key;
  std::optional<double> value;  // none: remove
};

int change(ClusterOptions const& cluster_options, QuotaEntityOptions const& entity_options,
           std::vector<QuotaChange> const& changes, bool only_validate) {
  using Request = protocol::AlterClientQuotasRequest;
  auto const parts = parts_of(entity_options);
  if (!parts) return report(parts.error(), cluster_options);
  if (parts->empty()) {
    print_error(
        "it is not said whose quota",
        "Pass --user, --client-id or --ip with a name, or --default-user, --default-client-id or --default-ip.");
    return kUsage;
  }
  auto cluster = Cluster::connect(cluster_options);
  if (!cluster) return report(cluster.error(), cluster_options);

  std::vector<Request::EntityData> entity;
  for (auto const& part : *parts) entity.push_back({.entity_type = part.type, .entity_name = part.name});
  std::vector<Request::OpData> ops;
  for (auto const& change : changes)
    ops.push_back({.key = change.key, .value = change.value.value_or(0), .remove = !change.value});
  std::vector<Request::EntryData> entries(1);
  entries[0].entity = entity;
  entries[0].ops = ops;
  Request request;
  request.entries = entries;
  request.validate_only = only_validate;
  auto const reply = (*cluster)->call_controller<protocol::AlterClientQuotasResponse>(request);
  if (!reply) return report(reply.error(), cluster_options);
  Outcomes outcomes(cluster_options.as_json);
  for (auto const& entry : reply->message.entries) {
    if (entry.error_code == ErrorCode::none)
      outcomes.done(entity_name(entry.entity), only_validate ? "valid" : "altered");
    else
      outcomes.failed(entity_name(entry.entity), entry.error_code, entry.error_message);
  }
  return outcomes.finish();
}

}  // namespace

int set_quotas(QuotaSetOptions const& options) {
  std::vector<QuotaChange> changes;
  for (auto const& text : options.pairs) {
    auto const pair = split_pair(text);
    if (!pair) return report(pair.error(), options.cluster);
    double value = 0;
    auto const [end, error] = std::from_chars(pair->second.data(), pair->second.data() + pair->second.size(), value);
    if (error != std::errc() || end != pair->second.data() + pair->second.size() || !std::isfinite(value)) {
      print_error(fmt::format("'{}' is not a number", pair->second),
                  "Rates are bytes a second, for example producer_byte_rate=1048576.");
      return kUsage;
    }
    changes.push_back({pair->first, value});
  }
  return change(options.cluster, options.entity, changes, options.only_validate);
}

int remove_quotas(QuotaRemoveOptions const& options) {
  std::vector<QuotaChange> changes;
  for (auto const& key : options.keys) changes.push_back({key, std::nullopt});
  return change(options.cluster, options.entity, changes, options.only_validate);
}

int list_quotas(QuotaListOptions const& options) {
  using Request = protocol::DescribeClientQuotasRequest;
  auto const parts = parts_of(options.entity);
  if (!parts) return report(parts.error(), options.cluster);
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);

  std::vector<Request::ComponentData> components;
  for (auto const& part : *parts) {
    components.push_back({.entity_type = part.type,
                          .match_type = static_cast<int8_t>(part.name ? Match::exact : Match::default_name),
                          .match = part.name});
  }
  Request request;
  request.components = components;
  request.strict = options.is_exact;
  auto const reply = (*cluster)->call<protocol::DescribeClientQuotasResponse>(request);
  if (!reply) return report(reply.error(), options.cluster);
  if (reply->message.error_code != ErrorCode::none) {
    print_error(error_text(reply->message.error_code, reply->message.error_message),
                remedy_for(reply->message.error_code));
    return kFailed;
  }
  std::map<std::string, protocol::DescribeClientQuotasResponse::EntryData const*> sorted;
  for (auto const& entry : reply->message.entries) sorted[entity_name(entry.entity)] = &entry;
  auto list = Json::array();
  Table table({"ENTITY", "KEY", "VALUE"});
  for (auto const& [name, entry] : sorted) {
    auto entity = Json::object();
    for (auto const& part : sorted_parts(entry->entity)) entity.set(part.entity_type, part.entity_name);
    auto quotas = Json::object();
    std::map<std::string_view, double> values;
    for (auto const& value : entry->values) values[value.key] = value.value;
    for (auto const& [key, value] : values) {
      quotas.set(key, value);
      table.add({name, std::string(key), fmt::format("{}", value)});
    }
    list.add(Json::object({{"entity", entity}, {"quotas", quotas}}));
  }
  if (options.cluster.as_json)
    print_json(list);
  else
    table.print();
  return kOk;
}

}  // namespace millrace::cli
