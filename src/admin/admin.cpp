#include "millrace/admin/admin.h"

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <future>
#include <thread>

#include "metrics.h"

namespace millrace::admin {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr auto kRequestMax = 5s;           // from the connection to the whole answer
constexpr auto kStateMax = 2s;             // how long the control reactor may take
constexpr size_t kHeaderBytesMax = 8192;
constexpr size_t kSessionsMax = 64;

struct Process {
  double cpu_seconds = 0;
  double resident_bytes = 0;
};

Process process_figures() {
  Process out;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    auto const seconds = [](timeval const& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
    out.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  std::unique_ptr<FILE, int (*)(FILE*)> const file(std::fopen("/proc/self/statm", "re"), std::fclose);
  long total = 0, resident = 0;
  if (file && std::fscanf(file.get(), "%ld %ld", &total, &resident) == 2) {
    out.resident_bytes = static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  return out;
}

class AdminImpl final : public Admin {
 public:
  AdminImpl(env::Env& env, broker::LocalNode& node) : env_(env), node_(node), acceptor_(context_) {}
  ~AdminImpl() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status listen(std::string const& listener) {
    auto const colon = listener.rfind(':');
    if (colon == std::string::npos) return Error{ErrorKind::invalid, listener + " is not HOST:PORT"};
    auto host = listener.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    beast::error_code error;
    auto const address = asio::ip::make_address(host, error);
    char* end = nullptr;
    auto const port = std::strtol(listener.c_str() + colon + 1, &end, 10);
    if (error || *end != '\0' || port < 0 || port > 65535) {
      return Error{ErrorKind::invalid, listener + " is not a numeric address and a port"};
    }
    tcp::endpoint const endpoint(address, static_cast<uint16_t>(port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return Error{ErrorKind::io, fmt::format("listen on {}: {}", listener, error.message())};
    auto const local = acceptor_.local_endpoint(error);
    address_ = fmt::format("{}:{}", local.address().to_string(), local.port());
    accept();
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }
  std::string const& address() const override { return address_; }

 private:
  class Session;

  void accept();
  Snapshot snapshot() const;
  http::response<http::string_body> answer(http::request<http::empty_body> const& request) const;

  env::Env& env_;
  broker::LocalNode& node_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  std::string address_;
  size_t session_count_ = 0;
  std::thread thread_;
};

// One connection: one request, one answer.
class AdminImpl::Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(AdminImpl& admin, tcp::socket socket) : admin_(admin), stream_(std::move(socket)) { ++admin_.session_count_; }
  ~Session() { --admin_.session_count_; }

  void start() {
    parser_.header_limit(kHeaderBytesMax);
    parser_.body_limit(0);
    stream_.expires_after(kRequestMax);
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->reply();
    });
  }

 private:
  void reply() {
    response_ = admin_.answer(parser_.get());
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code, size_t) {
      beast::error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  AdminImpl& admin_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kHeaderBytesMax};
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
};

void AdminImpl::accept() {
  acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
    // At the limit a connection is dropped at once: scrapers come again.
    if (!error && session_count_ < kSessionsMax) std::make_shared<Session>(*this, std::move(socket))->start();
    if (error != asio::error::operation_aborted) accept();
  });
}

Snapshot AdminImpl::snapshot() const {
  Snapshot out;
  // The reactor may be busy for longer than we wait, so what it fills is shared.
  auto const filled = std::make_shared<std::promise<broker::LocalNode::State>>();
  auto future = filled->get_future();
  env_.control_reactor().post([filled, node = &node_] { filled->set_value(node->state()); });
  auto const has_state = future.wait_for(kStateMax) == std::future_status::ready;
  if (has_state) out.state = future.get();
  out.phase = node_.phase();
  out.is_ready = has_state && out.phase == broker::LocalNode::Phase::serving && out.state.has_quorum && out.state.opening == 0;
  out.net = node_.net_stats();
  out.requests = node_.request_counts();
  auto const process = process_figures();
  out.cpu_seconds = process.cpu_seconds;
  out.resident_bytes = process.resident_bytes;
  return out;
}

http::response<http::string_body> AdminImpl::answer(http::request<http::empty_body> const& request) const {
  http::response<http::string_body> out{http::status::ok, request.version()};
  out.keep_alive(false);
  out.set(http::field::content_type, "text/plain; charset=utf-8");
  auto const path = request.target().substr(0, request.target().find('?'));
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    out.result(http::status::method_not_allowed);
    out.body() = "GET only\n";
  } else if (path == "/live") {
    out.body() = "live\n";
  } else if (path == "/ready") {
    auto const now = snapshot();
    if (!now.is_ready) out.result(http::status::service_unavailable);
    out.body() = fmt::format("{}: {} partitions, {} opening, {} offline; {}\n", phase_name(now.phase), now.state.partitions,
                             now.state.opening, now.state.offline,
                             now.state.has_quorum ? "the quorum has a leader" : "no leader of the quorum");
  } else if (path == "/metrics") {
    out.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    out.body() = metrics_text(snapshot());
  } else {
    out.result(http::status::not_found);
    out.body() = "/live /ready /metrics\n";
  }
  out.prepare_payload();
  if (request.method() == http::verb::head) out.body().clear();
  return out;
}

}  // namespace

Result<std::unique_ptr<Admin>> Admin::start(std::string const& listener, env::Env& env, broker::LocalNode& node) {
  auto admin = std::make_unique<AdminImpl>(env, node);
  if (auto status = admin->listen(listener); !status) return std::move(status).error();
  return std::unique_ptr<Admin>(std::move(admin));
}

}  // namespace millrace::admin
