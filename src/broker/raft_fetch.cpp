// Fetch on a controller's listener: other voters and observers read the metadata log.
#include "handlers.h"
#include "millrace/protocol/api/fetch.h"
#include "raft_requests.h"

namespace millrace::broker {
namespace {

void reply(RequestContext& context, runtime::RaftAnswer& answer) {
  auto const& out = std::get<raft::FetchResponse>(answer.response);
  protocol::FetchResponse response;
  response.error_code = out.verdict.top;
  if (out.verdict.top != ErrorCode::none) return context.reply(response);
  response.responses = context.arena().array<protocol::FetchResponse::FetchableTopicResponse>(1);
  response.responses[0].topic = metadata::kMetadataTopicName;
  response.responses[0].topic_id = metadata::kMetadataTopicId;
  response.responses[0].partitions = context.arena().array<protocol::FetchResponse::PartitionData>(1);
  auto& partition = response.responses[0].partitions[0];
  partition.error_code = out.verdict.error;
  partition.high_watermark = out.high_watermark.value;
  partition.log_start_offset = out.log_start.value;
  partition.current_leader.leader_id = out.verdict.leader.value;
  partition.current_leader.leader_epoch = out.verdict.epoch.value;
  if (out.diverging) {
    partition.diverging_epoch.epoch = out.diverging->epoch.value;
    partition.diverging_epoch.end_offset = out.diverging->offset.value;
  }
  if (out.snapshot) {
    partition.snapshot_id.epoch = out.snapshot->epoch.value;
    partition.snapshot_id.end_offset = out.snapshot->end_offset.value;
  }
  response.node_endpoints = node_endpoints<protocol::FetchResponse::NodeEndpoint>(context, answer, 16);
  size_t bytes = 0;
  for (auto const& batch : answer.records) bytes += batch.size();
  if (bytes == 0) {
    partition.records = ByteView(context.frame().view().data(), size_t{0});
    return context.reply(response);
  }
  std::vector<env::Chunk> slots;
  if (answer.records.size() == 1) {
    slots.emplace_back(std::move(answer.records.front()));
  } else {
    auto joined = SharedBytes::allocate(bytes);
    auto to = joined.mutable_view().begin();
    for (auto const& batch : answer.records) to = std::copy(batch.view().begin(), batch.view().end(), to);
    slots.emplace_back(std::move(joined));
  }
  partition.records = protocol::Records::slot(bytes, 0);
  context.reply(response, slots);
}

}  // namespace

void handle_raft_fetch(ContextPtr context) {
  protocol::FetchRequest request;
  if (!context->decode(request)) return;
  raft::FetchRequest fetch;
  fetch.addressing.is_same_cluster =
      !request.cluster_id || std::string_view(*request.cluster_id) == context->services().config.cluster_id;
  bool const is_one = request.topics.size() == 1 && request.topics[0].partitions.size() == 1;
  // As in Kafka, the log is known by its id alone: before version 13 no request names it.
  bool const is_ours = is_one && request.topics[0].topic_id == metadata::kMetadataTopicId;
  fetch.addressing.is_metadata_log = is_ours && request.topics[0].partitions[0].partition == 0;
  if (fetch.addressing.is_metadata_log) {
    auto const& partition = request.topics[0].partitions[0];
    auto const id = context->version() >= 15 ? request.replica_state.replica_id : request.replica_id;
    fetch.replica = {BrokerId{id}, partition.replica_directory_id};
    fetch.current_epoch = LeaderEpoch{partition.current_leader_epoch};
    fetch.offset = Offset{partition.fetch_offset};
    fetch.last_epoch = LeaderEpoch{partition.last_fetched_epoch};
    fetch.high_watermark = Offset{partition.high_watermark};
    fetch.bytes_max = request.max_bytes;
    fetch.wait_max = from_ms(request.max_wait_ms);
  }
  ask_quorum(std::move(context), std::move(fetch), std::nullopt,
             [](RequestContext& c, runtime::RaftAnswer& answer) { reply(c, answer); });
}

}  // namespace millrace::broker
