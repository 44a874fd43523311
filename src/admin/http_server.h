// The HTTP side of the admin listener, apart from what the pages say: connections, limits, threads. Knows nothing of the
// node, so that Beast is compiled once and not with every change of the node's headers.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::admin {

struct HttpRequest {
  bool is_read = true;  // GET or HEAD
  std::string target;   // "/lag?group=a"
};

struct HttpPage {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpPages {
  // At once, on the thread that serves connections; none: it must be collected.
  std::function<std::optional<HttpPage>(HttpRequest const&)> answer_now;
  // These two on the collecting thread, which a slow page holds up.
  std::function<HttpPage(HttpRequest const&)> collect;
  std::function<void()> sample;  // every `sample_interval`
  Duration sample_interval{};
};

class HttpServer {
 public:
  // Errors: invalid (`listener` is not HOST:PORT with a numeric host), io.
  static Result<std::unique_ptr<HttpServer>> start(std::string const& listener, HttpPages pages);
  virtual ~HttpServer() = default;  // stops serving; none of the pages runs afterwards
  virtual std::string const& address() const = 0;
};

}  // namespace millrace::admin
