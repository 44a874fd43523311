// Records of __consumer_offsets: streams groups.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct StreamsGroupMetadataKey {
  static constexpr int16_t kKey = 17;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct StreamsGroupMetadataValue {
  static constexpr int16_t kKey = 17;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct LastAssignmentConfig {
    Str key;
    Str value;
    static void describe(auto& m, auto& v) {
      v(m.key, {"Key", since(0)});
      v(m.value, {"Value", since(0)});
    }
  };

  int32_t epoch{};
  int64_t metadata_hash{};
  int32_t validated_topology_epoch = -1;
  Array<LastAssignmentConfig> last_assignment_configs;
  int32_t stored_description_topology_epoch = -1;
  int32_t failed_description_topology_epoch = -1;
  static void describe(auto& m, auto& v) {
    v(m.epoch, {"Epoch", since(0)});
    v(m.metadata_hash, {"MetadataHash", since(0)});
    v(m.validated_topology_epoch, {"ValidatedTopologyEpoch", since(0), tagged_since(0, 0)});
    v(m.last_assignment_configs, {"LastAssignmentConfigs", since(0), nullable_since(0), tagged_since(0, 1)});
    v(m.stored_description_topology_epoch, {"StoredDescriptionTopologyEpoch", since(0), tagged_since(0, 2)});
    v(m.failed_description_topology_epoch, {"FailedDescriptionTopologyEpoch", since(0), tagged_since(0, 3)});
  }
  static MessageTable const& table();
};

struct StreamsGroupMemberMetadataKey {
  static constexpr int16_t kKey = 19;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupMemberMetadataValue {
  static constexpr int16_t kKey = 19;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct Endpoint {
    Str host;
    uint16_t port{};
    static void describe(auto& m, auto& v) {
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
    }
  };

  struct KeyValue {
    Str key;
    Str value;
    static void describe(auto& m, auto& v) {
      v(m.key, {"Key", since(0)});
      v(m.value, {"Value", since(0)});
    }
  };

  std::optional<Str> instance_id = "";
  std::optional<Str> rack_id = "";
  Str client_id;
  Str client_host;
  int32_t rebalance_timeout_ms = -1;
  int32_t topology_epoch{};
  Str process_id;
  std::optional<Endpoint> user_endpoint;
  Array<KeyValue> client_tags;
  static void describe(auto& m, auto& v) {
    v(m.instance_id, {"InstanceId", since(0), nullable_since(0)});
    v(m.rack_id, {"RackId", since(0), nullable_since(0)});
    v(m.client_id, {"ClientId", since(0)});
    v(m.client_host, {"ClientHost", since(0)});
    v(m.rebalance_timeout_ms, {"RebalanceTimeoutMs", since(0)});
    v(m.topology_epoch, {"TopologyEpoch", since(0)});
    v(m.process_id, {"ProcessId", since(0)});
    v(m.user_endpoint, {"UserEndpoint", since(0), nullable_since(0)});
    v(m.client_tags, {"ClientTags", since(0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupTargetAssignmentMetadataKey {
  static constexpr int16_t kKey = 20;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct StreamsGroupTargetAssignmentMetadataValue {
  static constexpr int16_t kKey = 20;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t assignment_epoch{};
  int64_t assignment_timestamp{};
  static void describe(auto& m, auto& v) {
    v(m.assignment_epoch, {"AssignmentEpoch", since(0)});
    v(m.assignment_timestamp, {"AssignmentTimestamp", since(0), tagged_since(0, 0), kIgnorable});
  }
  static MessageTable const& table();
};

struct StreamsGroupTargetAssignmentMemberKey {
  static constexpr int16_t kKey = 21;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupTargetAssignmentMemberValue {
  static constexpr int16_t kKey = 21;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TaskIds {
    Str subtopology_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<TaskIds> active_tasks;
  Array<TaskIds> standby_tasks;
  Array<TaskIds> warmup_tasks;
  static void describe(auto& m, auto& v) {
    v(m.active_tasks, {"ActiveTasks", since(0)});
    v(m.standby_tasks, {"StandbyTasks", since(0)});
    v(m.warmup_tasks, {"WarmupTasks", since(0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupCurrentMemberAssignmentKey {
  static constexpr int16_t kKey = 22;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupCurrentMemberAssignmentValue {
  static constexpr int16_t kKey = 22;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TaskIds {
    Str subtopology_id;
    Array<int32_t> partitions;
    Array<int32_t> assignment_epochs;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
      v(m.assignment_epochs, {"AssignmentEpochs", since(0), nullable_since(0), tagged_since(0, 0)});
    }
  };

  int32_t member_epoch{};
  int32_t previous_member_epoch{};
  int8_t state{};
  Array<TaskIds> active_tasks;
  Array<TaskIds> standby_tasks;
  Array<TaskIds> warmup_tasks;
  Array<TaskIds> active_tasks_pending_revocation;
  Array<TaskIds> standby_tasks_pending_revocation;
  Array<TaskIds> warmup_tasks_pending_revocation;
  static void describe(auto& m, auto& v) {
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.previous_member_epoch, {"PreviousMemberEpoch", since(0)});
    v(m.state, {"State", since(0)});
    v(m.active_tasks, {"ActiveTasks", since(0)});
    v(m.standby_tasks, {"StandbyTasks", since(0)});
    v(m.warmup_tasks, {"WarmupTasks", since(0)});
    v(m.active_tasks_pending_revocation, {"ActiveTasksPendingRevocation", since(0)});
    v(m.standby_tasks_pending_revocation, {"StandbyTasksPendingRevocation", since(0)});
    v(m.warmup_tasks_pending_revocation, {"WarmupTasksPendingRevocation", since(0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupTopologyKey {
  static constexpr int16_t kKey = 23;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct StreamsGroupTopologyValue {
  static constexpr int16_t kKey = 23;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicConfig {
    Str key;
    Str value;
    static void describe(auto& m, auto& v) {
      v(m.key, {"key", since(0)});
      v(m.value, {"value", since(0)});
    }
  };

  struct TopicInfo {
    Str name;
    int32_t partitions{};
    int16_t replication_factor{};
    Array<TopicConfig> topic_configs;
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

  int32_t epoch{};
  Array<Subtopology> subtopologies;
  static void describe(auto& m, auto& v) {
    v(m.epoch, {"Epoch", since(0)});
    v(m.subtopologies, {"Subtopologies", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
