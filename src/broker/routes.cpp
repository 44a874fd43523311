// What this broker serves. A new API: a handler file, a line here, a test.
#include "handlers.h"
#include "millrace/broker/routing.h"

namespace millrace::broker {
namespace {

constexpr Route kRoutes[] = {
    {ApiKey::produce, handle_produce},
    {ApiKey::fetch, handle_fetch},
    {ApiKey::list_offsets, handle_list_offsets},
    {ApiKey::metadata, handle_metadata},
    {ApiKey::offset_commit, handle_offset_commit},
    {ApiKey::offset_fetch, handle_offset_fetch},
    {ApiKey::find_coordinator, handle_find_coordinator},
    {ApiKey::join_group, handle_join_group},
    {ApiKey::heartbeat, handle_heartbeat},
    {ApiKey::leave_group, handle_leave_group},
    {ApiKey::sync_group, handle_sync_group},
    {ApiKey::describe_groups, handle_describe_groups},
    {ApiKey::list_groups, handle_list_groups},
    {ApiKey::sasl_handshake, handle_sasl_handshake},
    {ApiKey::api_versions, handle_api_versions},
    {ApiKey::create_topics, handle_create_topics},
    {ApiKey::delete_topics, handle_delete_topics},
    {ApiKey::delete_records, handle_delete_records},
    {ApiKey::init_producer_id, handle_init_producer_id},
    {ApiKey::offset_for_leader_epoch, handle_offset_for_leader_epoch},
    {ApiKey::describe_acls, handle_describe_acls},
    {ApiKey::create_acls, handle_create_acls},
    {ApiKey::delete_acls, handle_delete_acls},
    {ApiKey::describe_configs, handle_describe_configs},
    {ApiKey::alter_configs, handle_alter_configs},
    {ApiKey::alter_replica_log_dirs, handle_alter_replica_log_dirs},
    {ApiKey::describe_log_dirs, handle_describe_log_dirs},
    {ApiKey::sasl_authenticate, handle_sasl_authenticate},
    {ApiKey::create_partitions, handle_create_partitions},
    {ApiKey::create_delegation_token, handle_create_delegation_token},
    {ApiKey::renew_delegation_token, handle_renew_delegation_token},
    {ApiKey::expire_delegation_token, handle_expire_delegation_token},
    {ApiKey::describe_delegation_token, handle_describe_delegation_token},
    {ApiKey::delete_groups, handle_delete_groups},
    {ApiKey::elect_leaders, handle_elect_leaders},
    {ApiKey::incremental_alter_configs, handle_incremental_alter_configs},
    {ApiKey::alter_partition_reassignments, handle_alter_partition_reassignments},
    {ApiKey::list_partition_reassignments, handle_list_partition_reassignments},
    {ApiKey::offset_delete, handle_offset_delete},
    {ApiKey::describe_client_quotas, handle_describe_client_quotas},
    {ApiKey::alter_client_quotas, handle_alter_client_quotas},
    {ApiKey::describe_user_scram_credentials, handle_describe_user_scram_credentials},
    {ApiKey::alter_user_scram_credentials, handle_alter_user_scram_credentials},
    {ApiKey::vote, handle_vote},
    {ApiKey::begin_quorum_epoch, handle_begin_quorum_epoch},
    {ApiKey::end_quorum_epoch, handle_end_quorum_epoch},
    {ApiKey::describe_quorum, handle_describe_quorum},
    {ApiKey::alter_partition, handle_alter_partition},
    {ApiKey::update_features, handle_update_features},
    {ApiKey::envelope, handle_envelope},
    {ApiKey::fetch_snapshot, handle_fetch_snapshot},
    {ApiKey::describe_cluster, handle_describe_cluster},
    {ApiKey::describe_producers, handle_describe_producers},
    {ApiKey::broker_registration, handle_broker_registration},
    {ApiKey::broker_heartbeat, handle_broker_heartbeat},
    {ApiKey::unregister_broker, handle_unregister_broker},
    {ApiKey::allocate_producer_ids, handle_allocate_producer_ids},
    {ApiKey::controller_registration, handle_controller_registration},
    // Without a receiver of metrics Kafka answers, but offers it to nobody.
    {.key = ApiKey::get_telemetry_subscriptions, .handle = handle_get_telemetry_subscriptions, .is_advertised = false},
    {.key = ApiKey::push_telemetry, .handle = handle_push_telemetry, .is_advertised = false},
    {ApiKey::list_config_resources, handle_list_config_resources},
    {ApiKey::describe_topic_partitions, handle_describe_topic_partitions},
    {ApiKey::assign_replicas_to_dirs, handle_assign_replicas_to_dirs},
    {ApiKey::add_raft_voter, handle_add_raft_voter},
    {ApiKey::remove_raft_voter, handle_remove_raft_voter},
    {ApiKey::update_raft_voter, handle_update_raft_voter},
    {ApiKey::unregister_controller, handle_unregister_controller},
};

}  // namespace

RoutingTable::RoutingTable(std::span<Route const> routes) : routes_(routes) {
  for (auto const& route : routes) {
    auto const key = static_cast<int16_t>(route.key);
    MR_ASSERT(key >= 0 && key <= kApiKeyMax);
    MR_ASSERT(by_key_[static_cast<size_t>(key)] == nullptr);
    by_key_[static_cast<size_t>(key)] = &route;
  }
}

Route const* RoutingTable::find(int16_t api_key, ListenerKind kind) const {
  if (api_key < 0 || api_key > kApiKeyMax) return nullptr;
  auto const* route = by_key_[static_cast<size_t>(api_key)];
  if (route == nullptr || (route->except_on & static_cast<uint8_t>(kind)) != 0) return nullptr;
  auto const& info = protocol::api_info(route->key);
  return (kind == ListenerKind::controller ? info.on_controller_listener : info.on_broker_listener) ? route : nullptr;
}

RoutingTable const& RoutingTable::product() {
  static RoutingTable const table(kRoutes);  // immutable
  return table;
}

}  // namespace millrace::broker
