#include "raft_peers.h"

#include "millrace/metadata/image.h"
#include "millrace/protocol/api/begin_quorum_epoch.h"
#include "millrace/protocol/api/end_quorum_epoch.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/fetch_snapshot.h"
#include "millrace/protocol/api/vote.h"
#include "millrace/record/batch.h"
#include "millrace/runtime/metadata_log.h"
#include "millrace/storage/log_directory.h"

namespace millrace::runtime {
namespace {

constexpr int16_t kPreVoteVersionMin = 2;
constexpr int16_t kFetchVersionMin = 13;  // names the log by its id, says who leads and where logs diverge
constexpr int16_t kReplicaStateSince = 15;
constexpr int64_t kResponseBytesMax = 64LL << 20;

// The network's errors have one kind; that nobody listens stands in the system's own words.
bool is_refusal(Error const& error) { return error.message.find("refused") != std::string::npos; }

raft::Verdict verdict_of(auto const& partition) {
  raft::Verdict out;
  out.error = partition.error_code;
  out.leader = BrokerId{partition.leader_id};
  out.epoch = LeaderEpoch{partition.leader_epoch};
  return out;
}

// The one partition of an answer; none: the answer has another form.
auto const* only_partition(auto const& topics) {
  return topics.size() == 1 && topics[0].partitions.size() == 1 ? &topics[0].partitions[0] : nullptr;
}

template <class Endpoint>
std::vector<Endpoint> wire_endpoints(std::vector<raft::VoterEndpoint> const& endpoints) {
  std::vector<Endpoint> out;
  for (auto const& e : endpoints) {
    auto& wire = out.emplace_back();
    wire.name = e.listener;
    wire.host = e.host;
    wire.port = e.port;
  }
  return out;
}

SharedBytes part_of(SharedBytes const& frame, ByteView view) {
  if (view.empty()) return {};
  return frame.slice(static_cast<size_t>(view.data() - frame.data()), view.size());
}

}  // namespace

void RaftPeers::stop() {
  alive_ = std::make_shared<bool>(true);
  channels_.clear();
}

void RaftPeers::send(raft::effect::Send const& send) {
  if (!driver_.machine().is_waiting_for(send.to, send.id)) return;  // superseded while it was held
  bool const is_fetch = std::holds_alternative<raft::FetchRequest>(send.request) ||
                        std::holds_alternative<raft::FetchSnapshotRequest>(send.request);
  Key const key{send.to, is_fetch ? Line::fetches : Line::elections};
  auto& channel = channels_[key];
  auto const address = driver_.address_of(send.to);
  bool const has_moved = address && (channel.address.host != address->host || channel.address.port != address->port);
  // Behind an answer that nobody waits for any more a new request would wait, too.
  if (channel.is_busy || has_moved || (channel.connection && !channel.connection->is_open()))
    channel.connection.reset();
  channel.is_busy = true;
  channel.generation = ++generations_;
  auto const deadline = reactor_.now() + driver_.network_.request_timeout;
  if (channel.connection) return call(key, send, deadline);
  if (!address) {
    return reactor_.post([this, weak = std::weak_ptr(alive_), key, id = send.id, generation = channel.generation] {
      if (!weak.expired() && channels_[key].generation == generation) fail(key, id, raft::event::Failure::other);
    });
  }
  channel.address = *address;
  open(key, send, deadline);
}

void RaftPeers::open(Key key, raft::effect::Send send, Mono deadline) {
  auto& channel = channels_[key];
  client::Options options;
  options.client_id = fmt::format("raft-client-{}", driver_.machine().self().id);
  options.request_timeout = driver_.network_.request_timeout;
  options.response_bytes_max = kResponseBytesMax;
  client::Connection::open(
      env_.network(), reactor_, channel.address.host, channel.address.port, std::move(options), deadline,
      [this, weak = std::weak_ptr(alive_), key, send = std::move(send), deadline,
       generation = channel.generation](Result<std::shared_ptr<client::Connection>> opened) {
        if (weak.expired()) return;
        auto& opened_for = channels_[key];
        if (opened_for.generation != generation) return;
        if (!opened) {
          return fail(key, send.id,
                      is_refusal(opened.error()) ? raft::event::Failure::refused : raft::event::Failure::other);
        }
        opened_for.connection = *std::move(opened);
        call(key, send, deadline);
      });
}

void RaftPeers::learn(auto const& endpoints, BrokerId leader) {
  for (auto const& e : endpoints) {
    if (BrokerId{e.node_id} != leader || e.host.empty()) continue;
    driver_.learn_address({leader, std::string(e.host), static_cast<uint16_t>(e.port)});
  }
}

raft::Verdict RaftPeers::verdict_in(auto const& message) {
  raft::Verdict out;
  out.top = message.error_code;
  if (out.top != ErrorCode::none) return out;
  auto const* partition = only_partition(message.topics);
  if (partition == nullptr) {
    out.top = ErrorCode::invalid_request;
    return out;
  }
  out = verdict_of(*partition);
  learn(message.node_endpoints, out.leader);
  return out;
}

template <class Response, class Request>
void RaftPeers::call_as(
    Key key, raft::RequestId id, Request const& request, Mono deadline,
    std::function<void(client::Reply<Response>&, raft::Response&, std::vector<SharedBytes>&)> read) {
  auto& channel = channels_[key];
  auto const connection = channel.connection;
  connection->template call<Response>(
      request, [this, weak = std::weak_ptr(alive_), key, id, deadline, generation = channel.generation,
                peer = std::weak_ptr(connection), read = std::move(read)](Result<client::Reply<Response>> reply) {
        if (weak.expired() || channels_[key].generation != generation) return;
        if (!reply) {
          auto const alive = peer.lock();
          bool const is_ended = (!alive || !alive->is_open()) && reactor_.now() < deadline;
          auto const kind = reply.error().kind;
          if (kind == ErrorKind::unsupported) return fail(key, id, raft::event::Failure::unsupported_version);
          return fail(key, id, is_ended ? raft::event::Failure::peer_ended_connection : raft::event::Failure::other);
        }
        raft::Response response;
        std::vector<SharedBytes> records;
        read(*reply, response, records);
        finish(key, id, std::move(response), std::move(records));
      });
}

void RaftPeers::finish(Key key, raft::RequestId id, raft::Response response, std::vector<SharedBytes> records) {
  channels_[key].is_busy = false;
  driver_.on_response(key.first, id, std::move(response), std::move(records));
}

void RaftPeers::fail(Key key, raft::RequestId id, raft::event::Failure failure) {
  auto& channel = channels_[key];
  channel.is_busy = false;
  channel.connection.reset();
  driver_.feed(raft::event::RequestFailed{key.first, id, failure});
  driver_.drain_callbacks();
}

void RaftPeers::call(Key key, raft::effect::Send const& send, Mono deadline) {
  auto const& cluster_id = driver_.network_.cluster_id;
  auto const& machine = driver_.machine();
  static constexpr std::string_view kTopic = storage::kClusterMetadataTopic;
  auto& connection = *channels_[key].connection;
  std::visit(
      [&]<class R>(R const& r) {
        if constexpr (std::is_same_v<R, raft::VoteRequest>) {
          auto const served = connection.served(ApiKey::vote);
          if (r.is_pre_vote && served && served->highest < kPreVoteVersionMin) {
            return fail(key, send.id, raft::event::Failure::unsupported_version);
          }
          protocol::VoteRequest::PartitionData partition;
          partition.replica_epoch = r.epoch.value;
          partition.replica_id = r.candidate.id.value;
          partition.replica_directory_id = r.candidate.directory;
          partition.voter_directory_id = r.voter.directory;
          partition.last_offset_epoch = r.last.epoch.value;
          partition.last_offset = r.last.offset.value;
          partition.pre_vote = r.is_pre_vote;
          protocol::VoteRequest::TopicData topic;
          topic.topic_name = kTopic;
          topic.partitions = {&partition, 1};
          protocol::VoteRequest request;
          request.cluster_id = cluster_id;
          request.voter_id = r.voter.id.value;
          request.topics = {&topic, 1};
          call_as<protocol::VoteResponse>(key, send.id, request, deadline,
                                          [this](auto& reply, raft::Response& out, auto&) {
                                            raft::VoteResponse response;
                                            response.verdict = verdict_in(reply.message);
                                            if (response.verdict.top == ErrorCode::none) {
                                              response.is_granted = only_partition(reply.message.topics)->vote_granted;
                                            }
                                            out = response;
                                          });
        } else if constexpr (std::is_same_v<R, raft::BeginEpochRequest>) {
          protocol::BeginQuorumEpochRequest::PartitionData partition;
          partition.voter_directory_id = r.voter.directory;
          partition.leader_id = r.leader.value;
          partition.leader_epoch = r.epoch.value;
          protocol::BeginQuorumEpochRequest::TopicData topic;
          topic.topic_name = kTopic;
          topic.partitions = {&partition, 1};
          auto endpoints =
              wire_endpoints<protocol::BeginQuorumEpochRequest::LeaderEndpoint>(driver_.network_.endpoints);
          protocol::BeginQuorumEpochRequest request;
          request.cluster_id = cluster_id;
          request.voter_id = r.voter.id.value;
          request.topics = {&topic, 1};
          request.leader_endpoints = endpoints;
          call_as<protocol::BeginQuorumEpochResponse>(key, send.id, request, deadline,
                                                      [this](auto& reply, raft::Response& out, auto&) {
                                                        out = raft::BeginEpochResponse{verdict_in(reply.message)};
                                                      });
        } else if constexpr (std::is_same_v<R, raft::EndEpochRequest>) {
          std::vector<int32_t> successors;
          std::vector<protocol::EndQuorumEpochRequest::ReplicaInfo> candidates;
          for (auto const& s : r.preferred_successors) {
            successors.push_back(s.id.value);
            auto& wire = candidates.emplace_back();
            wire.candidate_id = s.id.value;
            wire.candidate_directory_id = s.directory;
          }
          protocol::EndQuorumEpochRequest::PartitionData partition;
          partition.leader_id = r.leader.value;
          partition.leader_epoch = r.epoch.value;
          partition.preferred_successors = successors;
          partition.preferred_candidates = candidates;
          protocol::EndQuorumEpochRequest::TopicData topic;
          topic.topic_name = kTopic;
          topic.partitions = {&partition, 1};
          auto endpoints = wire_endpoints<protocol::EndQuorumEpochRequest::LeaderEndpoint>(driver_.network_.endpoints);
          protocol::EndQuorumEpochRequest request;
          request.cluster_id = cluster_id;
          request.topics = {&topic, 1};
          request.leader_endpoints = endpoints;
          call_as<protocol::EndQuorumEpochResponse>(key, send.id, request, deadline,
                                                    [this](auto& reply, raft::Response& out, auto&) {
                                                      out = raft::EndEpochResponse{verdict_in(reply.message)};
                                                    });
        } else if constexpr (std::is_same_v<R, raft::FetchRequest>) {
          auto const served = connection.served(ApiKey::fetch);
          if (!served || served->highest < kFetchVersionMin)
            return fail(key, send.id, raft::event::Failure::unsupported_version);
          protocol::FetchRequest::FetchPartition partition;
          partition.current_leader_epoch = r.current_epoch.value;
          partition.fetch_offset = r.offset.value;
          partition.last_fetched_epoch = r.last_epoch.value;
          partition.partition_max_bytes = r.bytes_max;
          partition.replica_directory_id = r.replica.directory;
          partition.high_watermark = r.high_watermark.value;
          protocol::FetchRequest::FetchTopic topic;
          topic.topic = kTopic;
          topic.topic_id = metadata::kMetadataTopicId;
          topic.partitions = {&partition, 1};
          protocol::FetchRequest request;
          request.cluster_id = cluster_id;
          (served->highest >= kReplicaStateSince ? request.replica_state.replica_id : request.replica_id) = r.replica.id.value;
          request.max_wait_ms = static_cast<int32_t>(to_ms(r.wait_max));
          request.max_bytes = r.bytes_max;
          request.topics = {&topic, 1};
          call_as<protocol::FetchResponse>(
              key, send.id, request, deadline, [this](auto& reply, raft::Response& out, auto& records) {
                raft::FetchResponse response;
                response.verdict.top = reply.message.error_code;
                auto const* p = only_partition(reply.message.responses);
                if (p == nullptr) {
                  if (response.verdict.top == ErrorCode::none) response.verdict.top = ErrorCode::invalid_request;
                  out = response;
                  return;
                }
                response.verdict.error = p->error_code;
                response.verdict.leader = BrokerId{p->current_leader.leader_id};
                response.verdict.epoch = LeaderEpoch{p->current_leader.leader_epoch};
                learn(reply.message.node_endpoints, response.verdict.leader);
                response.high_watermark = Offset{p->high_watermark};
                response.log_start = Offset{p->log_start_offset};
                if (p->diverging_epoch.epoch >= 0) {
                  response.diverging =
                      raft::LogEnd{Offset{p->diverging_epoch.end_offset}, LeaderEpoch{p->diverging_epoch.epoch}};
                }
                if (p->snapshot_id.epoch >= 0 && p->snapshot_id.end_offset >= 0) {
                  response.snapshot =
                      raft::SnapshotId{Offset{p->snapshot_id.end_offset}, LeaderEpoch{p->snapshot_id.epoch}};
                }
                record::BatchReader batches(p->records.view());
                record::BatchView batch;
                while (batches.next(batch)) {
                  auto info = describe_batch(batch);
                  if (!info) {
                    env_.log().warn("raft", "a batch of the leader: {}", info.error().message);
                    break;
                  }
                  response.batches.push_back(*std::move(info));
                  records.push_back(part_of(reply.frame, batch.bytes()));
                }
                out = std::move(response);
              });
        } else {
          static_assert(std::is_same_v<R, raft::FetchSnapshotRequest>);
          protocol::FetchSnapshotRequest::PartitionSnapshot partition;
          partition.current_leader_epoch = r.current_epoch.value;
          partition.snapshot_id.end_offset = r.id.end_offset.value;
          partition.snapshot_id.epoch = r.id.epoch.value;
          partition.position = r.position;
          partition.replica_directory_id = machine.self().directory;
          protocol::FetchSnapshotRequest::TopicSnapshot topic;
          topic.name = kTopic;
          topic.partitions = {&partition, 1};
          protocol::FetchSnapshotRequest request;
          request.cluster_id = cluster_id;
          request.replica_id = r.replica.id.value;
          request.max_bytes = r.bytes_max;
          request.topics = {&topic, 1};
          call_as<protocol::FetchSnapshotResponse>(
              key, send.id, request, deadline, [this, asked = r.id](auto& reply, raft::Response& out, auto& records) {
                raft::FetchSnapshotResponse response;
                response.verdict.top = reply.message.error_code;
                auto const* p = only_partition(reply.message.topics);
                if (p == nullptr) {
                  if (response.verdict.top == ErrorCode::none) response.verdict.top = ErrorCode::invalid_request;
                  out = response;
                  return;
                }
                response.verdict.error = p->error_code;
                response.verdict.leader = BrokerId{p->current_leader.leader_id};
                response.verdict.epoch = LeaderEpoch{p->current_leader.leader_epoch};
                learn(reply.message.node_endpoints, response.verdict.leader);
                response.id = {Offset{p->snapshot_id.end_offset}, LeaderEpoch{p->snapshot_id.epoch}};
                if (response.verdict.error != ErrorCode::none) response.id = asked;
                response.snapshot_bytes = p->size;
                response.position = p->position;
                response.piece_bytes = static_cast<int64_t>(p->unaligned_records.view().size());
                records.push_back(part_of(reply.frame, p->unaligned_records.view()));
                out = response;
              });
        }
      },
      send.request);
}

}  // namespace millrace::runtime
