// DescribeConfigs: what each resource has in force, and where that comes from.
#include "millrace/protocol/api/describe_configs.h"

#include "handlers.h"
#include "millrace/metadata/config_entries.h"
#include "millrace/metadata/topic_name.h"

namespace millrace::broker {
namespace {

using Request = protocol::DescribeConfigsRequest;
using Response = protocol::DescribeConfigsResponse;
using metadata::ConfigEntry;
using metadata::ConfigResourceType;

// Topics that are there may all be asked for at once. Whatever else is named, and what is named again, has configurations without
// having cost anything, so that a small request could ask for gigabytes.
constexpr size_t kEntriesBesideTopicsMax = 50'000;

// The entries of one resource, or why there are none.
struct Described {
  ErrorCode code = ErrorCode::none;
  std::string message;
  std::vector<ConfigEntry> entries;
};

Described refused(ErrorCode code, std::string message) { return {code, std::move(message), {}}; }

Described describe_topic(metadata::ConfigContext const& configs, Str name) {
  if (auto problem = metadata::check_topic_name(name)) {
    return refused(ErrorCode::invalid_topic_exception, *std::move(problem));
  }
  if (configs.image.find_topic(name) == nullptr) {
    return refused(ErrorCode::unknown_topic_or_partition, "This server does not host this topic-partition.");
  }
  return {{}, {}, metadata::topic_config_entries(configs, name)};
}

Described describe_broker(metadata::ConfigContext const& configs, Str name) {
  if (name.empty()) return {{}, {}, metadata::cluster_config_entries(configs)};
  auto const own = fmt::format("{}", configs.node);
  if (name == own) return {{}, {}, metadata::broker_config_entries(configs)};
  if (name.find_first_not_of("0123456789") != Str::npos) {
    return refused(ErrorCode::invalid_request, fmt::format("Broker id must be an integer, but it is: {}", name));
  }
  return refused(ErrorCode::invalid_request,
                 fmt::format("Unexpected broker id, expected {} or empty string, but received {}", own, name));
}

// The least level that is written.
std::string_view level_name(Logger const& log) {
  if (log.is_enabled(LogLevel::trace)) return "TRACE";
  if (log.is_enabled(LogLevel::debug)) return "DEBUG";
  if (log.is_enabled(LogLevel::info)) return "INFO";
  if (log.is_enabled(LogLevel::warn)) return "WARN";
  return "ERROR";
}

Described describe_loggers(RequestContext& context, Str name) {
  auto const own = fmt::format("{}", context.services().config.node_id);
  if (name.empty()) return refused(ErrorCode::invalid_request, "Broker id must not be empty");
  if (name != own) {
    return refused(ErrorCode::invalid_request,
                   fmt::format("Unexpected broker id, expected {} but received {}", own, name));
  }
  Described out;
  auto& root = out.entries.emplace_back();
  root.name = "root";
  root.value = std::string(level_name(context.services().log()));
  root.source = metadata::ConfigSource::logger;
  root.documentation = "";
  return out;
}

Described describe(RequestContext& context, metadata::ConfigContext const& configs,
                   Request::DescribeConfigsResource const& resource) {
  switch (static_cast<ConfigResourceType>(resource.resource_type)) {
    case ConfigResourceType::topic: return describe_topic(configs, resource.resource_name);
    case ConfigResourceType::broker: return describe_broker(configs, resource.resource_name);
    case ConfigResourceType::broker_logger: return describe_loggers(context, resource.resource_name);
    case ConfigResourceType::client_metrics:
      if (resource.resource_name.empty()) {
        return refused(ErrorCode::invalid_request, "Client metrics subscription name must not be empty");
      }
      return {{}, {}, metadata::client_metrics_config_entries(configs, resource.resource_name)};
    case ConfigResourceType::group:
      if (resource.resource_name.empty()) return refused(ErrorCode::invalid_request, "Group name must not be empty");
      return {{}, {}, metadata::group_config_entries(configs, resource.resource_name)};
    case ConfigResourceType::unknown: break;
  }
  return refused(ErrorCode::invalid_request, fmt::format("Unsupported resource type: {}", resource.resource_type));
}

void keep_only(std::vector<ConfigEntry>& entries, Array<Str> const& names) {
  if (names.empty()) return;
  std::set<Str> const wanted(names.begin(), names.end());
  std::erase_if(entries, [&](ConfigEntry const& entry) { return !wanted.contains(entry.name); });
}

std::optional<Str> view(std::optional<std::string> const& text) {
  return text ? std::optional<Str>(*text) : std::nullopt;
}

Response::DescribeConfigsResourceResult to_wire(Arena& arena, Request const& request, ConfigEntry const& entry) {
  Response::DescribeConfigsResourceResult out;
  out.name = entry.name;
  out.value = view(entry.value);
  out.read_only = entry.is_read_only;
  out.config_source = static_cast<int8_t>(entry.source);
  out.is_sensitive = entry.is_sensitive;
  out.config_type = metadata::config_type_number(entry.type);
  // Loggers have an empty one, asked for or not.
  bool const is_documented = request.include_documentation || entry.source == metadata::ConfigSource::logger;
  out.documentation = is_documented ? view(entry.documentation) : std::nullopt;
  if (!request.include_synonyms) return out;
  out.synonyms = arena.array<Response::DescribeConfigsSynonym>(entry.synonyms.size());
  for (size_t i = 0; i < entry.synonyms.size(); ++i) {
    auto const& synonym = entry.synonyms[i];
    out.synonyms[i] = {synonym.name, view(synonym.value), static_cast<int8_t>(synonym.source)};
  }
  return out;
}

}  // namespace

void handle_describe_configs(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto const& config = context->services().config;
  auto const statics = config.statics->get();
  metadata::ConfigContext const configs{context->image(), config.node_id, *statics, *config.settings};
  std::vector<Described> described;
  std::set<Str> topics;
  size_t entries_beside_topics = 0;
  for (auto const& resource : request.resources) {
    bool const is_new_topic = resource.resource_type == static_cast<int8_t>(ConfigResourceType::topic) &&
                              topics.insert(resource.resource_name).second;
    if (!is_new_topic && entries_beside_topics >= kEntriesBesideTopicsMax) {
      described.push_back(refused(ErrorCode::invalid_request,
                                  fmt::format("The request asks for more than {} configurations beside those of topics, each named once. "
                                              "Ask for them in several requests.", kEntriesBesideTopicsMax)));
      continue;
    }
    described.push_back(describe(*context, configs, resource));
    if (!is_new_topic) entries_beside_topics += described.back().entries.size();
    keep_only(described.back().entries, resource.configuration_keys);
  }
  auto& arena = context->arena();
  Response response;
  response.results = arena.array<Response::DescribeConfigsResult>(described.size());
  for (size_t i = 0; i < described.size(); ++i) {
    auto& out = response.results[i];
    out.error_code = described[i].code;
    out.error_message = described[i].message;
    out.resource_type = request.resources[i].resource_type;
    out.resource_name = request.resources[i].resource_name;
    out.configs = arena.array<Response::DescribeConfigsResourceResult>(described[i].entries.size());
    for (size_t j = 0; j < out.configs.size(); ++j) out.configs[j] = to_wire(arena, request, described[i].entries[j]);
  }
  context->reply(response);
}

}  // namespace millrace::broker
