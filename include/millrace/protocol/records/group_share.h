// Records of __consumer_offsets: share groups.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct ShareGroupMemberMetadataKey {
  static constexpr int16_t kKey = 10;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ShareGroupMemberMetadataValue {
  static constexpr int16_t kKey = 10;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  std::optional<Str> rack_id = "";
  Str client_id;
  Str client_host;
  Array<Str> subscribed_topic_names;
  static void describe(auto& m, auto& v) {
    v(m.rack_id, {"RackId", since(0), nullable_since(0)});
    v(m.client_id, {"ClientId", since(0)});
    v(m.client_host, {"ClientHost", since(0)});
    v(m.subscribed_topic_names, {"SubscribedTopicNames", since(0)});
  }
  static MessageTable const& table();
};

struct ShareGroupMetadataKey {
  static constexpr int16_t kKey = 11;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct ShareGroupMetadataValue {
  static constexpr int16_t kKey = 11;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t epoch{};
  int64_t metadata_hash{};
  static void describe(auto& m, auto& v) {
    v(m.epoch, {"Epoch", since(0)});
    v(m.metadata_hash, {"MetadataHash", since(0)});
  }
  static MessageTable const& table();
};

struct ShareGroupTargetAssignmentMetadataKey {
  static constexpr int16_t kKey = 12;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct ShareGroupTargetAssignmentMetadataValue {
  static constexpr int16_t kKey = 12;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t assignment_epoch{};
  int64_t assignment_timestamp{};
  static void describe(auto& m, auto& v) {
    v(m.assignment_epoch, {"AssignmentEpoch", since(0)});
    v(m.assignment_timestamp, {"AssignmentTimestamp", since(0), tagged_since(0, 0), kIgnorable});
  }
  static MessageTable const& table();
};

struct ShareGroupTargetAssignmentMemberKey {
  static constexpr int16_t kKey = 13;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ShareGroupTargetAssignmentMemberValue {
  static constexpr int16_t kKey = 13;
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

struct ShareGroupCurrentMemberAssignmentKey {
  static constexpr int16_t kKey = 14;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Str member_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.member_id, {"MemberId", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ShareGroupCurrentMemberAssignmentValue {
  static constexpr int16_t kKey = 14;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicPartitions {
    Uuid topic_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t member_epoch{};
  int32_t previous_member_epoch{};
  int8_t state{};
  Array<TopicPartitions> assigned_partitions;
  static void describe(auto& m, auto& v) {
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.previous_member_epoch, {"PreviousMemberEpoch", since(0)});
    v(m.state, {"State", since(0)});
    v(m.assigned_partitions, {"AssignedPartitions", since(0)});
  }
  static MessageTable const& table();
};

struct ShareGroupStatePartitionMetadataKey {
  static constexpr int16_t kKey = 15;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  static void describe(auto& m, auto& v) { v(m.group_id, {"GroupId", between(0, 0)}); }
  static MessageTable const& table();
};

struct ShareGroupStatePartitionMetadataValue {
  static constexpr int16_t kKey = 15;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicPartitionsInfo {
    Uuid topic_id;
    Str topic_name;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct TopicInfo {
    Uuid topic_id;
    Str topic_name;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.topic_name, {"TopicName", since(0)});
    }
  };

  Array<TopicPartitionsInfo> initializing_topics;
  Array<TopicPartitionsInfo> initialized_topics;
  Array<TopicInfo> deleting_topics;
  static void describe(auto& m, auto& v) {
    v(m.initializing_topics, {"InitializingTopics", since(0)});
    v(m.initialized_topics, {"InitializedTopics", since(0)});
    v(m.deleting_topics, {"DeletingTopics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
