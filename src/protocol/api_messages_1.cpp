#include "build_table.h"
#include "millrace/protocol/api/add_offsets_to_txn.h"
#include "millrace/protocol/api/add_partitions_to_txn.h"
#include "millrace/protocol/api/alter_configs.h"
#include "millrace/protocol/api/alter_replica_log_dirs.h"
#include "millrace/protocol/api/api_versions.h"
#include "millrace/protocol/api/create_acls.h"
#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/delete_acls.h"
#include "millrace/protocol/api/delete_records.h"
#include "millrace/protocol/api/delete_topics.h"
#include "millrace/protocol/api/describe_acls.h"
#include "millrace/protocol/api/describe_configs.h"
#include "millrace/protocol/api/describe_groups.h"
#include "millrace/protocol/api/end_txn.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/find_coordinator.h"
#include "millrace/protocol/api/heartbeat.h"
#include "millrace/protocol/api/init_producer_id.h"
#include "millrace/protocol/api/join_group.h"
#include "millrace/protocol/api/leave_group.h"
#include "millrace/protocol/api/list_groups.h"
#include "millrace/protocol/api/list_offsets.h"
#include "millrace/protocol/api/metadata.h"
#include "millrace/protocol/api/offset_commit.h"
#include "millrace/protocol/api/offset_fetch.h"
#include "millrace/protocol/api/offset_for_leader_epoch.h"
#include "millrace/protocol/api/produce.h"
#include "millrace/protocol/api/sasl_handshake.h"
#include "millrace/protocol/api/sync_group.h"
#include "millrace/protocol/api/txn_offset_commit.h"
#include "millrace/protocol/api/write_txn_markers.h"
#include "millrace/protocol/header.h"

namespace millrace::protocol {

MR_MESSAGE(RequestHeader)
MR_MESSAGE(ResponseHeader)
MR_KEYED_MESSAGE(ProduceRequest)
MR_KEYED_MESSAGE(ProduceResponse)
MR_KEYED_MESSAGE(FetchRequest)
MR_KEYED_MESSAGE(FetchResponse)
MR_KEYED_MESSAGE(ListOffsetsRequest)
MR_KEYED_MESSAGE(ListOffsetsResponse)
MR_KEYED_MESSAGE(MetadataRequest)
MR_KEYED_MESSAGE(MetadataResponse)
MR_KEYED_MESSAGE(OffsetCommitRequest)
MR_KEYED_MESSAGE(OffsetCommitResponse)
MR_KEYED_MESSAGE(OffsetFetchRequest)
MR_KEYED_MESSAGE(OffsetFetchResponse)
MR_KEYED_MESSAGE(FindCoordinatorRequest)
MR_KEYED_MESSAGE(FindCoordinatorResponse)
MR_KEYED_MESSAGE(JoinGroupRequest)
MR_KEYED_MESSAGE(JoinGroupResponse)
MR_KEYED_MESSAGE(HeartbeatRequest)
MR_KEYED_MESSAGE(HeartbeatResponse)
MR_KEYED_MESSAGE(LeaveGroupRequest)
MR_KEYED_MESSAGE(LeaveGroupResponse)
MR_KEYED_MESSAGE(SyncGroupRequest)
MR_KEYED_MESSAGE(SyncGroupResponse)
MR_KEYED_MESSAGE(DescribeGroupsRequest)
MR_KEYED_MESSAGE(DescribeGroupsResponse)
MR_KEYED_MESSAGE(ListGroupsRequest)
MR_KEYED_MESSAGE(ListGroupsResponse)
MR_KEYED_MESSAGE(SaslHandshakeRequest)
MR_KEYED_MESSAGE(SaslHandshakeResponse)
MR_KEYED_MESSAGE(ApiVersionsRequest)
MR_KEYED_MESSAGE(ApiVersionsResponse)
MR_KEYED_MESSAGE(CreateTopicsRequest)
MR_KEYED_MESSAGE(CreateTopicsResponse)
MR_KEYED_MESSAGE(DeleteTopicsRequest)
MR_KEYED_MESSAGE(DeleteTopicsResponse)
MR_KEYED_MESSAGE(DeleteRecordsRequest)
MR_KEYED_MESSAGE(DeleteRecordsResponse)
MR_KEYED_MESSAGE(InitProducerIdRequest)
MR_KEYED_MESSAGE(InitProducerIdResponse)
MR_KEYED_MESSAGE(OffsetForLeaderEpochRequest)
MR_KEYED_MESSAGE(OffsetForLeaderEpochResponse)
MR_KEYED_MESSAGE(AddPartitionsToTxnRequest)
MR_KEYED_MESSAGE(AddPartitionsToTxnResponse)
MR_KEYED_MESSAGE(AddOffsetsToTxnRequest)
MR_KEYED_MESSAGE(AddOffsetsToTxnResponse)
MR_KEYED_MESSAGE(EndTxnRequest)
MR_KEYED_MESSAGE(EndTxnResponse)
MR_KEYED_MESSAGE(WriteTxnMarkersRequest)
MR_KEYED_MESSAGE(WriteTxnMarkersResponse)
MR_KEYED_MESSAGE(TxnOffsetCommitRequest)
MR_KEYED_MESSAGE(TxnOffsetCommitResponse)
MR_KEYED_MESSAGE(DescribeAclsRequest)
MR_KEYED_MESSAGE(DescribeAclsResponse)
MR_KEYED_MESSAGE(CreateAclsRequest)
MR_KEYED_MESSAGE(CreateAclsResponse)
MR_KEYED_MESSAGE(DeleteAclsRequest)
MR_KEYED_MESSAGE(DeleteAclsResponse)
MR_KEYED_MESSAGE(DescribeConfigsRequest)
MR_KEYED_MESSAGE(DescribeConfigsResponse)
MR_KEYED_MESSAGE(AlterConfigsRequest)
MR_KEYED_MESSAGE(AlterConfigsResponse)
MR_KEYED_MESSAGE(AlterReplicaLogDirsRequest)
MR_KEYED_MESSAGE(AlterReplicaLogDirsResponse)

}  // namespace millrace::protocol
