#include "build_table.h"
#include "millrace/protocol/api/add_raft_voter.h"
#include "millrace/protocol/api/allocate_producer_ids.h"
#include "millrace/protocol/api/alter_share_group_offsets.h"
#include "millrace/protocol/api/assign_replicas_to_dirs.h"
#include "millrace/protocol/api/consumer_group_describe.h"
#include "millrace/protocol/api/consumer_group_heartbeat.h"
#include "millrace/protocol/api/controller_registration.h"
#include "millrace/protocol/api/delete_share_group_offsets.h"
#include "millrace/protocol/api/delete_share_group_state.h"
#include "millrace/protocol/api/describe_share_group_offsets.h"
#include "millrace/protocol/api/describe_topic_partitions.h"
#include "millrace/protocol/api/get_telemetry_subscriptions.h"
#include "millrace/protocol/api/initialize_share_group_state.h"
#include "millrace/protocol/api/list_config_resources.h"
#include "millrace/protocol/api/list_transactions.h"
#include "millrace/protocol/api/push_telemetry.h"
#include "millrace/protocol/api/read_share_group_state.h"
#include "millrace/protocol/api/read_share_group_state_summary.h"
#include "millrace/protocol/api/remove_raft_voter.h"
#include "millrace/protocol/api/share_acknowledge.h"
#include "millrace/protocol/api/share_fetch.h"
#include "millrace/protocol/api/share_group_describe.h"
#include "millrace/protocol/api/share_group_heartbeat.h"
#include "millrace/protocol/api/streams_group_describe.h"
#include "millrace/protocol/api/streams_group_heartbeat.h"
#include "millrace/protocol/api/streams_group_topology_description_update.h"
#include "millrace/protocol/api/unregister_controller.h"
#include "millrace/protocol/api/update_raft_voter.h"
#include "millrace/protocol/api/write_share_group_state.h"

namespace millrace::protocol {

MR_KEYED_MESSAGE(ListTransactionsRequest)
MR_KEYED_MESSAGE(ListTransactionsResponse)
MR_KEYED_MESSAGE(AllocateProducerIdsRequest)
MR_KEYED_MESSAGE(AllocateProducerIdsResponse)
MR_KEYED_MESSAGE(ConsumerGroupHeartbeatRequest)
MR_KEYED_MESSAGE(ConsumerGroupHeartbeatResponse)
MR_KEYED_MESSAGE(ConsumerGroupDescribeRequest)
MR_KEYED_MESSAGE(ConsumerGroupDescribeResponse)
MR_KEYED_MESSAGE(ControllerRegistrationRequest)
MR_KEYED_MESSAGE(ControllerRegistrationResponse)
MR_KEYED_MESSAGE(GetTelemetrySubscriptionsRequest)
MR_KEYED_MESSAGE(GetTelemetrySubscriptionsResponse)
MR_KEYED_MESSAGE(PushTelemetryRequest)
MR_KEYED_MESSAGE(PushTelemetryResponse)
MR_KEYED_MESSAGE(AssignReplicasToDirsRequest)
MR_KEYED_MESSAGE(AssignReplicasToDirsResponse)
MR_KEYED_MESSAGE(ListConfigResourcesRequest)
MR_KEYED_MESSAGE(ListConfigResourcesResponse)
MR_KEYED_MESSAGE(DescribeTopicPartitionsRequest)
MR_KEYED_MESSAGE(DescribeTopicPartitionsResponse)
MR_KEYED_MESSAGE(ShareGroupHeartbeatRequest)
MR_KEYED_MESSAGE(ShareGroupHeartbeatResponse)
MR_KEYED_MESSAGE(ShareGroupDescribeRequest)
MR_KEYED_MESSAGE(ShareGroupDescribeResponse)
MR_KEYED_MESSAGE(ShareFetchRequest)
MR_KEYED_MESSAGE(ShareFetchResponse)
MR_KEYED_MESSAGE(ShareAcknowledgeRequest)
MR_KEYED_MESSAGE(ShareAcknowledgeResponse)
MR_KEYED_MESSAGE(AddRaftVoterRequest)
MR_KEYED_MESSAGE(AddRaftVoterResponse)
MR_KEYED_MESSAGE(RemoveRaftVoterRequest)
MR_KEYED_MESSAGE(RemoveRaftVoterResponse)
MR_KEYED_MESSAGE(UpdateRaftVoterRequest)
MR_KEYED_MESSAGE(UpdateRaftVoterResponse)
MR_KEYED_MESSAGE(InitializeShareGroupStateRequest)
MR_KEYED_MESSAGE(InitializeShareGroupStateResponse)
MR_KEYED_MESSAGE(ReadShareGroupStateRequest)
MR_KEYED_MESSAGE(ReadShareGroupStateResponse)
MR_KEYED_MESSAGE(WriteShareGroupStateRequest)
MR_KEYED_MESSAGE(WriteShareGroupStateResponse)
MR_KEYED_MESSAGE(DeleteShareGroupStateRequest)
MR_KEYED_MESSAGE(DeleteShareGroupStateResponse)
MR_KEYED_MESSAGE(ReadShareGroupStateSummaryRequest)
MR_KEYED_MESSAGE(ReadShareGroupStateSummaryResponse)
MR_KEYED_MESSAGE(StreamsGroupHeartbeatRequest)
MR_KEYED_MESSAGE(StreamsGroupHeartbeatResponse)
MR_KEYED_MESSAGE(StreamsGroupDescribeRequest)
MR_KEYED_MESSAGE(StreamsGroupDescribeResponse)
MR_KEYED_MESSAGE(DescribeShareGroupOffsetsRequest)
MR_KEYED_MESSAGE(DescribeShareGroupOffsetsResponse)
MR_KEYED_MESSAGE(AlterShareGroupOffsetsRequest)
MR_KEYED_MESSAGE(AlterShareGroupOffsetsResponse)
MR_KEYED_MESSAGE(DeleteShareGroupOffsetsRequest)
MR_KEYED_MESSAGE(DeleteShareGroupOffsetsResponse)
MR_KEYED_MESSAGE(StreamsGroupTopologyDescriptionUpdateRequest)
MR_KEYED_MESSAGE(StreamsGroupTopologyDescriptionUpdateResponse)
MR_KEYED_MESSAGE(UnregisterControllerRequest)
MR_KEYED_MESSAGE(UnregisterControllerResponse)

}  // namespace millrace::protocol
