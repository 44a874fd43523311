#include "millrace/admin/admin.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <thread>

#include "metrics.h"
#include "pages.h"

namespace millrace::admin {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr auto kRequestMax = 10s;          // from the connection to the whole answer
constexpr Duration kSampleInterval = 15s;  // a group is found stuck also while nobody asks
constexpr size_t kHeaderBytesMax = 8192;
constexpr size_t kSessionsMax = 64;

class AdminImpl final : public Admin {
 public:
  AdminImpl(AdminOptions const& options, env::Env& env, broker::LocalNode& node)
      : env_(env), node_(node), acceptor_(context_), collector_(env, node, options),
        sample_interval_(std::clamp<Duration>(options.stuck_after / 4, 1s, kSampleInterval)), sample_timer_(collecting_) {}
  ~AdminImpl() override {
    context_.stop();
    collecting_.stop();
    if (thread_.joinable()) thread_.join();
    if (collecting_thread_.joinable()) collecting_thread_.join();
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
    sample();
    thread_ = std::thread([this] { context_.run(); });
    collecting_thread_ = std::thread([this] { collecting_.run(); });
    return {};
  }
  std::string const& address() const override { return address_; }

 private:
  class Session;

  using Page = http::response<http::string_body>;

  void accept();
  void sample();
  // At once; none: it must be collected.
  std::optional<Page> answer_now(http::request<http::empty_body> const& request) const;
  // On the collecting thread.
  Page collect(http::request<http::empty_body> const& request);

  env::Env& env_;
  broker::LocalNode& node_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  std::string address_;
  size_t session_count_ = 0;
  asio::io_context collecting_{1};
  asio::executor_work_guard<asio::io_context::executor_type> collecting_work_ = asio::make_work_guard(collecting_);
  Collector collector_;  // the collecting thread's
  Duration const sample_interval_;
  asio::steady_timer sample_timer_;
  std::thread thread_;
  std::thread collecting_thread_;
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
    if (auto page = admin_.answer_now(parser_.get())) return write(*std::move(page));
    asio::post(admin_.collecting_, [self = shared_from_this()]() mutable {
      auto page = self->admin_.collect(self->parser_.get());
      auto& context = self->admin_.context_;
      asio::post(context, [self = std::move(self), page = std::move(page)]() mutable { self->write(std::move(page)); });
    });
  }
  void write(Page page) {
    response_ = std::move(page);
    response_.keep_alive(false);
    response_.prepare_payload();
    if (parser_.get().method() == http::verb::head) response_.body().clear();
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code, size_t) {
      beast::error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  AdminImpl& admin_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kHeaderBytesMax};
  http::request_parser<http::empty_body> parser_;
  Page response_;
};

void AdminImpl::accept() {
  acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
    // At the limit a connection is dropped at once: scrapers come again.
    if (!error && session_count_ < kSessionsMax) std::make_shared<Session>(*this, std::move(socket))->start();
    if (error != asio::error::operation_aborted) accept();
  });
}

void AdminImpl::sample() {
  sample_timer_.expires_after(sample_interval_);
  sample_timer_.async_wait([this](beast::error_code error) {
    if (error) return;
    collector_.sample();
    sample();
  });
}

std::optional<AdminImpl::Page> AdminImpl::answer_now(http::request<http::empty_body> const& request) const {
  Page out{http::status::ok, request.version()};
  out.set(http::field::content_type, "text/plain; charset=utf-8");
  Target const target(request.target());
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    out.result(http::status::method_not_allowed);
    out.body() = "GET only\n";
  } else if (target.path == "/live" || target.path == "/healthz") {
    out.body() = "live\n";
  } else if (target.path == "/" || !is_page(target.path)) {
    if (target.path != "/") out.result(http::status::not_found);
    out.body() = "/live /ready /healthz /readyz /metrics /lag /hot\n";
  } else {
    return std::nullopt;
  }
  return out;
}

AdminImpl::Page AdminImpl::collect(http::request<http::empty_body> const& request) {
  Page out{http::status::ok, request.version()};
  Target const target(request.target());
  if (target.path == "/ready" || target.path == "/readyz") {
    auto const now = Collector::collect_state(env_, node_);
    if (!now.is_ready) out.result(http::status::service_unavailable);
    out.set(http::field::content_type, "text/plain; charset=utf-8");
    out.body() = ready_text(now);
  } else if (target.path == "/metrics") {
    out.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    out.body() = metrics_text(collector_.collect());
  } else if (target.path == "/hot") {
    out.set(http::field::content_type, "application/json");
    auto const partition = target.value("partition");
    out.body() = collector_.hot(target.value("topic"),
                                partition ? std::optional(static_cast<int32_t>(std::strtol(partition->c_str(), nullptr, 10)))
                                          : std::nullopt);
  } else {
    out.set(http::field::content_type, "application/json");
    auto const group = target.value("group");
    out.body() = lag_json(collector_.collect(group), group);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Admin>> Admin::start(AdminOptions const& options, env::Env& env, broker::LocalNode& node) {
  auto admin = std::make_unique<AdminImpl>(options, env, node);
  if (auto status = admin->listen(options.listener); !status) return std::move(status).error();
  return std::unique_ptr<Admin>(std::move(admin));
}

}  // namespace millrace::admin
