// A whole node over the real environment: it starts from an empty directory, answers a client and its admin listener,
// stops cleanly, starts again with the same identity, and refuses directories that are not its own.
#include "node.h"

namespace millrace::server {
namespace {

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
