#include "cluster.h"

#include <charconv>

#include "client_properties.h"

namespace millrace::cli {
namespace {

constexpr uint16_t kDefaultPort = 9092;

Result<std::pair<std::string, uint16_t>> parse_server(std::string_view text) {
  auto const bad = [&](std::string_view why) {
    return Error{ErrorKind::invalid, fmt::format("bootstrap server '{}': {}; write HOST:PORT or [IPV6]:PORT", text, why)};
  };
  std::string host;
  std::string_view port_text;
  if (text.starts_with('[')) {
    auto const close = text.find(']');
    if (close == std::string_view::npos) return bad("']' is missing");
    host = text.substr(1, close - 1);
    port_text = text.substr(close + 1);
    if (port_text.starts_with(':')) port_text.remove_prefix(1);
  } else {
    auto const colon = text.rfind(':');
    host = text.substr(0, colon);
    if (colon != std::string_view::npos) port_text = text.substr(colon + 1);
  }
  if (host.empty()) return bad("there is no host");
  uint16_t port = kDefaultPort;
  if (!port_text.empty()) {
    auto const [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (error != std::errc() || end != port_text.data() + port_text.size() || port == 0) {
      return bad("the port is not a number from 1 to 65535");
    }
  }
  return std::make_pair(std::move(host), port);
}

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::connect(ClusterOptions const& given) {
  MR_TRY_ASSIGN(auto const options, with_client_properties(given));
  std::vector<std::pair<std::string, uint16_t>> servers;
  std::string_view rest = options.bootstrap;
  while (!rest.empty()) {
    auto const comma = rest.find(',');
    auto const part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    MR_TRY_ASSIGN(auto server, parse_server(part));
    servers.push_back(std::move(server));
  }
  if (servers.empty()) return Error{ErrorKind::invalid, "no bootstrap server is given; write --bootstrap HOST:PORT"};

  std::unique_ptr<Cluster> cluster(new Cluster(options));
  env_os::OsEnvOptions env_options;
  env_options.reactor_count = 1;
  env_options.log_level = LogLevel::warn;
  MR_TRY_ASSIGN(cluster->env_, env_os::make_os_env(env_options));
  Error last{ErrorKind::io, ""};
  for (auto const& [host, port] : servers) {
    auto connection = cluster->open(host, port);
    if (connection) {
      cluster->bootstrap_ = *std::move(connection);
      return cluster;
    }
    last = std::move(connection).error();
    last.message = fmt::format("connect to {}:{}: {}", host, port, last.message);
    if (last.kind != ErrorKind::unsupported) last.kind = ErrorKind::io;
  }
  return last;
}

Cluster::~Cluster() {
  if (!env_) return;
  std::promise<void> closed;
  env_->reactor(0).post([&] {
    connections_.clear();
    bootstrap_.reset();
    closed.set_value();
  });
  closed.get_future().wait();
  env_->stop();
}

void Cluster::pause(Duration duration) {
  std::promise<void> over;
  auto& reactor = env_->reactor(0);
  reactor.post([&] { reactor.call_at(reactor.now() + duration, [&] { over.set_value(); }); });
  over.get_future().wait();
}

Result<std::shared_ptr<client::Connection>> Cluster::open(std::string const& host, uint16_t port) {
  std::promise<Result<std::shared_ptr<client::Connection>>> promise;
  client::Options options;
  options.client_id = options_.client_id;
  options.request_timeout = from_ms(options_.timeout_ms);
  auto& reactor = env_->reactor(0);
  reactor.post([&] {
    client::Connection::open(env_->network(), reactor, host, port, options, reactor.now() + options.request_timeout,
                             [&](Result<std::shared_ptr<client::Connection>> opened) { promise.set_value(std::move(opened)); });
  });
  return promise.get_future().get();
}

Result<std::shared_ptr<client::Connection>> Cluster::connection_to(int32_t node) {
  if (node == kAnyNode) return bootstrap_;
  if (auto const found = connections_.find(node); found != connections_.end()) return found->second;
  auto const address = addresses_.find(node);
  if (address == addresses_.end()) {
    return Error{ErrorKind::not_found, fmt::format("broker {} is not among the live brokers", node)};
  }
  auto const& [host, port] = address->second;
  auto connection = open(host, port);
  if (!connection) {
    return Error{ErrorKind::io,
                 fmt::format("broker {} does not answer at {}:{}, the address that it advertises: {}\n"
                             "  If it runs, its advertised.listeners must name an address that this machine reaches.",
                             node, host, port, connection.error().message)};
  }
  connections_[node] = *connection;
  return connection;
}

Result<client::Reply<protocol::MetadataResponse>> Cluster::metadata(
    Array<protocol::MetadataRequest::MetadataRequestTopic> topics) {
  protocol::MetadataRequest request;
  request.topics = topics;
  request.allow_auto_topic_creation = false;
  auto reply = call<protocol::MetadataResponse>(request);
  if (reply) {
    for (auto const& broker : reply->message.brokers) remember(broker.node_id, broker.host, broker.port);
    controller_ = reply->message.controller_id < 0 ? kAnyNode : reply->message.controller_id;
  }
  return reply;
}

void Cluster::remember(int32_t node, std::string_view host, int32_t port) {
  addresses_[node] = {std::string(host), static_cast<uint16_t>(port)};
}

Result<int32_t> Cluster::controller() {
  if (!controller_) MR_TRY(metadata({}));
  return addresses_.contains(*controller_) ? *controller_ : kAnyNode;
}

Result<std::vector<int32_t>> Cluster::nodes() {
  MR_TRY_ASSIGN(auto const reply, metadata({}));
  std::vector<int32_t> nodes;
  for (auto const& broker : reply.message.brokers) nodes.push_back(broker.node_id);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Result<client::Reply<protocol::MetadataResponse>> Cluster::metadata_of(std::string_view topic) {
  std::vector<protocol::MetadataRequest::MetadataRequestTopic> topics(1);
  topics[0].name = topic;
  return metadata(topics);
}

}  // namespace millrace::cli
