// The handlers: one file an API, each named in routes.cpp.
#pragma once
#include "millrace/broker/context.h"

namespace millrace::broker {

void handle_produce(ContextPtr context);
void handle_fetch(ContextPtr context);
void handle_raft_fetch(ContextPtr context);
void handle_fetch_snapshot(ContextPtr context);
void handle_vote(ContextPtr context);
void handle_begin_quorum_epoch(ContextPtr context);
void handle_end_quorum_epoch(ContextPtr context);
void handle_list_offsets(ContextPtr context);
void handle_find_coordinator(ContextPtr context);
void handle_api_versions(ContextPtr context);
void handle_offset_commit(ContextPtr context);
void handle_offset_fetch(ContextPtr context);
void handle_join_group(ContextPtr context);
void handle_heartbeat(ContextPtr context);
void handle_leave_group(ContextPtr context);
void handle_sync_group(ContextPtr context);
void handle_describe_groups(ContextPtr context);
void handle_list_groups(ContextPtr context);
void handle_delete_groups(ContextPtr context);
void handle_offset_delete(ContextPtr context);
void handle_delete_records(ContextPtr context);
void handle_offset_for_leader_epoch(ContextPtr context);
void handle_metadata(ContextPtr context);
void handle_create_topics(ContextPtr context);
void handle_delete_topics(ContextPtr context);
void handle_init_producer_id(ContextPtr context);
void handle_create_partitions(ContextPtr context);
void handle_describe_quorum(ContextPtr context);
void handle_update_features(ContextPtr context);
void handle_describe_cluster(ContextPtr context);
void handle_envelope(ContextPtr context);
void handle_controller_registration(ContextPtr context);
void handle_unregister_controller(ContextPtr context);
void handle_broker_registration(ContextPtr context);
void handle_broker_heartbeat(ContextPtr context);
void handle_unregister_broker(ContextPtr context);
void handle_allocate_producer_ids(ContextPtr context);
void handle_describe_producers(ContextPtr context);
void handle_describe_topic_partitions(ContextPtr context);
void handle_describe_configs(ContextPtr context);
void handle_alter_configs(ContextPtr context);
void handle_incremental_alter_configs(ContextPtr context);
void handle_list_config_resources(ContextPtr context);
void handle_alter_client_quotas(ContextPtr context);
void handle_alter_user_scram_credentials(ContextPtr context);
void handle_describe_client_quotas(ContextPtr context);
void handle_describe_user_scram_credentials(ContextPtr context);
void handle_describe_log_dirs(ContextPtr context);
void handle_alter_replica_log_dirs(ContextPtr context);
void handle_elect_leaders(ContextPtr context);
void handle_alter_partition(ContextPtr context);
void handle_assign_replicas_to_dirs(ContextPtr context);
void handle_alter_partition_reassignments(ContextPtr context);
void handle_list_partition_reassignments(ContextPtr context);
void handle_add_raft_voter(ContextPtr context);
void handle_remove_raft_voter(ContextPtr context);
void handle_update_raft_voter(ContextPtr context);
void handle_describe_acls(ContextPtr context);
void handle_create_acls(ContextPtr context);
void handle_delete_acls(ContextPtr context);
void handle_create_delegation_token(ContextPtr context);
void handle_renew_delegation_token(ContextPtr context);
void handle_expire_delegation_token(ContextPtr context);
void handle_describe_delegation_token(ContextPtr context);
void handle_sasl_handshake(ContextPtr context);
void handle_sasl_authenticate(ContextPtr context);
void handle_get_telemetry_subscriptions(ContextPtr context);
void handle_push_telemetry(ContextPtr context);

}  // namespace millrace::broker
