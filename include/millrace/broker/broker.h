// The broker behind net: reads the request header, finds the route, and hands the request to its handler.
#pragma once
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/broker/context.h"
#include "millrace/broker/recently_fenced.h"
#include "millrace/broker/routing.h"
#include "millrace/net/handler.h"

namespace millrace::metadata {
struct Publication;
}

namespace millrace::broker {

class Broker final : public net::Handler {
 public:
  // Everything outlives the broker; net stops delivering before it is destroyed. One ThreadState per reactor.
  Broker(env::Env& env, NodeConfig config, runtime::RunLists& run_lists, runtime::PartitionManager& partitions,
         runtime::ControllerClient& controller, ImagePtr first_image);
  ~Broker() override;

  void on_request(net::Request request, std::unique_ptr<net::Answer> answer) override;
  void on_connection_closed(net::ConnectionInfo const& connection) override;
  int64_t request_bytes_max(net::ConnectionInfo const& connection) const override;
  bool may_overlap(ByteView frame_start) const override;

  // On the control reactor, for each publication, after the partitions and before publish().
  void on_publication(metadata::Publication const& publication);
  // On the control reactor: requests that wait for a rebalance are sent away, and no group is coordinated any more.
  void stop_groups();
  // Gives every thread its copy of `image`; `done` runs on `back` once all have it. Any thread.
  void publish(ImagePtr image, env::Reactor& back, Task done);

  RequestFigures request_figures() const;  // any thread

  NodeConfig const& config() const { return config_; }
  Services& services() { return services_; }

 private:
  void forward(Route const& route, ContextPtr context);
  ThreadState& thread_of(env::Reactor& reactor);

  NodeConfig const config_;
  std::unique_ptr<FetchSessions> fetch_sessions_;
  ClientQuotas quotas_;
  RecentlyFenced recently_fenced_;
  std::unique_ptr<runtime::GroupCoordinators> groups_;
  Services services_;
  std::vector<std::unique_ptr<ThreadState>> threads_;
};

}  // namespace millrace::broker
