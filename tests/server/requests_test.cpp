// Every API at every version over a real connection: what ApiVersions tells is answered, in that version's form; and no
// request, well-formed with senseless fields or broken, stops the node, keeps it from others or from its end.
#include "requests.h"

#include <fcntl.h>
#include <poll.h>

#include <cstdlib>
#include <thread>

#include "millrace/protocol/api/api_versions.h"
#include "millrace/protocol/api/join_group.h"
#include "millrace/protocol/api/metadata.h"
#include "millrace/protocol/api/produce.h"
#include "node.h"

namespace millrace::server {
namespace {

class Socket {
 public:
  explicit Socket(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr const*>(&address), sizeof address), 0);
  }
  Socket(Socket const&) = delete;
  Socket& operator=(Socket const&) = delete;
  ~Socket() { ::close(fd_); }

  bool send(std::string const& bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // Without its size; empty when the connection was closed or nothing came in that time.
  std::string receive(Duration limit) {
    auto const until = std::chrono::steady_clock::now() + limit;
    std::string bytes;
    while (bytes.size() < 4 || bytes.size() < 4 + size_of(bytes)) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
      pollfd event{fd_, POLLIN, 0};
      char buffer[16384];
      if (left <= 0 || ::poll(&event, 1, static_cast<int>(left)) <= 0) return "";
      auto const count = ::recv(fd_, buffer, sizeof buffer, 0);
      if (count <= 0) return "";
      bytes.append(buffer, static_cast<size_t>(count));
    }
    return bytes.substr(4, size_of(bytes));
  }

 private:
  static size_t size_of(std::string const& bytes) { return static_cast<size_t>(Reader(as_bytes(bytes)).i32()); }
  int fd_;
};

// What a response's decoder says against it; empty if nothing.
std::string fault_of(protocol::ApiInfo const& api, int16_t version, std::string const& answer) {
  Reader in(as_bytes(answer));
  if (in.i32() != 77) return "another correlation id";
  if (api.response_header_version(version) == 1) in.skip(1);
  auto const& table = api.response();
  std::vector<std::byte> object(table.root().prototype(), table.root().prototype() + table.root().size());
  Arena arena;
  auto const status = protocol::decode(table, in, version, arena, object.data());
  if (!status) return status.error().message;
  return in.at_end() ? "" : "bytes after its end";
}

// Three levels would be too many elements.
bool has_nested_arrays(protocol::Plan const& plan, int depth = 0) {
  for (auto const& step : plan.steps) {
    if (step.kind != protocol::Kind::array) continue;
    if (depth == 2 || (step.plan != nullptr && has_nested_arrays(*step.plan, depth + 1))) return true;
  }
  return false;
}

class Requests : public Node {
 protected:
  void begin() {
    auto const status = start({"group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=2"});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  std::vector<protocol::ApiVersionsResponse::ApiVersion> told() {
    auto const& api = protocol::api_info(ApiKey::api_versions);
    Socket socket(port());
    EXPECT_TRUE(socket.send(RequestWriter(Filling{.text = "test"}).frame(api, 4, 77)));
    told_bytes_ = socket.receive(10s);
    Reader in(as_bytes(told_bytes_));
    in.skip(4);
    protocol::ApiVersionsResponse response;
    EXPECT_TRUE(protocol::decode(in, 4, arena_, response).ok());
    EXPECT_EQ(response.error_code, ErrorCode::none);
    return {response.api_keys.begin(), response.api_keys.end()};
  }
  template <protocol::Message M>
  M body_of(std::string const& answer, int16_t version) {
    arena_ = Arena();
    Reader in(as_bytes(answer));
    in.skip(protocol::api_info(M::kKey).response_header_version(version) == 1 ? 5 : 4);
    M message;
    EXPECT_TRUE(protocol::decode(in, version, arena_, message).ok());
    return message;
  }
  static void remember(RequestWriter& writer, protocol::JoinGroupResponse const& joined) {
    if (!joined.member_id.empty()) writer.remember(std::string(joined.member_id));
  }
  static void remember(RequestWriter& writer, protocol::MetadataResponse const& metadata) {
    for (auto const& topic : metadata.topics) {
      if (!topic.topic_id.is_zero()) writer.remember(topic.topic_id);
    }
  }
  Arena arena_;
  std::string told_bytes_;
};

// Produce with acks=0, the default of these, has no answer.
class Acknowledged final : public RequestWriter {
 public:
  using RequestWriter::RequestWriter;

 protected:
  int64_t chosen_number(protocol::Step const& step) override { return step.field->name == "Acks" ? -1 : 0; }
};

TEST_F(Requests, B01_every_version_that_is_told_is_answered) {
  begin();
  size_t count = 0;
  for (auto const& range : told()) {
    auto const& api = protocol::api_info(static_cast<ApiKey>(range.api_key));
    // Below its own first version Produce is told for clients that look at nothing but the lowest.
    if (api.key == ApiKey::produce) EXPECT_EQ(range.min_version, 0);
    for (auto version = std::max(range.min_version, api.valid.min); version <= range.max_version; ++version) {
      for (size_t const elements : {0, 1, 2}) {
        Socket socket(port());
        Acknowledged writer(Filling{.elements = elements, .inner_elements = elements, .text = "test"});
        ASSERT_TRUE(socket.send(writer.frame(api, version, 77)));
        auto const answer = socket.receive(10s);
        ASSERT_NE(answer, "") << api.name << " v" << version << " with " << elements << " elements";
        EXPECT_EQ(fault_of(api, version, answer), "")
            << api.name << " v" << version << " with " << elements << " elements";
        ++count;
      }
    }
  }
  EXPECT_GT(count, 500u);
  EXPECT_TRUE(stop().ok());
}

// Many elements in each array of a request, outside and within, of one name and of many: it takes the time of a sum,
// not of a product.
TEST_F(Requests, no_request_is_compared_with_itself) {
  constexpr size_t kElements = 200'000;
  constexpr auto kLimit = 20s;  // where each is compared with each, it is minutes
  begin();
  {
    Socket socket(port());
    auto const& api = protocol::api_info(ApiKey::metadata);
    ASSERT_TRUE(socket.send(RequestWriter(Filling{.elements = 1, .text = "t"}).frame(api, 3, 77)));
    ASSERT_NE(socket.receive(10s), "");  // makes the topic
  }
  for (auto const& range : told()) {
    auto const& api = protocol::api_info(static_cast<ApiKey>(range.api_key));
    for (auto const& filling :
         {Filling{.elements = kElements, .inner_elements = 1, .text = "t"},
          Filling{.elements = kElements, .inner_elements = 1, .text = "t", .is_numbered = true},
          Filling{.elements = 1, .inner_elements = kElements, .text = "t"},
          Filling{.elements = 1, .inner_elements = kElements, .text = "t", .is_numbered = true}}) {
      if (filling.inner_elements > 1 && has_nested_arrays(api.request().root().plan(range.max_version))) continue;
      Socket socket(port());
      Acknowledged writer(filling);
      auto const frame = writer.frame(api, range.max_version, 77);
      auto const began = std::chrono::steady_clock::now();
      ASSERT_TRUE(socket.send(frame));
      auto const answer = socket.receive(kLimit);
      auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
      EXPECT_LT(took, kLimit) << api.name << " v" << range.max_version << ", " << filling.elements << " x "
                              << filling.inner_elements;
      if (!answer.empty()) EXPECT_EQ(fault_of(api, range.max_version, answer), "");
    }
  }
  EXPECT_TRUE(stop().ok());
}

// `REQUESTS_SEED` and `REQUESTS_COUNT` choose another run.
TEST_F(Requests, no_senseless_or_broken_request_harms_others) {
  begin();
  auto const* const seed_text = std::getenv("REQUESTS_SEED");
  auto const* const count_text = std::getenv("REQUESTS_COUNT");
  auto const seed = seed_text == nullptr ? uint64_t{1} : std::stoull(seed_text);
  auto const count = count_text == nullptr ? size_t{2000} : static_cast<size_t>(std::stoull(count_text));
  SCOPED_TRACE(fmt::format("REQUESTS_SEED={}", seed));
  Random random(seed);
  RequestWriter writer(random);
  auto const served = told();
  auto const& metadata = protocol::api_info(ApiKey::metadata);
  std::optional<Socket> socket;
  std::array<size_t, 2> answered{};
  for (size_t i = 0; i < count; ++i) {
    auto const& range = served[random.below(served.size())];
    auto const& api = protocol::api_info(static_cast<ApiKey>(range.api_key));
    auto const version =
        static_cast<int16_t>(random.between(std::max(range.min_version, api.valid.min), range.max_version));
    if (!socket) socket.emplace(port());
    auto const frame = writer.frame(api, version, 77);
    // Half of them without waiting for an answer, so that requests are given up at any point.
    bool const is_sent = socket->send(frame);
    auto const answer =
        is_sent && random.chance(0.7) ? socket->receive(api.key == ApiKey::join_group ? 20ms : 100ms) : "";
    if (!answer.empty()) EXPECT_EQ(fault_of(api, version, answer), "") << i << ": " << api.name << " v" << version;
    if (api.key == ApiKey::join_group && !answer.empty())
      remember(writer, body_of<protocol::JoinGroupResponse>(answer, version));
    if (api.key == ApiKey::metadata && !answer.empty())
      remember(writer, body_of<protocol::MetadataResponse>(answer, version));
    ++answered[!answer.empty()];
    if (answer.empty()) socket.reset();
    if (i % 50 == 0) {
      Socket other(port());
      ASSERT_TRUE(other.send(RequestWriter(Filling{}).frame(metadata, 13, 77)));
      ASSERT_NE(other.receive(10s), "") << i << ": another client is not served after " << api.name << " v" << version;
    }
  }
  socket.reset();
  EXPECT_GT(answered[1], count / 4);
  // Whatever was created, every partition opened, and all of it is read again after a restart.
  auto const is_whole = [&] {
    std::string metrics;
    for (auto const until = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < until;) {
      metrics = get("/metrics");
      if (metrics.find("millrace_ready 1\n") != std::string::npos &&
          metrics.find("millrace_partitions_offline 0\n") != std::string::npos)
        return "";
      std::this_thread::sleep_for(10ms);
    }
    return "not ready, or a partition is offline";
  };
  EXPECT_STREQ(is_whole(), "");
  auto const began = std::chrono::steady_clock::now();
  EXPECT_TRUE(stop().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  begin();
  EXPECT_STREQ(is_whole(), "");
  EXPECT_TRUE(stop().ok());
}

}  // namespace
}  // namespace millrace::server
