#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct StreamsGroupDescribeRequest {
  static constexpr ApiKey kKey = ApiKey::streams_group_describe;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  Array<Str> group_ids;
  bool include_authorized_operations{};
  bool include_topology_description{};
  static void describe(auto& m, auto& v) {
    v(m.group_ids, {"GroupIds", since(0)});
    v(m.include_authorized_operations, {"IncludeAuthorizedOperations", since(0)});
    v(m.include_topology_description, {"IncludeTopologyDescription", since(1)});
  }
  static MessageTable const& table();
};

struct StreamsGroupDescribeResponse {
  static constexpr ApiKey kKey = ApiKey::streams_group_describe;
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

  struct Subtopology {
    Str subtopology_id;
    Array<Str> source_topics;
    Array<Str> repartition_sink_topics;
    Array<TopicInfo> state_changelog_topics;
    Array<TopicInfo> repartition_source_topics;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.source_topics, {"SourceTopics", since(0)});
      v(m.repartition_sink_topics, {"RepartitionSinkTopics", since(0)});
      v(m.state_changelog_topics, {"StateChangelogTopics", since(0)});
      v(m.repartition_source_topics, {"RepartitionSourceTopics", since(0)});
    }
  };

  struct Topology {
    int32_t epoch{};
    Array<Subtopology> subtopologies = kNullArray;
    static void describe(auto& m, auto& v) {
      v(m.epoch, {"Epoch", since(0)});
      v(m.subtopologies, {"Subtopologies", since(0), nullable_since(0)});
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

  struct TaskIds {
    Str subtopology_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct Assignment {
    Array<TaskIds> active_tasks;
    Array<TaskIds> standby_tasks;
    Array<TaskIds> warmup_tasks;
    static void describe(auto& m, auto& v) {
      v(m.active_tasks, {"ActiveTasks", since(0)});
      v(m.standby_tasks, {"StandbyTasks", since(0)});
      v(m.warmup_tasks, {"WarmupTasks", since(0)});
    }
  };

  struct Member {
    Str member_id;
    int32_t member_epoch{};
    std::optional<Str> instance_id;
    std::optional<Str> rack_id;
    Str client_id;
    Str client_host;
    int32_t topology_epoch{};
    Str process_id;
    std::optional<Endpoint> user_endpoint;
    Array<KeyValue> client_tags;
    Array<TaskOffset> task_offsets;
    Array<TaskOffset> task_end_offsets;
    Assignment assignment;
    Assignment target_assignment;
    bool is_classic{};
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"MemberId", since(0)});
      v(m.member_epoch, {"MemberEpoch", since(0)});
      v(m.instance_id, {"InstanceId", since(0), nullable_since(0)});
      v(m.rack_id, {"RackId", since(0), nullable_since(0)});
      v(m.client_id, {"ClientId", since(0)});
      v(m.client_host, {"ClientHost", since(0)});
      v(m.topology_epoch, {"TopologyEpoch", since(0)});
      v(m.process_id, {"ProcessId", since(0)});
      v(m.user_endpoint, {"UserEndpoint", since(0), nullable_since(0)});
      v(m.client_tags, {"ClientTags", since(0)});
      v(m.task_offsets, {"TaskOffsets", since(0)});
      v(m.task_end_offsets, {"TaskEndOffsets", since(0)});
      v(m.assignment, {"Assignment", since(0)});
      v(m.target_assignment, {"TargetAssignment", since(0)});
      v(m.is_classic, {"IsClassic", since(0)});
    }
  };

  struct TopologyDescriptionNode {
    Str name;
    int8_t node_type{};
    Array<Str> source_topics;
    std::optional<Str> sink_topic;
    Array<Str> stores;
    Array<Str> successors;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(1)});
      v(m.node_type, {"NodeType", since(1)});
      v(m.source_topics, {"SourceTopics", since(1)});
      v(m.sink_topic, {"SinkTopic", since(1), nullable_since(1)});
      v(m.stores, {"Stores", since(1)});
      v(m.successors, {"Successors", since(1)});
    }
  };

  struct TopologyDescriptionSubtopology {
    Str subtopology_id;
    Array<TopologyDescriptionNode> nodes;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(1)});
      v(m.nodes, {"Nodes", since(1)});
    }
  };

  struct TopologyDescriptionGlobalStore {
    TopologyDescriptionNode source;
    TopologyDescriptionNode processor;
    static void describe(auto& m, auto& v) {
      v(m.source, {"Source", since(1)});
      v(m.processor, {"Processor", since(1)});
    }
  };

  struct TopologyDescription {
    Array<TopologyDescriptionSubtopology> subtopologies;
    Array<TopologyDescriptionGlobalStore> global_stores;
    static void describe(auto& m, auto& v) {
      v(m.subtopologies, {"Subtopologies", since(1)});
      v(m.global_stores, {"GlobalStores", since(1)});
    }
  };

  struct DescribedGroup {
    ErrorCode error_code{};
    std::optional<Str> error_message;
    Str group_id;
    Str group_state;
    int32_t group_epoch{};
    int32_t assignment_epoch{};
    std::optional<Topology> topology;
    Array<Member> members;
    int32_t authorized_operations = INT32_MIN;
    std::optional<TopologyDescription> topology_description;
    int8_t topology_description_status{};
    std::optional<Str> assignor_name;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.group_id, {"GroupId", since(0)});
      v(m.group_state, {"GroupState", since(0)});
      v(m.group_epoch, {"GroupEpoch", since(0)});
      v(m.assignment_epoch, {"AssignmentEpoch", since(0)});
      v(m.topology, {"Topology", since(0), nullable_since(0)});
      v(m.members, {"Members", since(0)});
      v(m.authorized_operations, {"AuthorizedOperations", since(0)});
      v(m.topology_description, {"TopologyDescription", since(1), nullable_since(1)});
      v(m.topology_description_status, {"TopologyDescriptionStatus", since(1)});
      v(m.assignor_name, {"AssignorName", since(1), nullable_since(1), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  Array<DescribedGroup> groups;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.groups, {"Groups", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
