// A whole node over the real environment: it starts from an empty directory, answers a client and its admin listener,
// stops cleanly, starts again with the same identity, and refuses directories that are not its own.
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
namespace {

std::string call(uint16_t port, std::string const& request, size_t bytes_max = 1 << 20) {
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

TEST_F(Node, serves_stops_and_starts_again_as_the_same) {
  ASSERT_TRUE(start().ok());
  auto const cluster_id = node_->cluster_id();
  EXPECT_EQ(cluster_id.size(), 22u);
  // ApiVersions v0, correlation id 7, client id "t".
  std::string const request("\0\0\0\x0b\0\x12\0\0\0\0\0\x07\0\x01t", 15);
  auto const answer = call(port(), request, 10);
  ASSERT_EQ(answer.size(), 10u);
  EXPECT_EQ(answer.substr(4, 6), std::string("\0\0\0\x07\0\0", 6));  // its correlation id, no error

  EXPECT_NE(get("/live").find("200 OK"), std::string::npos);
  EXPECT_NE(get("/ready").find("200 OK"), std::string::npos);
  EXPECT_NE(get("/nothing").find("404"), std::string::npos);
  auto const metrics = get("/metrics");
  EXPECT_NE(metrics.find("millrace_requests_total{api=\"ApiVersions\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("millrace_log_directories 2\n"), std::string::npos);
  EXPECT_NE(metrics.find("millrace_ready 1\n"), std::string::npos);
  auto const stopped = stop();
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_TRUE(std::filesystem::exists(root_ + "/a/.kafka_cleanshutdown"));

  ASSERT_TRUE(start().ok());
  EXPECT_EQ(node_->cluster_id(), cluster_id);
  EXPECT_EQ(call(port(), request, 10).size(), 10u);
  EXPECT_TRUE(stop().ok());

  auto const other_cluster = start({"millrace.cluster.id=AAAAAAAAAAAAAAAAAAAAAQ"});
  ASSERT_FALSE(other_cluster.ok());
  EXPECT_NE(other_cluster.error().message.find(cluster_id), std::string::npos);
  EXPECT_NE(get("/live").find("200 OK"), std::string::npos);
  EXPECT_NE(get("/ready").find("503"), std::string::npos);
  take_down();

  auto const other_node = start({"node.id=2"});
  EXPECT_FALSE(other_node.ok());
}

TEST_F(Node, garbage_closes_its_own_connection_only) {
  ASSERT_TRUE(start().ok());
  for (std::string const& bytes : {std::string("\x7f\xff\xff\xff", 4), std::string("\xff\xff\xff\xff", 4),
                                   std::string("\0\0\0\0", 4), std::string("GET / HTTP/1.1\r\n\r\n"),
                                   std::string("\0\0\0\x0a\x03\xe7\0\0\0\0\0\x07\xff\xff", 14)}) {
    EXPECT_EQ(call(port(), bytes), "");
  }
  std::string const request("\0\0\0\x0b\0\x12\0\0\0\0\0\x07\0\x01t", 15);
  EXPECT_EQ(call(port(), request, 10).size(), 10u);
  EXPECT_TRUE(stop().ok());
}

TEST_F(Node, what_another_node_holds_is_an_error_of_the_start) {
  ASSERT_TRUE(start().ok());
  auto const taken = port();
  auto first = std::tuple(std::move(env_), std::move(node_), std::move(admin_));
  auto const same_directory = start();
  ASSERT_FALSE(same_directory.ok());
  take_down();
  auto const first_root = std::exchange(root_, root_ + "/second");
  listener_ = fmt::format("PLAINTEXT://127.0.0.1:{}", taken);
  auto const same_port = start();
  ASSERT_FALSE(same_port.ok());
  EXPECT_NE(same_port.error().message.find("listener PLAINTEXT"), std::string::npos);
  take_down();
  root_ = first_root;
  std::tie(env_, node_, admin_) = std::move(first);
}

}  // namespace
}  // namespace millrace::server
