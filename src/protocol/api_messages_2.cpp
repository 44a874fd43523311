#include "build_table.h"
#include "millrace/protocol/api/alter_client_quotas.h"
#include "millrace/protocol/api/alter_partition.h"
#include "millrace/protocol/api/alter_partition_reassignments.h"
#include "millrace/protocol/api/alter_user_scram_credentials.h"
#include "millrace/protocol/api/begin_quorum_epoch.h"
#include "millrace/protocol/api/broker_heartbeat.h"
#include "millrace/protocol/api/broker_registration.h"
#include "millrace/protocol/api/create_delegation_token.h"
#include "millrace/protocol/api/create_partitions.h"
#include "millrace/protocol/api/delete_groups.h"
#include "millrace/protocol/api/describe_client_quotas.h"
#include "millrace/protocol/api/describe_cluster.h"
#include "millrace/protocol/api/describe_delegation_token.h"
#include "millrace/protocol/api/describe_log_dirs.h"
#include "millrace/protocol/api/describe_producers.h"
#include "millrace/protocol/api/describe_quorum.h"
#include "millrace/protocol/api/describe_transactions.h"
#include "millrace/protocol/api/describe_user_scram_credentials.h"
#include "millrace/protocol/api/elect_leaders.h"
#include "millrace/protocol/api/end_quorum_epoch.h"
#include "millrace/protocol/api/envelope.h"
#include "millrace/protocol/api/expire_delegation_token.h"
#include "millrace/protocol/api/fetch_snapshot.h"
#include "millrace/protocol/api/incremental_alter_configs.h"
#include "millrace/protocol/api/list_partition_reassignments.h"
#include "millrace/protocol/api/offset_delete.h"
#include "millrace/protocol/api/renew_delegation_token.h"
#include "millrace/protocol/api/sasl_authenticate.h"
#include "millrace/protocol/api/unregister_broker.h"
#include "millrace/protocol/api/update_features.h"
#include "millrace/protocol/api/vote.h"

namespace millrace::protocol {

MR_KEYED_MESSAGE(DescribeLogDirsRequest)
MR_KEYED_MESSAGE(DescribeLogDirsResponse)
MR_KEYED_MESSAGE(SaslAuthenticateRequest)
MR_KEYED_MESSAGE(SaslAuthenticateResponse)
MR_KEYED_MESSAGE(CreatePartitionsRequest)
MR_KEYED_MESSAGE(CreatePartitionsResponse)
MR_KEYED_MESSAGE(CreateDelegationTokenRequest)
MR_KEYED_MESSAGE(CreateDelegationTokenResponse)
MR_KEYED_MESSAGE(RenewDelegationTokenRequest)
MR_KEYED_MESSAGE(RenewDelegationTokenResponse)
MR_KEYED_MESSAGE(ExpireDelegationTokenRequest)
MR_KEYED_MESSAGE(ExpireDelegationTokenResponse)
MR_KEYED_MESSAGE(DescribeDelegationTokenRequest)
MR_KEYED_MESSAGE(DescribeDelegationTokenResponse)
MR_KEYED_MESSAGE(DeleteGroupsRequest)
MR_KEYED_MESSAGE(DeleteGroupsResponse)
MR_KEYED_MESSAGE(ElectLeadersRequest)
MR_KEYED_MESSAGE(ElectLeadersResponse)
MR_KEYED_MESSAGE(IncrementalAlterConfigsRequest)
MR_KEYED_MESSAGE(IncrementalAlterConfigsResponse)
MR_KEYED_MESSAGE(AlterPartitionReassignmentsRequest)
MR_KEYED_MESSAGE(AlterPartitionReassignmentsResponse)
MR_KEYED_MESSAGE(ListPartitionReassignmentsRequest)
MR_KEYED_MESSAGE(ListPartitionReassignmentsResponse)
MR_KEYED_MESSAGE(OffsetDeleteRequest)
MR_KEYED_MESSAGE(OffsetDeleteResponse)
MR_KEYED_MESSAGE(DescribeClientQuotasRequest)
MR_KEYED_MESSAGE(DescribeClientQuotasResponse)
MR_KEYED_MESSAGE(AlterClientQuotasRequest)
MR_KEYED_MESSAGE(AlterClientQuotasResponse)
MR_KEYED_MESSAGE(DescribeUserScramCredentialsRequest)
MR_KEYED_MESSAGE(DescribeUserScramCredentialsResponse)
MR_KEYED_MESSAGE(AlterUserScramCredentialsRequest)
MR_KEYED_MESSAGE(AlterUserScramCredentialsResponse)
MR_KEYED_MESSAGE(VoteRequest)
MR_KEYED_MESSAGE(VoteResponse)
MR_KEYED_MESSAGE(BeginQuorumEpochRequest)
MR_KEYED_MESSAGE(BeginQuorumEpochResponse)
MR_KEYED_MESSAGE(EndQuorumEpochRequest)
MR_KEYED_MESSAGE(EndQuorumEpochResponse)
MR_KEYED_MESSAGE(DescribeQuorumRequest)
MR_KEYED_MESSAGE(DescribeQuorumResponse)
MR_KEYED_MESSAGE(AlterPartitionRequest)
MR_KEYED_MESSAGE(AlterPartitionResponse)
MR_KEYED_MESSAGE(UpdateFeaturesRequest)
MR_KEYED_MESSAGE(UpdateFeaturesResponse)
MR_KEYED_MESSAGE(EnvelopeRequest)
MR_KEYED_MESSAGE(EnvelopeResponse)
MR_KEYED_MESSAGE(FetchSnapshotRequest)
MR_KEYED_MESSAGE(FetchSnapshotResponse)
MR_KEYED_MESSAGE(DescribeClusterRequest)
MR_KEYED_MESSAGE(DescribeClusterResponse)
MR_KEYED_MESSAGE(DescribeProducersRequest)
MR_KEYED_MESSAGE(DescribeProducersResponse)
MR_KEYED_MESSAGE(BrokerRegistrationRequest)
MR_KEYED_MESSAGE(BrokerRegistrationResponse)
MR_KEYED_MESSAGE(BrokerHeartbeatRequest)
MR_KEYED_MESSAGE(BrokerHeartbeatResponse)
MR_KEYED_MESSAGE(UnregisterBrokerRequest)
MR_KEYED_MESSAGE(UnregisterBrokerResponse)
MR_KEYED_MESSAGE(DescribeTransactionsRequest)
MR_KEYED_MESSAGE(DescribeTransactionsResponse)

}  // namespace millrace::protocol
