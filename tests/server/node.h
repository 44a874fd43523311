// A whole node over the real environment, with an empty data directory of its own.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include "millrace/admin/admin.h"
#include "millrace/env_os/os_env.h"
#include "millrace/server/server.h"

namespace millrace::server {

inline std::string call(uint16_t port, std::string const& request, size_t bytes_max = 1 << 20) {
  int const socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 &&
      ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    while (answer.size() < bytes_max) {
      auto const count = ::recv(socket, buffer, std::min(sizeof buffer, bytes_max - answer.size()), 0);
      if (count <= 0) break;
      answer.append(buffer, static_cast<size_t>(count));
    }
  }
  ::close(socket);
  return answer;
}

class Node : public testing::Test {
 protected:
  Node() {
    char name[] = "/tmp/millrace-node-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~Node() override {
    take_down();
    std::filesystem::remove_all(root_);
  }

  Status start(std::vector<std::string> overrides = {}) {
    overrides.push_back("log.dirs=" + root_ + "/a," + root_ + "/b");
    overrides.push_back("listeners=" + listener_);
    overrides.emplace_back("millrace.space.low.bytes=0");
    auto const configuration = Configuration::load({"", "", {}, overrides});
    if (!configuration) return configuration.error();
    auto const plan = plan_node(*configuration);
    if (!plan) return plan.error();
    auto options = compose_node(*configuration, *plan);
    if (!options) return options.error();
    env_ = *env_os::make_os_env({.reactor_count = 2, .pool_threads_per_directory = 2, .log_level = LogLevel::error, .log_file = ""});
    node_ = std::make_unique<broker::LocalNode>(*env_, *std::move(options), [](std::string const& reason) { FAIL() << reason; });
    admin_ = *admin::Admin::start({.listener = "127.0.0.1:0"}, *env_, *node_);
    std::promise<Status> ready;
    node_->start([&](Status status) { ready.set_value(std::move(status)); });
    return ready.get_future().get();
  }
  Status stop() {
    std::promise<Status> stopped;
    node_->stop([&](Status status) { stopped.set_value(std::move(status)); });
    auto status = stopped.get_future().get();
    take_down();
    return status;
  }
  void take_down() {
    admin_.reset();
    if (env_) env_->stop();
    node_.reset();
    env_.reset();
  }
  std::string get(std::string const& path) {
    auto const& address = admin_->address();
    auto const port = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    return call(port, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  uint16_t port() { return node_->addresses("PLAINTEXT").at(0).port; }

  std::string root_;
  std::string listener_ = "PLAINTEXT://127.0.0.1:0";
  std::unique_ptr<env_os::OsEnv> env_;
  std::unique_ptr<broker::LocalNode> node_;
  std::unique_ptr<admin::Admin> admin_;
};

}  // namespace millrace::server
