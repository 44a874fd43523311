#include "millrace/server/server.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <future>

#include "millrace/admin/admin.h"
#include "millrace/env_os/os_env.h"
#include "millrace/env_os/process.h"

extern char** environ;  // NOLINT: POSIX declares it so

namespace millrace::server {

namespace {

constexpr int64_t kConfigBytesMax = 4 << 20;
constexpr int kExitFailed = 1;
constexpr int kExitConfiguration = 2;
constexpr auto kStartSignalCheck = 20ms;
constexpr auto kStopLimit = 60s;  // a disk that hangs must not keep the process for ever

LogLevel level_of(std::string_view name) {
  if (name == "trace") return LogLevel::trace;
  if (name == "debug") return LogLevel::debug;
  if (name == "warn") return LogLevel::warn;
  if (name == "error") return LogLevel::error;
  return LogLevel::info;
}

int complain(std::string_view text) {
  fmt::print(stderr, "millrace: {}\n", text);
  return kExitConfiguration;
}

Result<std::string> read_file(std::string const& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> const file(std::fopen(path.c_str(), "re"), std::fclose);
  if (file == nullptr) return Error{ErrorKind::not_found, fmt::format("{}: {}", path, std::strerror(errno))};
  std::string content;
  char buffer[65536];
  while (auto const count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    content.append(buffer, count);
    if (static_cast<int64_t>(content.size()) > kConfigBytesMax) {
      return Error{ErrorKind::limit, fmt::format("{}: more than {} bytes", path, kConfigBytesMax)};
    }
  }
  return content;
}

// What runs while the node does. Members go in the reverse order.
class Server {
 public:
  Server(std::unique_ptr<env_os::OsEnv> env, broker::LocalNodeOptions options)
      : env_(std::move(env)), node_(std::make_unique<broker::LocalNode>(*env_, std::move(options), [this](auto const& reason) {
          env_->log().error("node", "{}", reason);
          failed_ = true;
          env_os::raise_stop_signal();
        })) {}
  ~Server() {
    admin_.reset();
    env_->stop();
    node_.reset();
  }

  Status start(admin::AdminOptions const& admin_options, bool is_admin_optional) {
    if (!admin_options.listener.empty()) {
      auto admin = admin::Admin::start(admin_options, *env_, *node_);
      if (admin) {
        admin_ = *std::move(admin);
        env_->log().info("admin", "/live, /ready, /metrics, /lag and /hot on {}", admin_->address());
      } else if (!is_admin_optional) {
        return Error{ErrorKind::io, "millrace.admin.listener: " + admin.error().message};
      } else {
        env_->log().warn("admin", "no admin listener: {}", admin.error().message);
      }
    }
    auto const started = std::make_shared<std::promise<Status>>();
    auto ready = started->get_future();
    node_->start([started](Status status) { started->set_value(std::move(status)); });
    // A start that is stopped ends first: what it had begun is then closed cleanly.
    auto give_up_at = std::chrono::steady_clock::time_point::max();
    while (ready.wait_for(kStartSignalCheck) != std::future_status::ready) {
      auto const signal = env_os::take_stop_signal();
      if (signal && *signal == SIGHUP) continue;  // the file was read a moment ago
      if (signal && early_signal_) return stopped_by(*signal);
      if (signal) {
        early_signal_ = signal;
        node_->stop_joining();
        give_up_at = std::chrono::steady_clock::now() + kStopLimit;
      }
      if (std::chrono::steady_clock::now() > give_up_at) return stopped_by(*early_signal_);
    }
    return ready.get();
  }
  // The first one, if it came during the start.
  std::optional<int> early_signal() const { return early_signal_; }

  Status stop() {
    auto stopped = std::make_shared<std::promise<Status>>();
    auto future = stopped->get_future();
    node_->stop([stopped](Status status) { stopped->set_value(std::move(status)); });
    if (future.wait_for(kStopLimit) != std::future_status::ready) {
      return Error{ErrorKind::io, "stopping takes too long; the process ends without its last syncs"};
    }
    return future.get();
  }

  // The keys that differ and cannot be taken over.
  std::vector<std::string> reload(broker::LocalNodeOptions options) {
    auto done = std::make_shared<std::promise<std::vector<std::string>>>();
    auto future = done->get_future();
    env_->control_reactor().post(
        [this, done, options = std::move(options)] { done->set_value(node_->reload(options)); });
    return future.get();
  }

  bool has_failed() const { return failed_; }
  Logger& log() { return env_->log(); }
  broker::LocalNode& node() { return *node_; }

 private:
  static Error stopped_by(int signal) { return {ErrorKind::cancelled, fmt::format("stopped by signal {}", signal)}; }

  std::unique_ptr<env_os::OsEnv> env_;
  std::optional<int> early_signal_;
  std::atomic<bool> failed_{false};
  std::unique_ptr<broker::LocalNode> node_;
  std::unique_ptr<admin::Admin> admin_;
};

void log_start(Server& server, broker::LocalNodeOptions const& options) {
  server.log().info("node", "node {} of cluster {} serves", options.config.node_id, server.node().cluster_id());
  for (auto const& listener : options.listeners) {
    for (auto const& address : server.node().addresses(listener.net.name)) {
      auto const is_ipv6 = address.ip.find(':') != std::string::npos;
      server.log().info("node", "{} on {}{}{}:{}", listener.net.name, is_ipv6 ? "[" : "", address.ip, is_ipv6 ? "]" : "",
                        address.port);
    }
  }
}

admin::AdminOptions admin_options(Configuration const& configuration) {
  return {.listener = configuration.text_or_empty("millrace.admin.listener"),
          .stuck_after = from_ms(configuration.integer("millrace.group.stuck.ms")),
          .group_partitions_max = static_cast<size_t>(configuration.integer("millrace.metrics.group.partitions.max")),
          .topics_max = static_cast<size_t>(configuration.integer("millrace.metrics.topics.max"))};
}

// Reads the file again. A bad one changes nothing.
void reload(Server& server, ServeOptions const& options) {
  auto& log = server.log();
  auto const configuration = load_configuration(options.config_file, options.overrides);
  if (!configuration) return log.error("configuration", "not read again: {}", configuration.error().message);
  auto const plan = plan_node(*configuration);
  if (!plan) return log.error("configuration", "not read again: {}", plan.error().message);
  auto node_options = compose_node(*configuration, *plan);
  if (!node_options) return log.error("configuration", "not read again: {}", node_options.error().message);
  log.set_level(level_of(configuration->text_or_empty("millrace.log.level")));
  for (auto const& key : server.reload(*std::move(node_options))) {
    if (key != "millrace.log.level") log.warn("configuration", "{} has changed and counts from the next start on", key);
  }
  log.info("configuration", "read again");
}

}  // namespace

Result<Configuration> load_configuration(std::string const& file, std::vector<std::string> const& overrides) {
  ConfigurationSources sources;
  sources.file_name = file;
  sources.overrides = overrides;
  if (!file.empty()) {
    MR_TRY_ASSIGN(sources.file_content, read_file(file));
  }
  for (auto** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    std::string_view const text = *variable;
    auto const equals = text.find('=');
    if (equals != std::string_view::npos) sources.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return Configuration::load(sources);
}

int serve(ServeOptions const& options) {
  auto const configuration = load_configuration(options.config_file, options.overrides);
  if (!configuration) return complain(configuration.error().message);
  auto const plan = plan_node(*configuration);
  if (!plan) return complain(plan.error().message);
  auto node_options = compose_node(*configuration, *plan);
  if (!node_options) return complain(node_options.error().message);
  if (options.only_check) {
    for (auto const& warning : configuration->warnings()) fmt::print(stderr, "warning: {}\n", warning);
    fmt::print("the configuration is good\n");
    return 0;
  }

  env_os::hold_stop_signals();
  env_os::tune_allocator();
  env_os::raise_descriptor_limit();
  auto env = env_os::make_os_env(
      {.reactor_count = static_cast<size_t>(configuration->integer("millrace.threads")),
       .pool_threads_per_directory = static_cast<size_t>(configuration->integer("millrace.pool.threads")),
       .log_level = level_of(configuration->text_or_empty("millrace.log.level")),
       .log_file = configuration->text_or_empty("millrace.log.file")});
  if (!env) return complain(env.error().message);
  Server server(*std::move(env), *node_options);
  for (auto const& warning : configuration->warnings()) server.log().warn("configuration", "{}", warning);

  auto const started = server.start(admin_options(*configuration), !configuration->is_set("millrace.admin.listener"));
  if (!started) {
    server.log().error("node", "start: {}", started.error().message);
    return kExitFailed;
  }
  log_start(server, *node_options);
  auto signal = server.early_signal().value_or(0);
  if (signal == 0) {
    env_os::notify_service_manager("READY=1");
    for (signal = env_os::wait_for_stop_signal(); signal == SIGHUP && !server.has_failed();) {
      reload(server, options);
      signal = env_os::wait_for_stop_signal();
    }
  }
  env_os::notify_service_manager("STOPPING=1");
  if (server.has_failed()) return kExitFailed;
  server.log().info("node", "stopping on signal {}", signal);
  auto const stopped = server.stop();
  if (!stopped) {
    server.log().error("node", "stop: {}", stopped.error().message);
    return kExitFailed;
  }
  server.log().info("node", "stopped");
  return 0;
}

}  // namespace millrace::server
