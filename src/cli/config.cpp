#include <charconv>

#include "config_ops.h"
#include "millrace/protocol/api/describe_configs.h"
#include "millrace/protocol/api/incremental_alter_configs.h"
#include "millrace/protocol/api/list_config_resources.h"
#include "output.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kAllBrokers = "default";
constexpr int8_t kSourceDefault = 5;

constexpr std::pair<std::string_view, ConfigKind> kKinds[] = {{"topic", ConfigKind::topic},
                                                              {"broker", ConfigKind::broker},
                                                              {"group", ConfigKind::group},
                                                              {"logger", ConfigKind::broker_logger},
                                                              {"client-metrics", ConfigKind::client_metrics}};

Result<ConfigKind> parse_kind(std::string_view text) {
  for (auto const& [name, kind] : kKinds) {
    if (text == name) return kind;
  }
  return Error{
      ErrorKind::invalid,
      fmt::format("'{}' is no kind of resource; there are topic, broker, group, logger and client-metrics", text)};
}

std::string kind_name(int8_t number) {
  for (auto const& [name, kind] : kKinds) {
    if (number == static_cast<int8_t>(kind)) return std::string(name);
  }
  return fmt::format("kind {}", number);
}

// On the wire the default of all brokers has no name.
std::string wire_name(ConfigKind kind, std::string const& name) {
  return kind == ConfigKind::broker && name == kAllBrokers ? "" : name;
}
std::string shown_name(int8_t kind, std::string_view name) {
  return kind == static_cast<int8_t>(ConfigKind::broker) && name.empty() ? std::string(kAllBrokers) : std::string(name);
}

std::string source_name(int8_t source) {
  static constexpr std::string_view kNames[] = {"unknown", "topic",  "broker",         "all brokers", "node's file",
                                                "default", "logger", "client-metrics", "group"};
  if (source < 0 || static_cast<size_t>(source) >= std::size(kNames)) return fmt::format("source {}", source);
  return std::string(kNames[source]);
}
// Kafka's names, for programs.
std::string source_constant(int8_t source) {
  static constexpr std::string_view kNames[] = {"UNKNOWN",
                                                "DYNAMIC_TOPIC_CONFIG",
                                                "DYNAMIC_BROKER_CONFIG",
                                                "DYNAMIC_DEFAULT_BROKER_CONFIG",
                                                "STATIC_BROKER_CONFIG",
                                                "DEFAULT_CONFIG",
                                                "DYNAMIC_BROKER_LOGGER_CONFIG",
                                                "DYNAMIC_CLIENT_METRICS_CONFIG",
                                                "DYNAMIC_GROUP_CONFIG"};
  if (source < 0 || static_cast<size_t>(source) >= std::size(kNames)) return fmt::to_string(source);
  return std::string(kNames[source]);
}
std::string type_constant(int8_t type) {
  static constexpr std::string_view kNames[] = {"UNKNOWN", "BOOLEAN", "STRING", "INT",   "SHORT",
                                                "LONG",    "DOUBLE",  "LIST",   "CLASS", "PASSWORD"};
  if (type < 0 || static_cast<size_t>(type) >= std::size(kNames)) return fmt::to_string(type);
  return std::string(kNames[type]);
}

int change(ClusterOptions const& cluster_options, std::string const& kind_text, std::string const& name,
           std::vector<ConfigChange> const& changes, bool only_validate) {
  auto const kind = parse_kind(kind_text);
  if (!kind) return report(kind.error(), cluster_options);
  auto cluster = Cluster::connect(cluster_options);
  if (!cluster) return report(cluster.error(), cluster_options);
  auto const results = alter_configs(**cluster, *kind, {wire_name(*kind, name)}, changes, only_validate);
  if (!results) return report(results.error(), cluster_options);
  Outcomes outcomes(cluster_options.as_json);
  for (auto const& result : *results) {
    auto const shown = fmt::format("{} {}", kind_text, shown_name(static_cast<int8_t>(*kind), result.name));
    if (result.error == ErrorCode::none)
      outcomes.done(shown, only_validate ? "valid" : "altered");
    else
      outcomes.failed(shown, result.error, result.message);
  }
  return outcomes.finish();
}

}  // namespace

Result<std::pair<std::string_view, std::string_view>> split_pair(std::string_view text) {
  auto const equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{ErrorKind::invalid,
                 fmt::format("'{}' is not KEY=VALUE; write for example retention.ms=86400000", text)};
  }
  return std::make_pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<int32_t> node_for(Cluster& cluster, ConfigKind kind, std::string const& name) {
  bool const has_node = (kind == ConfigKind::broker || kind == ConfigKind::broker_logger) && !name.empty();
  if (!has_node) return Cluster::kAnyNode;
  int32_t node = -1;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), node);
  if (error != std::errc() || end != name.data() + name.size() || node < 0) {
    return Error{ErrorKind::invalid, fmt::format("'{}' is no broker id; write a number{}", name,
                                                 kind == ConfigKind::broker ? ", or default for all brokers" : "")};
  }
  MR_TRY_ASSIGN(auto const nodes, cluster.nodes());
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
    return Error{ErrorKind::not_found,
                 fmt::format("broker {} is not among the live brokers; see `millrace cluster nodes`", node)};
  }
  return node;
}

Result<std::vector<ConfigResult>> alter_configs(Cluster& cluster, ConfigKind kind,
                                                std::vector<std::string> const& names,
                                                std::vector<ConfigChange> const& changes, bool only_validate) {
  using Request = protocol::IncrementalAlterConfigsRequest;
  std::vector<Request::AlterableConfig> configs;
  for (auto const& change : changes) {
    configs.push_back(
        {.name = change.key, .config_operation = static_cast<int8_t>(change.operation), .value = change.value});
  }
  std::map<int32_t, std::vector<Request::AlterConfigsResource>> by_node;
  for (auto const& name : names) {
    MR_TRY_ASSIGN(auto const node, node_for(cluster, kind, name));
    by_node[node].push_back({.resource_type = static_cast<int8_t>(kind), .resource_name = name, .configs = configs});
  }
  std::vector<ConfigResult> results;
  for (auto& [node, resources] : by_node) {
    Request request;
    request.resources = resources;
    request.validate_only = only_validate;
    MR_TRY_ASSIGN(auto const reply, (cluster.call_node<protocol::IncrementalAlterConfigsResponse>(node, request)));
    for (auto const& answer : reply.message.responses) {
      results.push_back({std::string(answer.resource_name), answer.error_code,
                         answer.error_message ? std::optional(std::string(*answer.error_message)) : std::nullopt});
    }
  }
  return results;
}

int set_configs(ConfigSetOptions const& options) {
  std::vector<ConfigChange> changes;
  auto const add = [&](std::vector<std::string> const& texts, ConfigOperation operation) -> Status {
    for (auto const& text : texts) {
      MR_TRY_ASSIGN(auto const pair, split_pair(text));
      changes.push_back({operation, pair.first, pair.second});
    }
    return {};
  };
  auto added = add(options.pairs, ConfigOperation::set);
  if (added) added = add(options.appended, ConfigOperation::append);
  if (added) added = add(options.subtracted, ConfigOperation::subtract);
  if (!added) return report(added.error(), options.cluster);
  if (changes.empty()) {
    print_error("there is nothing to set", "Write KEY=VALUE after the name, or pass --append or --subtract KEY=VALUE.");
    return kUsage;
  }
  return change(options.cluster, options.kind, options.name, changes, options.only_validate);
}

int delete_configs(ConfigDeleteOptions const& options) {
  std::vector<ConfigChange> changes;
  for (auto const& key : options.keys) changes.push_back({ConfigOperation::remove, key, std::nullopt});
  return change(options.cluster, options.kind, options.name, changes, options.only_validate);
}

int describe_configs(ConfigDescribeOptions const& options) {
  using Request = protocol::DescribeConfigsRequest;
  auto const kind = parse_kind(options.kind);
  if (!kind) return report(kind.error(), options.cluster);
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const name = wire_name(*kind, options.name);
  auto const node = node_for(**cluster, *kind, name);
  if (!node) return report(node.error(), options.cluster);
  auto const version = (*cluster)->version_at<Request>(*node);
  if (!version) return report(version.error(), options.cluster);

  std::vector<Str> keys(options.keys.begin(), options.keys.end());
  std::vector<Request::DescribeConfigsResource> resources(1);
  resources[0].resource_type = static_cast<int8_t>(*kind);
  resources[0].resource_name = name;
  if (keys.empty())
    resources[0].configuration_keys = kNullArray;
  else
    resources[0].configuration_keys = keys;
  Request request;
  request.resources = resources;
  request.include_synonyms = true;
  request.include_documentation = options.cluster.as_json && *version >= 3;
  auto const reply = (*cluster)->call_node<protocol::DescribeConfigsResponse>(*node, request);
  if (!reply) return report(reply.error(), options.cluster);

  int exit_code = kOk;
  auto list = Json::array();
  Table table({"KEY", "VALUE", "SOURCE"});
  for (auto const& resource : reply->message.results) {
    if (resource.error_code != ErrorCode::none) {
      print_error(
          fmt::format("{} {}: {}", options.kind, options.name, error_text(resource.error_code, resource.error_message)),
          remedy_for(resource.error_code));
      exit_code = kFailed;
      continue;
    }
    std::map<std::string_view, protocol::DescribeConfigsResponse::DescribeConfigsResourceResult const*> sorted;
    for (auto const& config : resource.configs) sorted[config.name] = &config;
    for (auto const& key : options.keys) {
      if (sorted.contains(key)) continue;
      print_error(fmt::format("{} {} has no setting {}", options.kind, options.name, key),
                  "Leave the keys out and pass --all to see those there are.");
      exit_code = kFailed;
    }
    for (auto const& [key, config] : sorted) {
      if (options.keys.empty() && !options.with_defaults && config->config_source == kSourceDefault) continue;
      auto synonyms = Json::array();
      for (auto const& synonym : config->synonyms) {
        synonyms.add(Json::object(
            {{"name", synonym.name}, {"value", synonym.value}, {"source", source_constant(synonym.source)}}));
      }
      list.add(Json::object({{"key", key},
                             {"value", config->value},
                             {"source", source_constant(config->config_source)},
                             {"type", type_constant(config->config_type)},
                             {"sensitive", config->is_sensitive},
                             {"read_only", config->read_only},
                             {"synonyms", synonyms},
                             {"documentation", config->documentation}}));
      auto const value = config->is_sensitive ? std::string("(hidden)") : std::string(config->value.value_or(kNothing));
      table.add({std::string(key), value, source_name(config->config_source)});
    }
  }
  if (options.cluster.as_json)
    print_json(list);
  else if (table.empty() && exit_code == kOk)
    fmt::print("{} {} has no settings of its own; --all shows the defaults\n", options.kind, options.name);
  else if (!table.empty())
    table.print();
  return exit_code;
}

int list_config_resources(ConfigListOptions const& options) {
  using Request = protocol::ListConfigResourcesRequest;
  std::vector<int8_t> kinds;
  for (auto const& text : options.kinds) {
    auto const kind = parse_kind(text);
    if (!kind) return report(kind.error(), options.cluster);
    kinds.push_back(static_cast<int8_t>(*kind));
  }
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const version = (*cluster)->version_at<Request>(Cluster::kAnyNode);
  if (!version) return report(version.error(), options.cluster);
  if (*version == 0 && kinds != std::vector<int8_t>{static_cast<int8_t>(ConfigKind::client_metrics)}) {
    print_error(
        "this broker lists client-metrics only",
        "Pass `client-metrics`; for topics and brokers see `millrace topic list` and `millrace cluster nodes`.");
    return kFailed;
  }
  Request request;
  if (*version >= 1) request.resource_types = kinds;
  auto const reply = (*cluster)->call<protocol::ListConfigResourcesResponse>(request);
  if (!reply) return report(reply.error(), options.cluster);
  if (reply->message.error_code != ErrorCode::none) {
    print_error(error_text(reply->message.error_code), remedy_for(reply->message.error_code));
    return kFailed;
  }
  std::vector<std::pair<std::string, std::string>> sorted;
  for (auto const& resource : reply->message.config_resources) {
    sorted.emplace_back(kind_name(resource.resource_type), shown_name(resource.resource_type, resource.resource_name));
  }
  std::sort(sorted.begin(), sorted.end());
  auto list = Json::array();
  Table table({"KIND", "NAME"});
  for (auto const& [kind, name] : sorted) {
    list.add(Json::object({{"kind", kind}, {"name", name}}));
    table.add({kind, name});
  }
  if (options.cluster.as_json)
    print_json(list);
  else
    table.print();
  return kOk;
}

}  // namespace millrace::cli
