// Records of __consumer_offsets: committed offsets and classic groups. A key and its value share kKey, the number
// before the key.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct LegacyOffsetCommitKey {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group;
  Str topic;
  int32_t partition{};
  static void describe(auto& m, auto& v) {
    v(m.group, {"group", between(0, 0)});
    v(m.topic, {"topic", between(0, 0)});
    v(m.partition, {"partition", between(0, 0)});
  }
  static MessageTable const& table();
};

struct LegacyOffsetCommitValue {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  int64_t offset{};
  Str metadata;
  int64_t commit_timestamp{};
  static void describe(auto& m, auto& v) {
    v(m.offset, {"offset", between(0, 0)});
    v(m.metadata, {"metadata", between(0, 0)});
    v(m.commit_timestamp, {"commitTimestamp", between(0, 0)});
  }
  static MessageTable const& table();
};

struct OffsetCommitKey {
  static constexpr int16_t kKey = 1;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group;
  Str topic;
  int32_t partition{};
  static void describe(auto& m, auto& v) {
    v(m.group, {"group", between(0, 0)});
    v(m.topic, {"topic", between(0, 0)});
    v(m.partition, {"partition", between(0, 0)});
  }
  static MessageTable const& table();
};

struct OffsetCommitValue {
  static constexpr int16_t kKey = 1;
  static constexpr Versions kValid{0, 4}, kFlexible{4, kLatest};

  int64_t offset{};
  int32_t leader_epoch = -1;
  Str metadata;
  int64_t commit_timestamp{};
  int64_t expire_timestamp = -1;
  Uuid topic_id;
  static void describe(auto& m, auto& v) {
    v(m.offset, {"offset", since(0)});
    v(m.leader_epoch, {"leaderEpoch", since(3), kIgnorable});
    v(m.metadata, {"metadata", since(0)});
    v(m.commit_timestamp, {"commitTimestamp", since(0)});
    v(m.expire_timestamp, {"expireTimestamp", between(1, 1), kIgnorable});
    v(m.topic_id, {"topicId", since(4), tagged_since(4, 0), kIgnorable});
  }
  static MessageTable const& table();
};

struct GroupMetadataKey {
  static constexpr int16_t kKey = 2;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group;
  static void describe(auto& m, auto& v) { v(m.group, {"group", between(0, 0)}); }
  static MessageTable const& table();
};

struct GroupMetadataValue {
  static constexpr int16_t kKey = 2;
  static constexpr Versions kValid{0, 4}, kFlexible{4, kLatest};

  struct MemberMetadata {
    Str member_id;
    std::optional<Str> group_instance_id;
    Str client_id;
    Str client_host;
    int32_t rebalance_timeout = -1;
    int32_t session_timeout{};
    ByteView subscription;
    ByteView assignment;
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"memberId", since(0)});
      v(m.group_instance_id, {"groupInstanceId", since(3), nullable_since(3), kIgnorable});
      v(m.client_id, {"clientId", since(0)});
      v(m.client_host, {"clientHost", since(0)});
      v(m.rebalance_timeout, {"rebalanceTimeout", since(1), kIgnorable});
      v(m.session_timeout, {"sessionTimeout", since(0)});
      v(m.subscription, {"subscription", since(0)});
      v(m.assignment, {"assignment", since(0)});
    }
  };

  Str protocol_type;
  int32_t generation{};
  std::optional<Str> protocol = "";
  std::optional<Str> leader = "";
  int64_t current_state_timestamp = -1;
  Array<MemberMetadata> members;
  static void describe(auto& m, auto& v) {
    v(m.protocol_type, {"protocolType", since(0)});
    v(m.generation, {"generation", since(0)});
    v(m.protocol, {"protocol", since(0), nullable_since(0)});
    v(m.leader, {"leader", since(0), nullable_since(0)});
    v(m.current_state_timestamp, {"currentStateTimestamp", since(2), kIgnorable});
    v(m.members, {"members", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
