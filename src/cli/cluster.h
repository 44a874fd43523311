// A cluster as commands see it: blocking calls to any broker or to a certain one. Owns its event loop.
#pragma once
#include <future>
#include <map>
#include <memory>
#include <string>

#include "millrace/cli/commands.h"
#include "millrace/client/connection.h"
#include "millrace/env_os/os_env.h"
#include "millrace/protocol/api/metadata.h"

namespace millrace::cli {

class Cluster {
 public:
  static constexpr int32_t kAnyNode = -1;  // the bootstrap server
  static constexpr int16_t kNoLimit = INT16_MAX;

  // Connects to the first bootstrap server that answers. invalid: the list is malformed; cancelled, io: none answers.
  static Result<std::unique_ptr<Cluster>> connect(ClusterOptions const& options);
  ~Cluster();

  // Asks the bootstrap server.
  template <class Response, class Request>
  Result<client::Reply<Response>> call(Request const& request) {
    return call_on<Response>(*bootstrap_, request);
  }
  // Asks the broker `node`, whose address must have come with a Metadata answer before. The version is the highest
  // that both sides know, at most `version_max`.
  template <class Response, class Request>
  Result<client::Reply<Response>> call_node(int32_t node, Request const& request, int16_t version_max = kNoLimit) {
    MR_TRY_ASSIGN(auto connection, connection_to(node));
    return call_on<Response>(*connection, request, version_max);
  }
  // Asks the controller, or, where brokers forward to it, the broker that Metadata names in its place.
  template <class Response, class Request>
  Result<client::Reply<Response>> call_controller(Request const& request) {
    MR_TRY_ASSIGN(auto const node, controller());
    return call_node<Response>(node, request);
  }
  // The version at which `node` would be asked. Fields that a version lacks must stay empty.
  template <class Request>
  Result<int16_t> version_at(int32_t node, int16_t version_max = kNoLimit) {
    MR_TRY_ASSIGN(auto connection, connection_to(node));
    return connection->choose_version(Request::kKey, Request::kValid, version_max);
  }
  // acks=0 has no answer.
  template <class Request>
  Status send_to_node(int32_t node, Request const& request);

  // Metadata of `topics`, or of all with null. Remembers the brokers' addresses.
  Result<client::Reply<protocol::MetadataResponse>> metadata(Array<protocol::MetadataRequest::MetadataRequestTopic> topics);
  Result<client::Reply<protocol::MetadataResponse>> metadata_of(std::string_view topic);
  Result<std::vector<int32_t>> nodes();  // the live brokers, by id
  // Addresses that came with other answers.
  void remember(int32_t node, std::string_view host, int32_t port);

  ClusterOptions const& options() const { return options_; }
  Wall wall_now() const { return env_->wall_now(); }
  void pause(Duration duration);  // between two tries

 private:
  explicit Cluster(ClusterOptions options) : options_(std::move(options)) {}
  Result<int32_t> controller();
  Result<std::shared_ptr<client::Connection>> open(std::string const& host, uint16_t port);
  Result<std::shared_ptr<client::Connection>> connection_to(int32_t node);

  template <class Response, class Request>
  Result<client::Reply<Response>> call_on(client::Connection& connection, Request const& request,
                                          int16_t version_max = kNoLimit) {
    MR_TRY_ASSIGN(auto const version, connection.choose_version(Request::kKey, Request::kValid, version_max));
    std::promise<Result<client::Reply<Response>>> promise;
    connection.reactor().post([&] {
      connection.call<Response>(
          request, [&](Result<client::Reply<Response>> reply) { promise.set_value(std::move(reply)); }, version);
    });
    auto reply = promise.get_future().get();
    // `invalid` is for what people wrote; an answer that cannot be read is not their fault.
    if (!reply && reply.error().kind == ErrorKind::invalid) return Error{ErrorKind::corrupt, reply.error().message};
    return reply;
  }

  ClusterOptions const options_;
  std::unique_ptr<env_os::OsEnv> env_;
  std::shared_ptr<client::Connection> bootstrap_;
  std::map<int32_t, std::pair<std::string, uint16_t>> addresses_;
  std::map<int32_t, std::shared_ptr<client::Connection>> connections_;
  std::optional<int32_t> controller_;
};

template <class Request>
Status Cluster::send_to_node(int32_t node, Request const& request) {
  MR_TRY_ASSIGN(auto connection, connection_to(node));
  std::promise<Status> promise;
  connection->reactor().post([&] {
    auto version = connection->choose_version(Request::kKey, Request::kValid);
    if (!version) return promise.set_value(std::move(version).error());
    auto frame = protocol::encode_request(connection->next_correlation_id(), Str(connection->options().client_id), *version, request);
    if (!frame) return promise.set_value(std::move(frame).error());
    connection->send_frame_without_answer(*std::move(frame));
    promise.set_value({});
  });
  return promise.get_future().get();
}

}  // namespace millrace::cli
