#include <unistd.h>

#include <climits>

#include "millrace/env_os/resolve.h"
#include "millrace/metadata/image.h"
#include "millrace/metadata/topic_config.h"
#include "millrace/runtime/topic_config.h"
#include "millrace/server/server.h"

namespace millrace::server {

namespace {

template <class T>
T narrow(int64_t value) {
  return static_cast<T>(std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

bool is_wildcard(std::string_view host) { return host.empty() || host == "0.0.0.0" || host == "::"; }

Result<std::vector<env::SocketAddress>> addresses_of(ListenerSetting const& listener) {
  // Both families, as on a JVM, where a wildcard socket of either family takes connections of both.
  if (is_wildcard(listener.host)) return std::vector<env::SocketAddress>{{"0.0.0.0", listener.port}, {"::", listener.port}};
  MR_TRY_ASSIGN(auto addresses, env_os::resolve(listener.host, listener.port));
  // IPv4 first: an IPv6 address that the machine does not have is passed over, an IPv4 one is an error.
  std::ranges::stable_partition(addresses, [](auto const& a) { return a.ip.find(':') == std::string::npos; });
  return addresses;
}

// Kafka's buffer sizes fit a network of 2011; while nobody asks for them the system tunes its own.
int buffer_bytes(Configuration const& configuration, std::string_view key) {
  return configuration.is_set(key) ? narrow<int>(configuration.integer(key)) : -1;
}

Result<broker::NodeListener> compose_listener(Configuration const& configuration, NodeOptions const& plan,
                                              ListenerSetting const& listener) {
  broker::NodeListener out;
  auto addresses = addresses_of(listener);
  if (!addresses) {
    return Error{ErrorKind::invalid, fmt::format("listeners: {}: {}", listener.name, addresses.error().message)};
  }
  out.net = {.name = listener.name,
             .addresses = *std::move(addresses),
             .congestion_control = configuration.text_or_empty("millrace.tcp.congestion.control"),
             .backlog = narrow<int>(configuration.integer("socket.listen.backlog.size")),
             .send_buffer_bytes = buffer_bytes(configuration, "socket.send.buffer.bytes"),
             .receive_buffer_bytes = buffer_bytes(configuration, "socket.receive.buffer.bytes")};
  out.kind = listener.is_controller ? broker::ListenerKind::controller : broker::ListenerKind::broker;
  auto const advertised = std::ranges::find(plan.advertised, listener.name, &AdvertisedSetting::name);
  if (advertised != plan.advertised.end()) {
    out.advertised_host = advertised->host;
    out.advertised_port = advertised->port;
  } else if (!is_wildcard(listener.host)) {
    out.advertised_host = listener.host;
    out.advertised_port = listener.port;
  }
  out.registered_host = out.advertised_host.empty() ? host_name() : out.advertised_host;
  return out;
}

metadata::StaticConfigs statics_of(Configuration const& configuration) {
  metadata::StaticConfigs statics;
  for (auto const& [key, value] : configuration.values()) statics[key] = value.text;
  return statics;
}

// What is in force although no file says so.
metadata::StaticConfigs with_derived(metadata::StaticConfigs statics, NodeOptions const& plan) {
  auto const id = fmt::format("{}", plan.node_id);
  statics.emplace("node.id", id);
  statics.emplace("broker.id", id);
  statics.emplace("process.roles", "broker,controller");
  statics.emplace("log.dirs", fmt::format("{}", fmt::join(plan.log_directories, ",")));
  return statics;
}

metadata::UpdateMode update_mode_of(Setting const& setting) {
  if (setting.change == SettingChange::restart) return metadata::UpdateMode::read_only;
  constexpr std::string_view kOfOneBroker[] = {"cordoned.log.dirs", "listener.security.protocol.map", "listeners",
                                               "principal.builder.class"};
  bool const is_of_one_broker = setting.name.starts_with("ssl.") || setting.name.starts_with("sasl.") ||
                                std::ranges::find(kOfOneBroker, setting.name) != std::end(kOfOneBroker);
  return is_of_one_broker ? metadata::UpdateMode::per_broker : metadata::UpdateMode::cluster_wide;
}

std::shared_ptr<metadata::BrokerSettings const> broker_settings() {
  auto out = std::make_shared<metadata::BrokerSettings>();
  for (auto const* known : known_settings()) {
    auto const& setting = known->setting;
    out->all.push_back({.name = setting.name,
                        .type = setting.type,
                        .default_text = known->has(kUnset) ? std::nullopt : std::optional(setting.default_text),
                        .update_mode = update_mode_of(setting),
                        .is_internal = known->has(kInternal),
                        .documentation = setting.sentence});
  }
  out->check = [](metadata::BrokerSetting const& setting, std::string_view value) {
    return check_value(*find_setting(setting.name), value);
  };
  return out;
}

runtime::TopicConfig topic_defaults(NodeOptions const& plan, metadata::StaticConfigs const& statics) {
  metadata::Image const nothing;
  runtime::TopicConfig defaults;
  for (auto const& setting : metadata::topic_settings()) {
    auto const effective = metadata::effective_topic_config(nothing, plan.node_id, statics, "", setting);
    runtime::apply_topic_setting(defaults, setting.name, effective.value);
  }
  runtime::finish_topic_config(defaults);
  return defaults;
}

Result<net::NetOptions> compose_net(Configuration const& configuration) {
  net::NetOptions out;
  out.connections_max = configuration.integer("max.connections");
  out.connections_per_ip_max = configuration.integer("max.connections.per.ip");
  out.idle_max = from_ms(configuration.integer("connections.max.idle.ms"));
  out.request_bytes_max = configuration.integer("queued.max.request.bytes");
  for (auto const& item : configuration.list("max.connections.per.ip.overrides")) {
    auto const colon = item.rfind(':');
    auto const count = colon == std::string::npos ? std::nullopt : parse_integer(std::string_view(item).substr(colon + 1));
    if (!count || *count < 0) {
      return Error{ErrorKind::invalid, "max.connections.per.ip.overrides: " + item + " is not HOST:COUNT"};
    }
    auto addresses = env_os::resolve(item.substr(0, colon), 0);
    if (!addresses) return Error{ErrorKind::invalid, "max.connections.per.ip.overrides: " + addresses.error().message};
    for (auto const& address : *addresses) out.connections_per_ip_overrides[address.ip] = *count;
  }
  return out;
}

void compose_quorum(Configuration const& configuration, NodeOptions const& plan,
                    runtime::ControllerDriverOptions& out) {
  auto const ms = [&](std::string_view key) { return from_ms(configuration.integer(key)); };
  out.quorum.election_timeout = ms("controller.quorum.election.timeout.ms");
  out.quorum.election_backoff_max = ms("controller.quorum.election.backoff.max.ms");
  out.quorum.fetch_timeout = ms("controller.quorum.fetch.timeout.ms");
  out.quorum.retry_backoff = ms("controller.quorum.retry.backoff.ms");
  out.quorum.fetch_bytes_max = narrow<int32_t>(configuration.integer("controller.quorum.fetch.max.bytes"));
  out.quorum.snapshot_bytes_max = narrow<int32_t>(configuration.integer("controller.quorum.fetch.snapshot.max.bytes"));
  out.network.request_timeout = ms("controller.quorum.request.timeout.ms");
  int32_t id = -2;  // as Kafka numbers addresses whose node it does not know
  for (auto const& server : plan.bootstrap_servers) {
    if (auto const address = parse_endpoint("X://" + server))
      out.network.bootstrap.push_back({BrokerId(id--), address->host, address->port});
  }
}

}  // namespace

Result<broker::LocalNodeOptions> compose_node(Configuration const& configuration, NodeOptions const& plan) {
  auto const integer = [&](std::string_view key) { return configuration.integer(key); };
  broker::LocalNodeOptions out;
  for (auto const& listener : plan.listeners) {
    MR_TRY_ASSIGN(auto composed, compose_listener(configuration, plan, listener));
    out.listeners.push_back(std::move(composed));
  }
  MR_TRY_ASSIGN(out.net, compose_net(configuration));

  auto const statics = statics_of(configuration);
  out.config.node_id = plan.node_id;
  out.config.statics = std::make_shared<metadata::LiveStatics>(with_derived(statics, plan));
  out.config.settings = broker_settings();
  out.config.quota_windows = {narrow<int32_t>(integer("quota.window.num")),
                              std::chrono::seconds(integer("quota.window.size.seconds"))};
  out.config.rack = configuration.text_or_empty("broker.rack");
  out.config.request_bytes_max = integer("socket.request.max.bytes");
  out.config.fetch_bytes_max = narrow<int32_t>(integer("fetch.max.bytes"));
  out.config.fetch_session_count_max = narrow<int32_t>(integer("max.incremental.fetch.session.cache.slots"));
  out.config.region_bytes_min = integer("millrace.fetch.sendfile.bytes.min");
  out.config.auto_create_topics = configuration.boolean("auto.create.topics.enable");
  out.config.default_partition_count = narrow<int32_t>(integer("num.partitions"));
  out.config.default_replication_factor = narrow<int16_t>(integer("default.replication.factor"));
  out.config.validates_records = configuration.text_or_empty("millrace.produce.validation") == "full";

  auto& groups = out.config.groups;
  groups.initial_rebalance_delay = from_ms(integer("group.initial.rebalance.delay.ms"));
  groups.session_timeout_ms_min = narrow<int32_t>(integer("group.min.session.timeout.ms"));
  groups.session_timeout_ms_max = narrow<int32_t>(integer("group.max.session.timeout.ms"));
  groups.member_count_max = narrow<int32_t>(integer("group.max.size"));
  groups.offset_metadata_max = narrow<int32_t>(integer("offset.metadata.max.bytes"));
  groups.offsets_retention = std::chrono::minutes(integer("offsets.retention.minutes"));
  groups.offsets_retention_check = from_ms(integer("offsets.retention.check.interval.ms"));
  out.config.offsets_commit_timeout = from_ms(integer("offsets.commit.timeout.ms"));

  out.log_directories = plan.log_directories;
  out.metadata_directory = plan.metadata_directory;
  out.cluster_id = configuration.text_or_empty("millrace.cluster.id");
  out.may_draw_cluster_id = plan.is_sole_voter();
  out.directory.low_space_bytes = integer("millrace.space.low.bytes");
  out.directory.ballast_bytes = integer("millrace.space.ballast.bytes");
  out.directory.preallocate_bytes = integer("millrace.preallocate.bytes");
  out.directory.flush_interval = from_ms(integer("millrace.flush.interval.ms"));
  out.directory.flush_bytes = integer("millrace.flush.bytes");
  out.directory.checkpoint_interval = from_ms(integer("replica.high.watermark.checkpoint.interval.ms"));
  out.open_files_max = static_cast<size_t>(integer("millrace.open.files.max"));

  out.partitions.node_id = plan.node_id;
  out.partitions.topic_defaults = topic_defaults(plan, statics);
  out.partitions.topic_defaults.log.producer_expiry_ms = integer("producer.id.expiration.ms");
  out.partitions.producer_check_interval = from_ms(integer("producer.id.expiration.check.interval.ms"));
  out.partitions.retention_check_interval = from_ms(integer("log.retention.check.interval.ms"));

  constexpr std::string_view kRackAware = "org.apache.kafka.common.replica.RackAwareReplicaSelector";
  if (auto const selector = configuration.text_or_empty("replica.selector.class"); !selector.empty()) {
    if (selector != kRackAware) {
      return Error{ErrorKind::invalid, fmt::format("replica.selector.class: {} is not known; {} is, and without a value "
                                                   "consumers read from leaders", shown(selector), kRackAware)};
    }
    out.config.has_rack_aware_reads = true;
  }
  auto& replication = out.partitions.replication;
  replication.inter_broker_listener = plan.inter_broker_listener;
  replication.lag_max = from_ms(integer("replica.lag.time.max.ms"));
  replication.fetch.wait_max = from_ms(integer("replica.fetch.wait.max.ms"));
  replication.fetch.bytes_min = static_cast<int32_t>(integer("replica.fetch.min.bytes"));
  replication.fetch.partition_bytes_max = static_cast<int32_t>(integer("replica.fetch.max.bytes"));
  replication.fetch.response_bytes_max = static_cast<int32_t>(integer("replica.fetch.response.max.bytes"));
  replication.fetch.backoff = from_ms(integer("replica.fetch.backoff.ms"));
  replication.fetch.request_timeout = from_ms(integer("replica.socket.timeout.ms"));
  auto& cleaner = out.partitions.cleaner;
  cleaner.is_enabled = configuration.boolean("log.cleaner.enable");
  cleaner.backoff = from_ms(integer("log.cleaner.backoff.ms"));
  cleaner.pass_count_max = static_cast<size_t>(std::max<int64_t>(integer("log.cleaner.threads"), 0));
  cleaner.key_map_bytes_max = integer("log.cleaner.dedupe.buffer.size");
  cleaner.bytes_per_second_max = configuration.real("log.cleaner.io.max.bytes.per.second");

  out.controller.controller.node_id = plan.node_id;
  out.controller.controller.default_partition_count = out.config.default_partition_count;
  out.controller.controller.default_replication_factor = out.config.default_replication_factor;
  out.controller.controller.mutation_windows = {narrow<int32_t>(integer("controller.quota.window.num")),
                                                std::chrono::seconds(integer("controller.quota.window.size.seconds"))};
  out.controller.controller.min_isr = narrow<int32_t>(integer("min.insync.replicas"));
  out.controller.controller.broker_session = from_ms(integer("broker.session.timeout.ms"));
  out.controller.controller.statics = statics;
  out.controller.controller.settings = out.config.settings;
  out.controller.snapshot_interval_bytes = integer("metadata.log.max.record.bytes.between.snapshots");
  out.has_static_voters = !plan.voters.empty();
  if (!plan.is_sole_voter()) {
    for (auto const& voter : plan.voters) out.static_voters.push_back({voter.id, voter.host, voter.port});
  }
  out.is_first_voter = plan.is_sole_voter();
  out.controller.inter_broker_listener = plan.inter_broker_listener;
  out.controller.balances_leaders = configuration.boolean("auto.leader.rebalance.enable");
  out.controller.balance_interval = from_ms(integer("leader.imbalance.check.interval.seconds") * 1000);
  out.controller.is_broker = plan.is_broker;
  out.controller.is_controller = plan.is_controller;
  out.controller.network.listener = plan.controller_listeners.front();
  out.controller.broker.heartbeat_interval = from_ms(integer("broker.heartbeat.interval.ms"));
  out.controller.broker.registration_timeout = from_ms(integer("initial.broker.registration.timeout.ms"));
  compose_quorum(configuration, plan, out.controller);
  out.stop_wait = from_ms(integer("millrace.stop.timeout.ms"));
  return out;
}

}  // namespace millrace::server
