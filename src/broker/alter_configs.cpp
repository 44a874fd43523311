// AlterConfigs: a resource gets exactly these keys.
#include "alter_configs.h"

#include <charconv>
#include <map>
#include <set>

#include "handlers.h"
#include "millrace/metadata/config_entries.h"
#include "millrace/protocol/api/alter_configs.h"

namespace millrace::broker {
namespace {

using metadata::ApiError;
using metadata::BrokerSetting;
using metadata::ConfigOperation;
using metadata::ConfigResourceType;
using metadata::UpdateMode;

// Kafka takes no deadline from these requests; its brokers wait this long for the controller.
constexpr Duration kControllerWait = 30s;

constexpr Str kCleanerThreads = "log.cleaner.threads";
constexpr Str kCleanerMemory = "log.cleaner.dedupe.buffer.size";

ApiError invalid(std::string message) { return {ErrorCode::invalid_request, std::move(message)}; }

bool is_operation(int8_t number) { return number >= 0 && number <= static_cast<int8_t>(ConfigOperation::subtract); }

// When a login with SASL is renewed: no promise about who gets in, and kept like other keys that change nothing here.
bool is_login_renewal(std::string_view name) {
  return name.starts_with("sasl.login.refresh.") || name.starts_with("sasl.kerberos.ticket.renew.") ||
         name == "sasl.kerberos.min.time.before.relogin";
}

// Keys whose values are only read at the start here.
bool is_fixed_here(std::string_view name) {
  return name.starts_with("ssl.") || (name.starts_with("sasl.") && !is_login_renewal(name)) || name == "listeners" ||
         name == "listener.security.protocol.map" || name == "principal.builder.class" || name == "cordoned.log.dirs";
}

bool is_thread_count(std::string_view name) {
  return name == "num.io.threads" || name == "num.network.threads" || name == "num.replica.fetchers" ||
         name == "num.recovery.threads.per.data.dir" || name == "background.threads" || name == kCleanerThreads;
}

int64_t number(std::string_view text) {
  int64_t out = 0;
  auto const digits = metadata::canonical_value(SettingType::int64, text);
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

int64_t number_now(metadata::ConfigContext const& configs, Str name) {
  return number(metadata::effective_broker_config(configs, name).value_or("0"));
}

// What the key of `change` will be here once it is set or removed, for this node or for all.
int64_t number_after(metadata::ConfigContext const& configs, bool is_cluster, RequestedConfig const& change) {
  std::optional<Str> changed;
  if (static_cast<ConfigOperation>(change.operation) == ConfigOperation::set) changed = change.value;
  auto const present = [&](std::string const& resource) {
    auto const* value = configs.image.find_config(ConfigResourceType::broker, resource, change.name);
    return value == nullptr ? std::nullopt : std::optional<Str>(*value);
  };
  auto const own = is_cluster ? present(fmt::format("{}", configs.node)) : changed;
  auto const of_all = is_cluster ? changed : present("");
  if (own || of_all) return number(own ? *own : *of_all);
  auto const in_file = configs.statics.find(change.name);
  if (in_file != configs.statics.end()) return number(in_file->second);
  return number(configs.settings.find(change.name)->default_text.value_or("0"));
}

// No more than twice, no less than half of what there are.
std::optional<std::string> check_thread_count(metadata::ConfigContext const& configs, bool is_cluster,
                                              RequestedConfig const& change) {
  auto const present = number_now(configs, change.name);
  auto const wanted = number_after(configs, is_cluster, change);
  if (wanted >= 1 && wanted * 2 >= present && wanted <= present * 2) return std::nullopt;
  return fmt::format("{}={}: the number of threads can be halved or doubled at most, it is {}", change.name, wanted, present);
}

std::optional<std::string> check_cleaner_memory(metadata::ConfigContext const& configs, bool is_cluster,
                                                RequestedConfig const& change) {
  constexpr int64_t kBytesOfThreadMin = 1 << 20;
  auto const after = [&](Str name) {
    return change.name == name ? number_after(configs, is_cluster, change) : number_now(configs, name);
  };
  if (after(kCleanerMemory) / std::max<int64_t>(after(kCleanerThreads), 1) >= kBytesOfThreadMin) return std::nullopt;
  return fmt::format("{} must be at least 1 MiB for each of {}", kCleanerMemory, kCleanerThreads);
}

// Of a key that is known, and may be changed: what is wrong with what it becomes.
std::optional<std::string> check_numbers(metadata::ConfigContext const& configs, bool is_cluster,
                                         RequestedConfig const& change) {
  if (is_thread_count(change.name)) {
    if (auto problem = check_thread_count(configs, is_cluster, change)) return problem;
  }
  bool const is_of_cleaner = change.name == kCleanerThreads || change.name == kCleanerMemory;
  return is_of_cleaner ? check_cleaner_memory(configs, is_cluster, change) : std::nullopt;
}

std::optional<std::string> check_broker_key(metadata::ConfigContext const& configs, bool is_cluster,
                                            RequestedConfig const& config) {
  auto const* own = configs.settings.find(config.name);
  auto const* setting = own != nullptr ? own : configs.settings.find_for_listener(config.name);
  if (setting == nullptr) return std::nullopt;  // somebody's own key
  // What cannot be set is not there, and taking it away changes nothing.
  bool const is_removal = static_cast<ConfigOperation>(config.operation) == ConfigOperation::remove;
  if (is_removal) return check_numbers(configs, is_cluster, config);
  if (setting->update_mode == UpdateMode::read_only) {
    return fmt::format("Cannot update these configs dynamically: {}", config.name);
  }
  if (is_cluster && (own == nullptr || setting->update_mode == UpdateMode::per_broker)) {
    return fmt::format("Cannot update these configs at default cluster level, broker id must be specified: {}",
                       config.name);
  }
  if (is_fixed_here(setting->name)) {
    return fmt::format("{} cannot be changed while this version runs; set it in the node's file", config.name);
  }
  auto const value = config.value.value_or("");
  if (auto const problem = configs.settings.check(*setting, value)) {
    return fmt::format("Invalid value {} for configuration {}: {}", value, config.name, *problem);
  }
  return check_numbers(configs, is_cluster, config);
}

// As the other brokers' files and logs are not seen here, a node changes its own keys only.
std::optional<std::string> check_own_id(metadata::ConfigContext const& configs, Str name) {
  auto const own = fmt::format("{}", configs.node);
  if (name == own) return std::nullopt;
  if (name.empty() || name.find_first_not_of("0123456789") != Str::npos) {
    return fmt::format("Node id must be an integer, but it is: {}", name);
  }
  return fmt::format("Unexpected broker id, expected {}, but received {}", own, name);
}

ApiError check_broker(RequestContext& context, metadata::ConfigContext const& configs,
                      RequestedResource const& resource) {
  if (context.connection_state().listener_kind == ListenerKind::controller) return {};
  bool const is_cluster = resource.name.empty();
  if (!is_cluster) {
    if (auto problem = check_own_id(configs, resource.name)) return invalid(*std::move(problem));
  }
  for (auto const& config : resource.configs) {
    if (!is_operation(config.operation)) return invalid(fmt::format("Unknown operations type {}", config.operation));
    if (auto problem = check_broker_key(configs, is_cluster, config)) return invalid(*std::move(problem));
  }
  return {};
}

std::optional<LogLevel> level_of(Str name) {
  if (name == "TRACE") return LogLevel::trace;
  if (name == "DEBUG") return LogLevel::debug;
  if (name == "INFO") return LogLevel::info;
  if (name == "WARN") return LogLevel::warn;
  if (name == "ERROR" || name == "FATAL") return LogLevel::error;
  return std::nullopt;
}

ApiError set_loggers(RequestContext& context, metadata::ConfigContext const& configs, RequestedResource const& resource,
                     bool validate_only) {
  if (auto problem = check_own_id(configs, resource.name)) return invalid(*std::move(problem));
  std::optional<LogLevel> level;
  for (auto const& config : resource.configs) {
    auto const operation = static_cast<ConfigOperation>(config.operation);
    if (!is_operation(config.operation)) return invalid(fmt::format("Unknown operations type {}", config.operation));
    if (operation == ConfigOperation::append || operation == ConfigOperation::subtract) {
      return invalid("The level of a logger is no list");
    }
    if (config.name != "root") {
      return {ErrorCode::invalid_config, fmt::format("Logger {} does not exist!", config.name)};
    }
    if (operation == ConfigOperation::remove) {
      return invalid("Removing the log level of the root logger is not allowed");
    }
    level = level_of(*config.value);
    if (!level) {
      return {ErrorCode::invalid_config,
              fmt::format("{} is no log level; valid are TRACE, DEBUG, INFO, WARN, ERROR, FATAL", *config.value)};
    }
  }
  if (level && !validate_only) context.services().log().set_level(*level);
  return {};
}

using ResourceCounts = std::map<std::pair<int8_t, Str>, size_t>;

// None: the controller decides.
std::optional<ApiError> preprocess(RequestContext& context, metadata::ConfigContext const& configs, RequestedChanges const& changes,
                                   ResourceCounts const& counts, RequestedResource const& resource) {
  if (counts.at({resource.type, resource.name}) > 1) return invalid("Each resource must appear at most once.");
  std::set<Str> names;
  for (auto const& config : resource.configs) {
    if (!names.insert(config.name).second) return invalid("Error due to duplicate config keys");
  }
  std::string nulls;
  for (auto const& config : resource.configs) {
    if (config.value || static_cast<ConfigOperation>(config.operation) == ConfigOperation::remove) continue;
    nulls += (nulls.empty() ? "" : ", ") + std::string(config.name);
  }
  if (!nulls.empty()) return invalid("Null value not supported for : " + nulls);
  switch (static_cast<ConfigResourceType>(resource.type)) {
    case ConfigResourceType::broker_logger:
      if (changes.replaces_all) break;
      return set_loggers(context, configs, resource, changes.validate_only);
    case ConfigResourceType::broker:
      if (auto error = check_broker(context, configs, resource); !error.ok()) return error;
      return std::nullopt;
    case ConfigResourceType::topic:
    case ConfigResourceType::client_metrics:
    case ConfigResourceType::group: return std::nullopt;
    case ConfigResourceType::unknown: break;
  }
  return invalid(fmt::format("Unknown resource type {}", resource.type));
}

metadata::ConfigResourceChange to_change(RequestedResource const& resource) {
  metadata::ConfigResourceChange out{{static_cast<ConfigResourceType>(resource.type), std::string(resource.name)}, {}};
  for (auto const& config : resource.configs) {
    out.changes.push_back({std::string(config.name), static_cast<ConfigOperation>(config.operation),
                           std::string(config.value.value_or(""))});
  }
  return out;
}

}  // namespace

void alter_configs(ContextPtr context, RequestedChanges changes,
                   Callback<void(RequestContext&, std::vector<ApiError> const&)> done) {
  auto const& config = context->services().config;
  auto const statics = config.statics->get();
  metadata::ConfigContext const configs{context->image(), config.node_id, *statics, *config.settings};
  std::vector<ApiError> errors(changes.resources.size());
  std::vector<size_t> forwarded;
  metadata::AlterConfigs to_controller;
  to_controller.replaces_all = changes.replaces_all;
  to_controller.validate_only = changes.validate_only;
  ResourceCounts counts;
  for (auto const& resource : changes.resources) ++counts[{resource.type, resource.name}];
  for (size_t i = 0; i < errors.size(); ++i) {
    auto const& resource = changes.resources[i];
    if (auto error = preprocess(*context, configs, changes, counts, resource)) {
      errors[i] = *std::move(error);
      continue;
    }
    // Kafka's controller stumbles over it.
    if (std::ranges::any_of(resource.configs, [](auto const& c) { return !is_operation(c.operation); })) {
      errors[i] = {ErrorCode::unknown_server_error, std::nullopt};
      continue;
    }
    forwarded.push_back(i);
    to_controller.resources.push_back(to_change(resource));
  }
  if (forwarded.empty()) return std::move(done)(*context, errors);
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + kControllerWait;
  runtime::submit_as<metadata::AlterConfigsAnswer>(
      controller, std::move(to_controller), deadline, reactor,
      [context = std::move(context), errors = std::move(errors), forwarded = std::move(forwarded),
       done = std::move(done)](metadata::AlterConfigsAnswer answer) mutable {
        for (size_t i = 0; i < forwarded.size(); ++i) {
          errors[forwarded[i]] = answer.error.ok() ? std::move(answer.resources[i].second) : answer.error;
        }
        std::move(done)(*context, errors);
      });
}

void handle_alter_configs(ContextPtr context) {
  protocol::AlterConfigsRequest request;
  if (!context->decode(request)) return;
  auto changes = requested_changes(request, [](auto const& config) {
    return RequestedConfig{config.name, static_cast<int8_t>(ConfigOperation::set), config.value};
  });
  changes.replaces_all = true;
  alter_configs(std::move(context), changes, [changes](RequestContext& back, std::vector<ApiError> const& errors) {
    reply_altered<protocol::AlterConfigsResponse>(back, changes, errors);
  });
}

}  // namespace millrace::broker
