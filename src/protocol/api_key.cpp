// The table of APIs and the tables of the request and response messages.
#include "millrace/protocol/api_key.h"

#include <algorithm>
#include <array>

#include "millrace/base/assert.h"
#include "millrace/protocol/api/all.h"

namespace millrace::protocol {

namespace {

enum Flags : uint8_t { kNone = 0, kBroker = 1, kController = 2, kBoth = 3, kClusterAction = 4, kForwardable = 8 };

// What is advertised is what is valid, but for Produce (older clients look for version 0) and unstable versions.
template <class Request, class Response>
constexpr ApiInfo api(std::string_view name, int flags, Versions advertised = Request::kValid) {
  static_assert(Request::kKey == Response::kKey && Request::kValid == Response::kValid);
  return {Request::kKey,
          name,
          Request::kValid,
          advertised,
          Request::kFlexible,
          (flags & kBroker) != 0,
          (flags & kController) != 0,
          (flags & kClusterAction) != 0,
          (flags & kForwardable) != 0,
          &Request::table,
          &Response::table};
}
constexpr ApiInfo removed(ApiKey key, std::string_view name) {
  return {key, name, kNever, kNever, kNever, false, false, true, false, nullptr, nullptr};
}

// clang-format off
std::array<ApiInfo, 95> const kApis{{
    api<ProduceRequest, ProduceResponse>("Produce", kBroker, {0, 13}),
    api<FetchRequest, FetchResponse>("Fetch", kBoth),
    api<ListOffsetsRequest, ListOffsetsResponse>("ListOffsets", kBroker),
    api<MetadataRequest, MetadataResponse>("Metadata", kBroker),
    removed(ApiKey::leader_and_isr, "LeaderAndIsr"),
    removed(ApiKey::stop_replica, "StopReplica"),
    removed(ApiKey::update_metadata, "UpdateMetadata"),
    removed(ApiKey::controlled_shutdown, "ControlledShutdown"),
    api<OffsetCommitRequest, OffsetCommitResponse>("OffsetCommit", kBroker),
    api<OffsetFetchRequest, OffsetFetchResponse>("OffsetFetch", kBroker),
    api<FindCoordinatorRequest, FindCoordinatorResponse>("FindCoordinator", kBroker),
    api<JoinGroupRequest, JoinGroupResponse>("JoinGroup", kBroker),
    api<HeartbeatRequest, HeartbeatResponse>("Heartbeat", kBroker),
    api<LeaveGroupRequest, LeaveGroupResponse>("LeaveGroup", kBroker),
    api<SyncGroupRequest, SyncGroupResponse>("SyncGroup", kBroker),
    api<DescribeGroupsRequest, DescribeGroupsResponse>("DescribeGroups", kBroker),
    api<ListGroupsRequest, ListGroupsResponse>("ListGroups", kBroker),
    api<SaslHandshakeRequest, SaslHandshakeResponse>("SaslHandshake", kBoth),
    api<ApiVersionsRequest, ApiVersionsResponse>("ApiVersions", kBoth),
    api<CreateTopicsRequest, CreateTopicsResponse>("CreateTopics", kBoth | kForwardable),
    api<DeleteTopicsRequest, DeleteTopicsResponse>("DeleteTopics", kBoth | kForwardable),
    api<DeleteRecordsRequest, DeleteRecordsResponse>("DeleteRecords", kBroker),
    api<InitProducerIdRequest, InitProducerIdResponse>("InitProducerId", kBroker, {0, 5}),
    api<OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse>("OffsetForLeaderEpoch", kBroker),
    api<AddPartitionsToTxnRequest, AddPartitionsToTxnResponse>("AddPartitionsToTxn", kBroker),
    api<AddOffsetsToTxnRequest, AddOffsetsToTxnResponse>("AddOffsetsToTxn", kBroker),
    api<EndTxnRequest, EndTxnResponse>("EndTxn", kBroker),
    api<WriteTxnMarkersRequest, WriteTxnMarkersResponse>("WriteTxnMarkers", kBroker | kClusterAction),
    api<TxnOffsetCommitRequest, TxnOffsetCommitResponse>("TxnOffsetCommit", kBroker),
    api<DescribeAclsRequest, DescribeAclsResponse>("DescribeAcls", kBoth),
    api<CreateAclsRequest, CreateAclsResponse>("CreateAcls", kBoth | kForwardable),
    api<DeleteAclsRequest, DeleteAclsResponse>("DeleteAcls", kBoth | kForwardable),
    api<DescribeConfigsRequest, DescribeConfigsResponse>("DescribeConfigs", kBoth),
    api<AlterConfigsRequest, AlterConfigsResponse>("AlterConfigs", kBoth | kForwardable),
    api<AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse>("AlterReplicaLogDirs", kBroker),
    api<DescribeLogDirsRequest, DescribeLogDirsResponse>("DescribeLogDirs", kBroker),
    api<SaslAuthenticateRequest, SaslAuthenticateResponse>("SaslAuthenticate", kBoth),
    api<CreatePartitionsRequest, CreatePartitionsResponse>("CreatePartitions", kBoth | kForwardable),
    api<CreateDelegationTokenRequest, CreateDelegationTokenResponse>("CreateDelegationToken", kBoth | kForwardable),
    api<RenewDelegationTokenRequest, RenewDelegationTokenResponse>("RenewDelegationToken", kBoth | kForwardable),
    api<ExpireDelegationTokenRequest, ExpireDelegationTokenResponse>("ExpireDelegationToken", kBoth | kForwardable),
    api<DescribeDelegationTokenRequest, DescribeDelegationTokenResponse>("DescribeDelegationToken", kBoth),
    api<DeleteGroupsRequest, DeleteGroupsResponse>("DeleteGroups", kBroker),
    api<ElectLeadersRequest, ElectLeadersResponse>("ElectLeaders", kBoth | kForwardable),
    api<IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse>(
        "IncrementalAlterConfigs", kBoth | kForwardable),
    api<AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse>(
        "AlterPartitionReassignments", kBoth | kForwardable),
    api<ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse>(
        "ListPartitionReassignments", kBoth | kForwardable),
    api<OffsetDeleteRequest, OffsetDeleteResponse>("OffsetDelete", kBroker),
    api<DescribeClientQuotasRequest, DescribeClientQuotasResponse>("DescribeClientQuotas", kBroker),
    api<AlterClientQuotasRequest, AlterClientQuotasResponse>("AlterClientQuotas", kBoth | kForwardable),
    api<DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse>(
        "DescribeUserScramCredentials", kBoth),
    api<AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse>(
        "AlterUserScramCredentials", kBoth | kForwardable),
    api<VoteRequest, VoteResponse>("Vote", kController | kClusterAction),
    api<BeginQuorumEpochRequest, BeginQuorumEpochResponse>("BeginQuorumEpoch", kController | kClusterAction),
    api<EndQuorumEpochRequest, EndQuorumEpochResponse>("EndQuorumEpoch", kController | kClusterAction),
    api<DescribeQuorumRequest, DescribeQuorumResponse>("DescribeQuorum", kBoth | kClusterAction | kForwardable),
    api<AlterPartitionRequest, AlterPartitionResponse>("AlterPartition", kController | kClusterAction),
    api<UpdateFeaturesRequest, UpdateFeaturesResponse>("UpdateFeatures", kBoth | kClusterAction | kForwardable),
    api<EnvelopeRequest, EnvelopeResponse>("Envelope", kController | kClusterAction),
    api<FetchSnapshotRequest, FetchSnapshotResponse>("FetchSnapshot", kController),
    api<DescribeClusterRequest, DescribeClusterResponse>("DescribeCluster", kBoth),
    api<DescribeProducersRequest, DescribeProducersResponse>("DescribeProducers", kBroker),
    api<BrokerRegistrationRequest, BrokerRegistrationResponse>("BrokerRegistration", kController | kClusterAction),
    api<BrokerHeartbeatRequest, BrokerHeartbeatResponse>("BrokerHeartbeat", kController | kClusterAction),
    api<UnregisterBrokerRequest, UnregisterBrokerResponse>("UnregisterBroker", kBoth | kForwardable),
    api<DescribeTransactionsRequest, DescribeTransactionsResponse>("DescribeTransactions", kBroker),
    api<ListTransactionsRequest, ListTransactionsResponse>("ListTransactions", kBroker),
    api<AllocateProducerIdsRequest, AllocateProducerIdsResponse>(
        "AllocateProducerIds", kController | kClusterAction | kForwardable),
    api<ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse>("ConsumerGroupHeartbeat", kBroker),
    api<ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse>("ConsumerGroupDescribe", kBroker),
    api<ControllerRegistrationRequest, ControllerRegistrationResponse>("ControllerRegistration", kController),
    api<GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse>("GetTelemetrySubscriptions", kBroker),
    api<PushTelemetryRequest, PushTelemetryResponse>("PushTelemetry", kBroker),
    api<AssignReplicasToDirsRequest, AssignReplicasToDirsResponse>("AssignReplicasToDirs", kController),
    api<ListConfigResourcesRequest, ListConfigResourcesResponse>("ListConfigResources", kBroker),
    api<DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse>("DescribeTopicPartitions", kBroker),
    api<ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse>("ShareGroupHeartbeat", kBroker),
    api<ShareGroupDescribeRequest, ShareGroupDescribeResponse>("ShareGroupDescribe", kBroker),
    api<ShareFetchRequest, ShareFetchResponse>("ShareFetch", kBroker),
    api<ShareAcknowledgeRequest, ShareAcknowledgeResponse>("ShareAcknowledge", kBroker),
    api<AddRaftVoterRequest, AddRaftVoterResponse>("AddRaftVoter", kBoth | kForwardable),
    api<RemoveRaftVoterRequest, RemoveRaftVoterResponse>("RemoveRaftVoter", kBoth | kForwardable),
    api<UpdateRaftVoterRequest, UpdateRaftVoterResponse>("UpdateRaftVoter", kController),
    api<InitializeShareGroupStateRequest, InitializeShareGroupStateResponse>(
        "InitializeShareGroupState", kBroker | kClusterAction),
    api<ReadShareGroupStateRequest, ReadShareGroupStateResponse>("ReadShareGroupState", kBroker | kClusterAction),
    api<WriteShareGroupStateRequest, WriteShareGroupStateResponse>("WriteShareGroupState", kBroker | kClusterAction),
    api<DeleteShareGroupStateRequest, DeleteShareGroupStateResponse>("DeleteShareGroupState", kBroker | kClusterAction),
    api<ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse>(
        "ReadShareGroupStateSummary", kBroker | kClusterAction),
    api<StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse>("StreamsGroupHeartbeat", kBroker),
    api<StreamsGroupDescribeRequest, StreamsGroupDescribeResponse>("StreamsGroupDescribe", kBroker),
    api<DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse>("DescribeShareGroupOffsets", kBroker),
    api<AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse>("AlterShareGroupOffsets", kBroker),
    api<DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse>("DeleteShareGroupOffsets", kBroker),
    api<StreamsGroupTopologyDescriptionUpdateRequest, StreamsGroupTopologyDescriptionUpdateResponse>(
        "StreamsGroupTopologyDescriptionUpdate", kBroker),
    api<UnregisterControllerRequest, UnregisterControllerResponse>("UnregisterController", kBoth | kForwardable),
}};
// clang-format on

}  // namespace

std::span<ApiInfo const> all_apis() { return kApis; }

ApiInfo const* find_api(int16_t key) {
  auto const found = std::lower_bound(kApis.begin(), kApis.end(), key, [](ApiInfo const& api, int16_t wanted) {
    return static_cast<int16_t>(api.key) < wanted;
  });
  return found != kApis.end() && static_cast<int16_t>(found->key) == key ? &*found : nullptr;
}

ApiInfo const& api_info(ApiKey key) {
  auto const* info = find_api(static_cast<int16_t>(key));
  MR_ASSERT(info != nullptr);
  return *info;
}

}  // namespace millrace::protocol
