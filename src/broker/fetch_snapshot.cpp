// FetchSnapshot: a follower that is behind the log's start takes a snapshot piece by piece.
#include "millrace/protocol/api/fetch_snapshot.h"
#include "handlers.h"
#include "raft_requests.h"

namespace millrace::broker {
namespace {

void reply(RequestContext& context, runtime::RaftAnswer& answer) {
  auto const& out = std::get<raft::FetchSnapshotResponse>(answer.response);
  protocol::FetchSnapshotResponse response;
  response.error_code = out.verdict.top;
  // Kafka trips over its own answer to an epoch that is not its own.
  bool const is_other_epoch =
      out.verdict.error == ErrorCode::fenced_leader_epoch || out.verdict.error == ErrorCode::unknown_leader_epoch;
  if (is_other_epoch) response.error_code = ErrorCode::unknown_server_error;
  if (response.error_code != ErrorCode::none) return context.reply(response);
  response.topics = context.arena().array<protocol::FetchSnapshotResponse::TopicSnapshot>(1);
  response.topics[0].name = metadata::kMetadataTopicName;
  response.topics[0].partitions = context.arena().array<protocol::FetchSnapshotResponse::PartitionSnapshot>(1);
  auto& partition = response.topics[0].partitions[0];
  partition.error_code = out.verdict.error;
  partition.current_leader.leader_id = out.verdict.leader.value;
  partition.current_leader.leader_epoch = out.verdict.epoch.value;
  response.node_endpoints = node_endpoints<protocol::FetchSnapshotResponse::NodeEndpoint>(context, answer, 1);
  partition.unaligned_records = ByteView(context.frame().view().data(), size_t{0});
  if (out.verdict.error != ErrorCode::none || answer.records.empty()) return context.reply(response);
  partition.snapshot_id.end_offset = out.id.end_offset.value;
  partition.snapshot_id.epoch = out.id.epoch.value;
  partition.size = out.snapshot_bytes;
  partition.position = out.position;
  partition.unaligned_records = protocol::Records::slot(answer.records.front().size(), 0);
  std::vector<env::Chunk> slots;
  slots.emplace_back(std::move(answer.records.front()));
  context.reply(response, slots);
}

}  // namespace

void handle_fetch_snapshot(ContextPtr context) {
  protocol::FetchSnapshotRequest request;
  if (!context->decode(request)) return;
  raft::FetchSnapshotRequest fetch;
  fetch.addressing.is_same_cluster =
      !request.cluster_id || std::string_view(*request.cluster_id) == context->services().config.cluster_id;
  fetch.addressing.is_metadata_log =
      request.topics.size() == 1 && request.topics[0].name == metadata::kMetadataTopicName &&
      request.topics[0].partitions.size() == 1 && request.topics[0].partitions[0].partition == 0;
  if (fetch.addressing.is_metadata_log) {
    auto const& partition = request.topics[0].partitions[0];
    fetch.replica = {BrokerId{request.replica_id}, partition.replica_directory_id};
    fetch.current_epoch = LeaderEpoch{partition.current_leader_epoch};
    fetch.id = {Offset{partition.snapshot_id.end_offset}, LeaderEpoch{partition.snapshot_id.epoch}};
    fetch.position = partition.position;
    fetch.bytes_max = request.max_bytes;
  }
  ask_quorum(std::move(context), std::move(fetch), std::nullopt,
             [](RequestContext& c, runtime::RaftAnswer& answer) { reply(c, answer); });
}

}  // namespace millrace::broker
