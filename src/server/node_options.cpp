#include "millrace/server/node_options.h"

#include <set>

#include "millrace/env_os/resolve.h"

namespace millrace::server {

namespace {

std::string uppered(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

struct HostPort {
  std::string host;
  uint16_t port{};
};

std::optional<HostPort> parse_host_port(std::string_view text) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto const port = parse_integer(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return std::nullopt;
    host = host.substr(1, host.size() - 2);
  }
  return HostPort{std::string(host), static_cast<uint16_t>(*port)};
}

bool is_wildcard(std::string_view host) { return host.empty() || host == "0.0.0.0" || host == "::"; }

class Planner {
  static constexpr size_t kProblemBytesMax = 1000;

 public:
  explicit Planner(Configuration const& configuration) : configuration_(configuration) {}

  Result<NodeOptions> plan() {
    plan_roles();
    plan_id();
    plan_protocols();
    plan_listeners();
    plan_advertised();
    plan_inter_broker();
    plan_quorum();
    plan_directories();
    check_admin();
    if (problems_.empty()) return std::move(options_);
    return Error{ErrorKind::invalid, problems_};
  }

 private:
  void fail(std::string_view problem) {
    if (!problems_.empty()) problems_ += '\n';
    problems_ += shown(problem, kProblemBytesMax);
  }

  void plan_roles() {
    if (!configuration_.is_set("process.roles")) return;  // both
    options_.is_broker = options_.is_controller = false;
    for (auto const& role : configuration_.list("process.roles")) {
      auto& has = role == "broker" ? options_.is_broker : options_.is_controller;
      if (has) fail("process.roles: " + role + " stands there twice");
      has = true;
    }
    if (!options_.is_broker && !options_.is_controller) fail("process.roles: must name broker, controller or both");
  }

  void plan_id() {
    auto const node_id = configuration_.is_set("node.id") ? std::optional(configuration_.integer("node.id")) : std::nullopt;
    auto const broker_id = configuration_.integer("broker.id");
    if (node_id && configuration_.is_set("broker.id") && *node_id != broker_id) {
      fail(fmt::format("broker.id={} is not node.id={}; leave broker.id out", broker_id, *node_id));
    }
    if (node_id) options_.node_id = BrokerId(static_cast<int32_t>(*node_id));
    else if (broker_id >= 0) options_.node_id = BrokerId(static_cast<int32_t>(broker_id));
    else if (configuration_.is_set("process.roles")) fail("node.id: must be set where process.roles is");
  }

  void plan_protocols() {
    for (auto const& name : configuration_.list("controller.listener.names")) {
      options_.controller_listeners.push_back(uppered(name));
    }
    if (options_.controller_listeners.empty()) {
      if (configuration_.is_set("process.roles")) fail("controller.listener.names: must name at least one listener");
      options_.controller_listeners.emplace_back("CONTROLLER");
    }
    for (auto const& item : parse_list(configuration_.text_or_empty("listener.security.protocol.map"))) {
      auto const colon = item.find(':');
      if (colon == std::string::npos) {
        fail("listener.security.protocol.map: " + item + " is not NAME:PROTOCOL");
        continue;
      }
      auto const protocol = uppered(item.substr(colon + 1));
      if (protocol != "PLAINTEXT" && protocol != "SSL" && protocol != "SASL_PLAINTEXT" && protocol != "SASL_SSL") {
        fail("listener.security.protocol.map: " + protocol + " is not a security protocol");
      }
      if (!protocols_.emplace(uppered(item.substr(0, colon)), protocol).second) {
        fail("listener.security.protocol.map: " + item.substr(0, colon) + " stands there twice");
      }
    }
    // As Kafka does while the map is not set.
    if (!configuration_.is_set("listener.security.protocol.map")) {
      for (auto const& name : options_.controller_listeners) protocols_.try_emplace(name, "PLAINTEXT");
    }
  }

  bool is_controller_listener(std::string const& name) const {
    return std::ranges::find(options_.controller_listeners, name) != options_.controller_listeners.end();
  }

  void plan_listeners() {
    auto texts = configuration_.list("listeners");
    if (!configuration_.is_set("listeners")) {
      texts.clear();
      if (options_.is_broker) texts.emplace_back("PLAINTEXT://localhost:9092");
      if (options_.is_controller) texts.emplace_back(options_.controller_listeners[0] + "://localhost:9093");
    }
    std::set<std::string> names;
    std::map<uint16_t, std::string> ports;
    for (auto const& text : texts) {
      auto listener = parse_endpoint(text);
      if (!listener) {
        fail("listeners: " + listener.error().message);
        continue;
      }
      if (!names.insert(listener->name).second) fail("listeners: " + listener->name + " stands there twice");
      if (listener->port != 0) {
        auto const [other, is_new] = ports.emplace(listener->port, listener->host);
        if (!is_new && (other->second == listener->host || is_wildcard(other->second) || is_wildcard(listener->host))) {
          fail(fmt::format("listeners: port {} stands there twice", listener->port));
        }
      }
      auto const protocol = protocols_.find(listener->name);
      if (protocol == protocols_.end()) {
        fail("listeners: " + listener->name + " is not in listener.security.protocol.map");
        continue;
      }
      listener->protocol = protocol->second;
      if (listener->protocol != "PLAINTEXT") {
        fail(fmt::format("listeners: {} is {}, which this version does not serve", listener->name, listener->protocol));
      }
      listener->is_controller = is_controller_listener(listener->name);
      options_.listeners.push_back(*std::move(listener));
    }
    auto const has = [&](bool is_controller) {
      return std::ranges::any_of(options_.listeners, [&](auto const& l) { return l.is_controller == is_controller; });
    };
    if (options_.is_controller && !has(true)) {
      if (configuration_.is_set("process.roles")) {
        fail("listeners: none of controller.listener.names (" + options_.controller_listeners[0] + ") is there");
      } else {
        // A sole node that was only told where its clients come: any port does for its own quorum.
        options_.listeners.push_back({options_.controller_listeners[0], "localhost", 0, "PLAINTEXT", true});
      }
    }
    if (!options_.is_controller && has(true)) fail("listeners: a broker alone must not have a listener of controller.listener.names");
    if (options_.is_broker && !has(false)) fail("listeners: a broker needs a listener that is not a controller's");
    if (!options_.is_broker && has(false)) fail("listeners: a controller alone must only have listeners of controller.listener.names");
  }

  void plan_advertised() {
    for (auto const& text : configuration_.list("advertised.listeners")) {
      auto const advertised = parse_endpoint(text);
      if (!advertised) {
        fail("advertised.listeners: " + advertised.error().message);
        continue;
      }
      auto const& name = advertised->name;
      auto const listens = std::ranges::any_of(options_.listeners, [&](auto const& l) { return l.name == name; });
      if (!listens) fail("advertised.listeners: " + name + " is not in listeners");
      if (is_wildcard(advertised->host)) {
        fail("advertised.listeners: " + text + ": clients need an address that they can connect to");
      }
      options_.advertised.push_back({name, advertised->host, advertised->port});
    }
  }

  void plan_inter_broker() {
    auto const name = configuration_.text("inter.broker.listener.name");
    if (name && configuration_.is_set("security.inter.broker.protocol")) {
      fail("inter.broker.listener.name and security.inter.broker.protocol must not both be set");
    }
    auto& listener = options_.inter_broker_listener;
    listener = uppered(name.value_or(configuration_.text_or_empty("security.inter.broker.protocol")));
    if (!options_.is_broker) return;
    auto const is_own = [&](auto const& l) { return !l.is_controller && l.name == listener; };
    if (std::ranges::any_of(options_.listeners, is_own)) return;
    bool const is_said = name || configuration_.is_set("security.inter.broker.protocol") || configuration_.is_set("process.roles");
    auto const first = std::ranges::find_if(options_.listeners, [](auto const& l) { return !l.is_controller; });
    if (is_said || first == options_.listeners.end()) {
      fail("inter.broker.listener.name: " + listener + " is not one of the broker's listeners");
    } else {
      listener = first->name;
    }
  }

  void plan_quorum() {
    for (auto const& text : configuration_.list("controller.quorum.voters")) {
      auto const at = text.find('@');
      auto const id = parse_integer(text.substr(0, std::min(at, text.size())));
      auto const address = at == std::string::npos ? std::nullopt : parse_host_port(std::string_view(text).substr(at + 1));
      if (!id || *id < 0 || *id > INT32_MAX || !address || address->host.empty()) {
        fail("controller.quorum.voters: " + text + " is not ID@HOST:PORT");
        continue;
      }
      options_.voters.push_back({BrokerId(static_cast<int32_t>(*id)), address->host, address->port});
    }
    options_.bootstrap_servers = configuration_.list("controller.quorum.bootstrap.servers");
    for (auto const& server : options_.bootstrap_servers) {
      if (!parse_host_port(server)) fail("controller.quorum.bootstrap.servers: " + server + " is not HOST:PORT");
    }
    auto const is_self = [&](auto const& voter) { return voter.id == options_.node_id; };
    if (options_.voters.empty()) {
      if (!options_.is_controller && options_.bootstrap_servers.empty()) {
        fail("controller.quorum.bootstrap.servers or controller.quorum.voters must say where the controllers are");
      }
    } else if (options_.is_controller && std::ranges::none_of(options_.voters, is_self)) {
      fail(fmt::format("controller.quorum.voters: does not hold this node's id {}", options_.node_id));
    } else if (!options_.is_controller && std::ranges::any_of(options_.voters, is_self)) {
      fail(fmt::format("controller.quorum.voters: holds id {} of a node that is no controller", options_.node_id));
    }
  }

  void plan_directories() {
    options_.log_directories = configuration_.list(configuration_.is_set("log.dirs") ? "log.dirs" : "log.dir");
    if (options_.log_directories.empty()) fail("log.dirs: must name at least one directory");
    for (auto& directory : options_.log_directories) {
      while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
    }
    auto sorted = options_.log_directories;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) fail("log.dirs: a directory stands there twice");
    auto const metadata = configuration_.text("metadata.log.dir");
    for (auto const& directory : configuration_.list("cordoned.log.dirs")) {
      if (std::ranges::find(options_.log_directories, directory) == options_.log_directories.end()) {
        fail("cordoned.log.dirs: " + directory + " is not in log.dirs; name it there or take it out here");
      }
    }
    if (metadata) options_.metadata_directory = *metadata;
    else if (!options_.log_directories.empty()) options_.metadata_directory = options_.log_directories[0];
  }

  void check_admin() {
    auto const text = configuration_.text_or_empty("millrace.admin.listener");
    if (text.empty()) return;
    auto const address = parse_host_port(text);
    if (!address || (address->host != "localhost" && !env_os::is_numeric_address(address->host))) {
      fail("millrace.admin.listener=" + text + ": must be ADDRESS:PORT with a numeric address, such as 127.0.0.1:9644 or [::]:9644; "
           "empty for none");
    }
  }

  Configuration const& configuration_;
  NodeOptions options_;
  std::map<std::string, std::string> protocols_;
  std::string problems_;
};

}  // namespace

Result<ListenerSetting> parse_endpoint(std::string_view text) {
  auto const separator = text.find("://");
  auto const address =
      separator == std::string_view::npos ? std::nullopt : parse_host_port(text.substr(separator + 3));
  if (!address || separator == 0) {
    return Error{ErrorKind::invalid, fmt::format("{} is not NAME://HOST:PORT", text)};
  }
  return ListenerSetting{uppered(text.substr(0, separator)), address->host, address->port, {}, false};
}

Result<NodeOptions> plan_node(Configuration const& configuration) { return Planner(configuration).plan(); }

}  // namespace millrace::server
