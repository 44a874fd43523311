#include "millrace/admin/admin.h"

#include "http_server.h"
#include "metrics.h"
#include "pages.h"

namespace millrace::admin {

namespace {

constexpr Duration kSampleInterval = 15s;  // a group is found stuck also while nobody asks
constexpr unsigned kNotFound = 404, kMethodNotAllowed = 405, kServiceUnavailable = 503;

std::optional<HttpPage> answer_now(HttpRequest const& request) {
  HttpPage out;
  Target const target(request.target);
  if (!request.is_read) {
    out.status = kMethodNotAllowed;
    out.body = "GET only\n";
  } else if (target.path == "/live" || target.path == "/healthz") {
    out.body = "live\n";
  } else if (target.path == "/" || !is_page(target.path)) {
    if (target.path != "/") out.status = kNotFound;
    out.body = "/live /ready /healthz /readyz /metrics /lag /hot\n";
  } else {
    return std::nullopt;
  }
  return out;
}

class AdminImpl final : public Admin {
 public:
  AdminImpl(AdminOptions const& options, env::Env& env, broker::LocalNode& node)
      : env_(env), node_(node), collector_(env, node, options) {}

  Status listen(AdminOptions const& options) {
    HttpPages pages;
    pages.answer_now = answer_now;
    pages.collect = [this](HttpRequest const& request) { return collect(request); };
    pages.sample = [this] { collector_.sample(); };
    pages.sample_interval = std::clamp<Duration>(options.stuck_after / 4, 1s, kSampleInterval);
    MR_TRY_ASSIGN(server_, HttpServer::start(options.listener, std::move(pages)));
    return {};
  }
  std::string const& address() const override { return server_->address(); }

 private:
  HttpPage collect(HttpRequest const& request);

  env::Env& env_;
  broker::LocalNode& node_;
  Collector collector_;  // the collecting thread's
  std::unique_ptr<HttpServer> server_;  // goes first
};

HttpPage AdminImpl::collect(HttpRequest const& request) {
  HttpPage out;
  Target const target(request.target);
  if (target.path == "/ready" || target.path == "/readyz") {
    auto const now = Collector::collect_state(env_, node_);
    if (!now.is_ready) out.status = kServiceUnavailable;
    out.body = ready_text(now);
  } else if (target.path == "/metrics") {
    out.content_type = "text/plain; version=0.0.4; charset=utf-8";
    out.body = metrics_text(collector_.collect());
  } else if (target.path == "/hot") {
    out.content_type = "application/json";
    auto const partition = target.value("partition");
    out.body = collector_.hot(target.value("topic"),
                              partition ? std::optional(static_cast<int32_t>(std::strtol(partition->c_str(), nullptr, 10)))
                                        : std::nullopt);
  } else {
    out.content_type = "application/json";
    auto const group = target.value("group");
    out.body = lag_json(collector_.collect(group), group);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Admin>> Admin::start(AdminOptions const& options, env::Env& env, broker::LocalNode& node) {
  auto admin = std::make_unique<AdminImpl>(options, env, node);
  if (auto status = admin->listen(options); !status) return std::move(status).error();
  return std::unique_ptr<Admin>(std::move(admin));
}

}  // namespace millrace::admin
