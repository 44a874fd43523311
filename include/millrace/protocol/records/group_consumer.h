// Records of __consumer_offsets: consumer groups (the newer protocol).
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct ConsumerGroupMetadataKey {
  static constexpr int16_t kKey = 3;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct ConsumerGroupMetadataValue {
  static constexpr int16_t kKey = 3;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t epoch{};
  int64_t metadata_hash{};
  static void describe(auto& m, auto& v) {
    v(m.epoch, {"Epoch", since(0)});
    v(m.metadata_hash, {"MetadataHash", since(0), tagged_since(0, 0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupPartitionMetadataKey {
  static constexpr int16_t kKey = 4;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct ConsumerGroupPartitionMetadataValue {
  static constexpr int16_t kKey = 4;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct PartitionMetadata {
    int32_t partition{};
    Array<Str> racks;
    static void describe(auto& m, auto& v) {
      v(m.partition, {"Partition", since(0)});
      v(m.racks, {"Racks", since(0)});
    }
  };

  struct TopicMetadata {
    Uuid topic_id;
    Str topic_name;
    int32_t num_partitions{};
    Array<PartitionMetadata> partition_metadata;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.topic_name, {"TopicName", since(0)});
      v(m.num_partitions, {"NumPartitions", since(0)});
      v(m.partition_metadata, {"PartitionMetadata", since(0)});
    }
  };

  Array<TopicMetadata> topics;
  static void describe(auto& m, auto& v) { v(m.topics, {"Topics", since(0)}); }
  static MessageTable const& table();
};

struct ConsumerGroupMemberMetadataKey {
  static constexpr int16_t kKey = 5;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupMemberMetadataValue {
  static constexpr int16_t kKey = 5;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct ClassicProtocol {
    Str name;
    ByteView metadata;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.metadata, {"Metadata", since(0)});
    }
  };

  struct ClassicMemberMetadata {
    int32_t session_timeout_ms{};
    Array<ClassicProtocol> supported_protocols;
    static void describe(auto& m, auto& v) {
      v(m.session_timeout_ms, {"SessionTimeoutMs", since(0)});
      v(m.supported_protocols, {"SupportedProtocols", since(0)});
    }
  };

  std::optional<Str> instance_id = "";
  std::optional<Str> rack_id = "";
  Str client_id;
  Str client_host;
  Array<Str> subscribed_topic_names;
  std::optional<Str> subscribed_topic_regex = "";
  int32_t rebalance_timeout_ms = -1;
  std::optional<Str> server_assignor = "";
  std::optional<ClassicMemberMetadata> classic_member_metadata = ClassicMemberMetadata{};
  static void describe(auto& m, auto& v) {
    v(m.instance_id, {"InstanceId", since(0), nullable_since(0)});
    v(m.rack_id, {"RackId", since(0), nullable_since(0)});
    v(m.client_id, {"ClientId", since(0)});
    v(m.client_host, {"ClientHost", since(0)});
    v(m.subscribed_topic_names, {"SubscribedTopicNames", since(0)});
    v(m.subscribed_topic_regex, {"SubscribedTopicRegex", since(0), nullable_since(0)});
    v(m.rebalance_timeout_ms, {"RebalanceTimeoutMs", since(0)});
    v(m.server_assignor, {"ServerAssignor", since(0), nullable_since(0)});
    v(m.classic_member_metadata, {"ClassicMemberMetadata", since(0), nullable_since(0), tagged_since(0, 0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupTargetAssignmentMetadataKey {
  static constexpr int16_t kKey = 6;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct ConsumerGroupTargetAssignmentMetadataValue {
  static constexpr int16_t kKey = 6;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t assignment_epoch{};
  int64_t assignment_timestamp{};
  static void describe(auto& m, auto& v) {
    v(m.assignment_epoch, {"AssignmentEpoch", since(0)});
    v(m.assignment_timestamp, {"AssignmentTimestamp", since(0), tagged_since(0, 0), kIgnorable});
  }
  static MessageTable const& table();
};

struct ConsumerGroupTargetAssignmentMemberKey {
  static constexpr int16_t kKey = 7;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupTargetAssignmentMemberValue {
  static constexpr int16_t kKey = 7;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicPartition {
    Uuid topic_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<TopicPartition> topic_partitions;
  static void describe(auto& m, auto& v) { v(m.topic_partitions, {"TopicPartitions", since(0)}); }
  static MessageTable const& table();
};

struct ConsumerGroupCurrentMemberAssignmentKey {
  static constexpr int16_t kKey = 8;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupCurrentMemberAssignmentValue {
  static constexpr int16_t kKey = 8;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicPartitions {
    Uuid topic_id;
    Array<int32_t> partitions;
    Array<int32_t> assignment_epochs;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
      v(m.assignment_epochs, {"AssignmentEpochs", since(0), nullable_since(0), tagged_since(0, 0)});
    }
  };

  int32_t member_epoch{};
  int32_t previous_member_epoch{};
  int8_t state{};
  Array<TopicPartitions> assigned_partitions;
  Array<TopicPartitions> partitions_pending_revocation;
  static void describe(auto& m, auto& v) {
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.previous_member_epoch, {"PreviousMemberEpoch", since(0)});
    v(m.state, {"State", since(0)});
    v(m.assigned_partitions, {"AssignedPartitions", since(0)});
    v(m.partitions_pending_revocation, {"PartitionsPendingRevocation", since(0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupRegularExpressionKey {
  static constexpr int16_t kKey = 16;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str regular_expression;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.regular_expression, {"RegularExpression", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupRegularExpressionValue {
  static constexpr int16_t kKey = 16;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Array<Str> topics;
  int64_t version{};
  int64_t timestamp{};
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(0)});
    v(m.version, {"Version", since(0)});
    v(m.timestamp, {"Timestamp", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
