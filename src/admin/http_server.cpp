#include "http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <thread>

namespace millrace::admin {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr auto kRequestMax = 10s;          // from the connection to the whole answer
constexpr size_t kHeaderBytesMax = 8192;
constexpr size_t kSessionsMax = 64;

class HttpServerImpl final : public HttpServer {
 public:
  explicit HttpServerImpl(HttpPages pages) : pages_(std::move(pages)) {}
  ~HttpServerImpl() override {
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

  void accept();
  void sample();

  HttpPages const pages_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  std::string address_;
  size_t session_count_ = 0;
  asio::io_context collecting_{1};
  asio::executor_work_guard<asio::io_context::executor_type> collecting_work_ = asio::make_work_guard(collecting_);
  asio::steady_timer sample_timer_{collecting_};
  std::thread thread_;
  std::thread collecting_thread_;
};

// One connection: one request, one answer.
class HttpServerImpl::Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(HttpServerImpl& server, tcp::socket socket) : server_(server), stream_(std::move(socket)) { ++server_.session_count_; }
  ~Session() { --server_.session_count_; }

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
    auto const& message = parser_.get();
    is_head_ = message.method() == http::verb::head;
    request_ = {is_head_ || message.method() == http::verb::get, std::string(message.target())};
    if (auto page = server_.pages_.answer_now(request_)) return write(*std::move(page));
    asio::post(server_.collecting_, [self = shared_from_this()]() mutable {
      auto page = self->server_.pages_.collect(self->request_);
      auto& context = self->server_.context_;
      asio::post(context, [self = std::move(self), page = std::move(page)]() mutable { self->write(std::move(page)); });
    });
  }
  void write(HttpPage page) {
    response_.version(parser_.get().version());
    response_.result(page.status);
    response_.set(http::field::content_type, page.content_type);
    response_.body() = std::move(page.body);
    response_.keep_alive(false);
    response_.prepare_payload();
    if (is_head_) response_.body().clear();
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code, size_t) {
      beast::error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  HttpServerImpl& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kHeaderBytesMax};
  http::request_parser<http::empty_body> parser_;
  HttpRequest request_;
  bool is_head_ = false;
  http::response<http::string_body> response_;
};

void HttpServerImpl::accept() {
  acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
    // At the limit a connection is dropped at once: scrapers come again.
    if (!error && session_count_ < kSessionsMax) std::make_shared<Session>(*this, std::move(socket))->start();
    if (error != asio::error::operation_aborted) accept();
  });
}

void HttpServerImpl::sample() {
  sample_timer_.expires_after(pages_.sample_interval);
  sample_timer_.async_wait([this](beast::error_code error) {
    if (error) return;
    pages_.sample();
    sample();
  });
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::string const& listener, HttpPages pages) {
  auto server = std::make_unique<HttpServerImpl>(std::move(pages));
  if (auto status = server->listen(listener); !status) return std::move(status).error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace millrace::admin
