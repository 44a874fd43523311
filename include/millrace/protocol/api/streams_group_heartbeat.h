#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct StreamsGroupHeartbeatRequest {
  static constexpr ApiKey kKey = ApiKey::streams_group_heartbeat;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct KeyValue {
    Str key;
    Str value;
    static void describe(auto& m, auto& v) {
      v(m.key, {"Key", since(0)});
      v(m.value, {"Value", since(0)});
    }
  };

  struct TopicInfo {
    Str name;
    int32_t partitions{};
    int16_t replication_factor{};
    Array<KeyValue> topic_configs;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
      v(m.replication_factor, {"ReplicationFactor", since(0)});
      v(m.topic_configs, {"TopicConfigs", since(0)});
    }
  };

  struct CopartitionGroup {
    Array<int16_t> source_topics;
    Array<int16_t> source_topic_regex;
    Array<int16_t> repartition_source_topics;
    static void describe(auto& m, auto& v) {
      v(m.source_topics, {"SourceTopics", since(0)});
      v(m.source_topic_regex, {"SourceTopicRegex", since(0)});
      v(m.repartition_source_topics, {"RepartitionSourceTopics", since(0)});
    }
  };

  struct Subtopology {
    Str subtopology_id;
    Array<Str> source_topics;
    Array<Str> source_topic_regex;
    Array<TopicInfo> state_changelog_topics;
    Array<Str> repartition_sink_topics;
    Array<TopicInfo> repartition_source_topics;
    Array<CopartitionGroup> copartition_groups;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.source_topics, {"SourceTopics", since(0)});
      v(m.source_topic_regex, {"SourceTopicRegex", since(0)});
      v(m.state_changelog_topics, {"StateChangelogTopics", since(0)});
      v(m.repartition_sink_topics, {"RepartitionSinkTopics", since(0)});
      v(m.repartition_source_topics, {"RepartitionSourceTopics", since(0)});
      v(m.copartition_groups, {"CopartitionGroups", since(0)});
    }
  };

  struct Topology {
    int32_t epoch{};
    Array<Subtopology> subtopologies;
    static void describe(auto& m, auto& v) {
      v(m.epoch, {"Epoch", since(0)});
      v(m.subtopologies, {"Subtopologies", since(0)});
    }
  };

  struct TaskIds {
    Str subtopology_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct Endpoint {
    Str host;
    uint16_t port{};
    static void describe(auto& m, auto& v) {
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
    }
  };

  struct TaskOffset {
    Str subtopology_id;
    int32_t partition{};
    int64_t offset{};
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.partition, {"Partition", since(0)});
      v(m.offset, {"Offset", since(0)});
    }
  };

  Str group_id;
  Str member_id;
  int32_t member_epoch{};
  int32_t endpoint_information_epoch{};
  std::optional<Str> instance_id;
  std::optional<Str> rack_id;
  int32_t rebalance_timeout_ms = -1;
  std::optional<Topology> topology;
  Array<TaskIds> active_tasks = kNullArray;
  Array<TaskIds> standby_tasks = kNullArray;
  Array<TaskIds> warmup_tasks = kNullArray;
  std::optional<Str> process_id;
  std::optional<Endpoint> user_endpoint;
  Array<KeyValue> client_tags = kNullArray;
  Array<TaskOffset> task_offsets = kNullArray;
  Array<TaskOffset> task_end_offsets = kNullArray;
  bool shutdown_application{};
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.endpoint_information_epoch, {"EndpointInformationEpoch", since(0)});
    v(m.instance_id, {"InstanceId", since(0), nullable_since(0)});
    v(m.rack_id, {"RackId", since(0), nullable_since(0)});
    v(m.rebalance_timeout_ms, {"RebalanceTimeoutMs", since(0)});
    v(m.topology, {"Topology", since(0), nullable_since(0)});
    v(m.active_tasks, {"ActiveTasks", since(0), nullable_since(0)});
    v(m.standby_tasks, {"StandbyTasks", since(0), nullable_since(0)});
    v(m.warmup_tasks, {"WarmupTasks", since(0), nullable_since(0)});
    v(m.process_id, {"ProcessId", since(0), nullable_since(0)});
    v(m.user_endpoint, {"UserEndpoint", since(0), nullable_since(0)});
    v(m.client_tags, {"ClientTags", since(0), nullable_since(0)});
    v(m.task_offsets, {"TaskOffsets", since(0), nullable_since(0)});
    v(m.task_end_offsets, {"TaskEndOffsets", since(0), nullable_since(0)});
    v(m.shutdown_application, {"ShutdownApplication", since(0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupHeartbeatResponse {
  static constexpr ApiKey kKey = ApiKey::streams_group_heartbeat;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct Status {
    int8_t status_code{};
    Str status_detail;
    static void describe(auto& m, auto& v) {
      v(m.status_code, {"StatusCode", since(0)});
      v(m.status_detail, {"StatusDetail", since(0)});
    }
  };

  struct TaskIds {
    Str subtopology_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct Endpoint {
    Str host;
    uint16_t port{};
    static void describe(auto& m, auto& v) {
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
    }
  };

  struct TopicPartition {
    Str topic;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct EndpointToPartitions {
    Endpoint user_endpoint;
    Array<TopicPartition> active_partitions;
    Array<TopicPartition> standby_partitions;
    static void describe(auto& m, auto& v) {
      v(m.user_endpoint, {"UserEndpoint", since(0)});
      v(m.active_partitions, {"ActivePartitions", since(0)});
      v(m.standby_partitions, {"StandbyPartitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message;
  Str member_id;
  int32_t member_epoch{};
  int32_t heartbeat_interval_ms{};
  int32_t acceptable_recovery_lag_legacy{};
  int32_t task_offset_interval_ms{};
  int64_t acceptable_recovery_lag = -1;
  Array<Status> status;
  Array<TaskIds> active_tasks = kNullArray;
  Array<TaskIds> standby_tasks = kNullArray;
  Array<TaskIds> warmup_tasks = kNullArray;
  bool topology_description_required{};
  int32_t endpoint_information_epoch{};
  Array<EndpointToPartitions> partitions_by_user_endpoint = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.heartbeat_interval_ms, {"HeartbeatIntervalMs", since(0)});
    v(m.acceptable_recovery_lag_legacy, {"AcceptableRecoveryLagLegacy", between(0, 0)});
    v(m.task_offset_interval_ms, {"TaskOffsetIntervalMs", since(0)});
    v(m.acceptable_recovery_lag, {"AcceptableRecoveryLag", since(1), kIgnorable});
    v(m.status, {"Status", since(0), nullable_since(0)});
    v(m.active_tasks, {"ActiveTasks", since(0), nullable_since(0)});
    v(m.standby_tasks, {"StandbyTasks", since(0), nullable_since(0)});
    v(m.warmup_tasks, {"WarmupTasks", since(0), nullable_since(0)});
    v(m.topology_description_required, {"TopologyDescriptionRequired", since(1)});
    v(m.endpoint_information_epoch, {"EndpointInformationEpoch", since(0)});
    v(m.partitions_by_user_endpoint, {"PartitionsByUserEndpoint", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
