#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct StreamsGroupTopologyDescriptionUpdateRequest {
  static constexpr ApiKey kKey = ApiKey::streams_group_topology_description_update;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopologyDescriptionNode {
    Str name;
    int8_t node_type{};
    Array<Str> source_topics;
    std::optional<Str> sink_topic;
    Array<Str> stores;
    Array<Str> successors;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.node_type, {"NodeType", since(0)});
      v(m.source_topics, {"SourceTopics", since(0)});
      v(m.sink_topic, {"SinkTopic", since(0), nullable_since(0)});
      v(m.stores, {"Stores", since(0)});
      v(m.successors, {"Successors", since(0)});
    }
  };

  struct TopologyDescriptionSubtopology {
    Str subtopology_id;
    Array<TopologyDescriptionNode> nodes;
    static void describe(auto& m, auto& v) {
      v(m.subtopology_id, {"SubtopologyId", since(0)});
      v(m.nodes, {"Nodes", since(0)});
    }
  };

  struct TopologyDescriptionGlobalStore {
    TopologyDescriptionNode source;
    TopologyDescriptionNode processor;
    static void describe(auto& m, auto& v) {
      v(m.source, {"Source", since(0)});
      v(m.processor, {"Processor", since(0)});
    }
  };

  struct TopologyDescription {
    Array<TopologyDescriptionSubtopology> subtopologies;
    Array<TopologyDescriptionGlobalStore> global_stores;
    static void describe(auto& m, auto& v) {
      v(m.subtopologies, {"Subtopologies", since(0)});
      v(m.global_stores, {"GlobalStores", since(0)});
    }
  };

  Str group_id;
  Str member_id;
  int32_t topology_epoch{};
  TopologyDescription topology_description;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.topology_epoch, {"TopologyEpoch", since(0)});
    v(m.topology_description, {"TopologyDescription", since(0)});
  }
  static MessageTable const& table();
};

struct StreamsGroupTopologyDescriptionUpdateResponse {
  static constexpr ApiKey kKey = ApiKey::streams_group_topology_description_update;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
