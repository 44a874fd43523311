// What a handler gets: one request with its arena, its answer and the node around it.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/time.h"
#include "millrace/broker/client_quotas.h"
#include "millrace/broker/deadlines.h"
#include "millrace/broker/request_counters.h"
#include "millrace/bytes/arena.h"
#include "millrace/bytes/codec.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/coordinator/types.h"
#include "millrace/env/env.h"
#include "millrace/env/response.h"
#include "millrace/metadata/broker_settings.h"
#include "millrace/net/handler.h"
#include "millrace/protocol/message.h"

namespace millrace::metadata {
class Image;
}
namespace millrace::runtime {
class PartitionManager;
class ControllerClient;
class PartitionDriver;
class GroupCoordinators;
class RunList;
class RunLists;
}  // namespace millrace::runtime

namespace millrace::broker {

class FetchSessions;
class RecentlyFenced;
class RoutingTable;

using ImagePtr = std::shared_ptr<metadata::Image const>;

enum class ListenerKind : uint8_t { broker = 1, controller = 2 };

// An endpoint as Metadata and registration name it.
struct AdvertisedListener {
  std::string name;            // "PLAINTEXT"
  std::string host;            // empty: answer what the client itself connected to
  uint16_t port{};             // 0: the port that was bound
  std::string protocol;        // security protocol
  ListenerKind kind = ListenerKind::broker;
};

// The node's own configuration, as far as requests need it; filled by server, never changes while it runs.
struct NodeConfig {
  BrokerId node_id{1};
  std::string cluster_id;
  std::string rack;
  bool has_rack_aware_reads = false;              // replica.selector.class is Kafka's RackAwareReplicaSelector
  std::vector<AdvertisedListener> listeners;
  int64_t request_bytes_max = 104'857'600;        // socket.request.max.bytes
  int32_t fetch_bytes_max = 57'671'680;           // fetch.max.bytes
  int32_t fetch_session_count_max = 1000;         // max.incremental.fetch.session.cache.slots
  int64_t region_bytes_min = 65'536;              // millrace.fetch.sendfile.bytes.min
  bool auto_create_topics = true;                 // auto.create.topics.enable
  int32_t default_partition_count = 1;            // num.partitions
  int16_t default_replication_factor = 1;         // default.replication.factor
  bool validates_records = true;                  // millrace.produce.validation: records, not header
  coordinator::GroupConfig groups;
  Duration offsets_commit_timeout = 5s;           // offsets.commit.timeout.ms
  QuotaWindows quota_windows;                     // quota.window.num, quota.window.size.seconds
  // The keys that were set in the node's file, and those that there are.
  std::shared_ptr<metadata::LiveStatics> statics = std::make_shared<metadata::LiveStatics>(metadata::StaticConfigs());
  std::shared_ptr<metadata::BrokerSettings const> settings = std::make_shared<metadata::BrokerSettings const>();
};

struct ConnectionState;

// Requests that wait for something of their own connection. Kept beside the connection, not in it: a request holds its
// connection, so that neither would ever be freed when a node is dropped in the middle of its work.
struct HeldRequests {
  Task produce;                      // waits until Produces to another partition are in the log
  std::shared_ptr<void> unanswered;  // Kafka never answers it (Produce with null records): until the client gives up
};

// What belongs to one reactor thread. Only that thread touches it.
struct ThreadState {
  ThreadState(env::Reactor& r, runtime::RunList& list, ImagePtr first_image)
      : reactor(r), run_list(list), image(std::move(first_image)), deadlines(r) {}
  env::Reactor& reactor;
  runtime::RunList& run_list;
  ImagePtr image;        // the thread's copy; replaced by post (Broker::publish)
  CodecContext codecs;   // for what is decompressed without leaving the thread
  Deadlines deadlines;
  RequestCounters requests;           // raised by the thread, read by any
  std::unordered_map<ConnectionState const*, HeldRequests> held;  // until the connection closes
};

// The node around the handlers. All members outlive every request.
struct Services {
  env::Env& env;
  NodeConfig const& config;
  RoutingTable const& routes;
  runtime::RunLists& run_lists;
  runtime::PartitionManager& partitions;
  runtime::ControllerClient& controller;  // where changes of metadata go; a plain call when it is this process
  FetchSessions& fetch_sessions;
  runtime::GroupCoordinators& groups;
  ClientQuotas& quotas;
  RecentlyFenced const& recently_fenced;
  Logger& log() const { return env.log(); }
};

// The broker whose heartbeats come by a connection.
struct HeartbeatsOf {
  BrokerId broker;
  int64_t epoch{};
  bool in_controlled_shutdown = false;
};

// The broker's own part of a connection; hangs off ConnectionInfo::handler_state.
struct ConnectionState {
  ListenerKind listener_kind = ListenerKind::broker;
  ThreadState* thread{};
  Task on_closed;  // of the request that is parked, so that it does not outlive its client for long
  // Produces that are queued at a partition and not appended yet: the next one may join them if it goes to the same
  // partition, which keeps their order; any other waits until they are in the log.
  runtime::PartitionDriver* produces_to = nullptr;
  size_t unappended_produces = 0;
  std::optional<HeartbeatsOf> heartbeats_of;
  // Begun last on this connection, and ended with it, as a follower begins a new one on its next: those left behind
  // would hold an entry for each partition. 0: none.
  int32_t follower_session = 0;
};

// One request on its way through a handler. Lives until it is answered; a handler that parks keeps the unique_ptr.
// Only the connection's thread touches it: what comes back from elsewhere is posted to thread().reactor first.
class RequestContext {
 public:
  RequestContext(Services& services, ThreadState& thread, std::shared_ptr<net::ConnectionInfo> connection,
                 SharedBytes frame, Mono arrived, std::unique_ptr<net::Answer> answer);
  ~RequestContext();  // dropping it unanswered closes the connection
  RequestContext(RequestContext const&) = delete;
  RequestContext& operator=(RequestContext const&) = delete;

  protocol::RequestHeader const& header() const { return header_; }
  int16_t version() const { return header_.request_api_version; }
  // Whom quotas hold for.
  Str user() const { return "ANONYMOUS"; }
  Str client_id() const { return header_.client_id.value_or(""); }
  Services& services() { return services_; }
  ThreadState& thread() { return thread_; }
  net::ConnectionInfo& connection() { return *connection_; }
  std::shared_ptr<net::ConnectionInfo> const& connection_ptr() const { return connection_; }
  ConnectionState& connection_state() { return *static_cast<ConnectionState*>(connection_->handler_state.get()); }
  SharedBytes const& frame() const { return frame_; }
  Arena& arena() { return arena_; }
  // Told of NOT_CONTROLLER anywhere in the answer, before it is sent.
  void set_on_not_controller(Task told) { on_not_controller_ = std::move(told); }
  Mono arrived() const { return arrived_; }
  // One image for the whole request, taken when it started.
  metadata::Image const& image() const { return *image_; }
  ImagePtr const& image_ptr() const { return image_; }
  std::string log_name() const;  // "Fetch v17 from 10.0.0.1:5512", for log lines

  // Reads the header; false: the bytes are none, or the API is unknown. Called once, before the handler.
  bool read_header();
  // The body as a message of this request's version: views of the frame, arrays in arena(). False when the bytes do
  // not decode; the connection has been told to close then. Trailing bytes are ignored, as Kafka does.
  template <protocol::Message M>
  bool decode(M& out) { return decode(M::table(), &out); }

  // Answers with a message at this request's version. Exactly one of these is called, once.
  template <protocol::Message M>
  void reply(M const& response, Duration throttle = Duration::zero()) { reply(M::table(), &response, {}, throttle); }
  // The same, with what belongs into the record slots of the response, by slot index; empty chunks are left out.
  template <protocol::Message M>
  void reply(M const& response, std::span<env::Chunk> slots, Duration throttle = Duration::zero()) {
    reply(M::table(), &response, slots, throttle);
  }
  // In another form than the request asks for: ApiVersions of a version that we do not know.
  template <protocol::Message M>
  void reply_at(int16_t version, int16_t header_version, M const& response) {
    reply_as(M::table(), &response, version, header_version, {}, Duration::zero());
  }
  // With an answer that another node has encoded for this request, its header included.
  void reply_encoded(SharedBytes answer, Duration throttle);
  void reply_nothing(Duration throttle = Duration::zero());  // acks=0
  void close(std::string reason);
  void let_next_produce_start() { answer_->let_next_produce_start(); }

 private:
  bool decode(protocol::MessageTable const& table, void* out);
  void reply(protocol::MessageTable const& table, void const* response, std::span<env::Chunk> slots, Duration throttle);
  void reply_as(protocol::MessageTable const& table, void const* response, int16_t at_version, int16_t header_version,
                std::span<env::Chunk> slots, Duration throttle);
  void count(protocol::MessageTable const* table, void const* response);

  Services& services_;
  ThreadState& thread_;
  std::shared_ptr<net::ConnectionInfo> connection_;
  SharedBytes frame_;
  protocol::RequestHeader header_;
  Reader in_;
  Mono arrived_;
  ImagePtr image_;
  std::unique_ptr<net::Answer> answer_;
  Arena request_arena_;  // bounded by the frame
  Arena arena_;
  Task on_not_controller_;
};

using ContextPtr = std::unique_ptr<RequestContext>;
using HandlerFunction = void (*)(ContextPtr context);

}  // namespace millrace::broker
