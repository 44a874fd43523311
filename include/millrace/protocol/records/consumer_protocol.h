// What classic consumers put into JoinGroup and SyncGroup, behind an int16 version.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct ConsumerProtocolAssignment {
  static constexpr Versions kValid{0, 3}, kFlexible{0, -1};

  struct TopicPartition {
    Str topic;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<TopicPartition> assigned_partitions;
  std::optional<ByteView> user_data;
  static void describe(auto& m, auto& v) {
    v(m.assigned_partitions, {"AssignedPartitions", since(0)});
    v(m.user_data, {"UserData", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

struct ConsumerProtocolSubscription {
  static constexpr Versions kValid{0, 3}, kFlexible{0, -1};

  struct TopicPartition {
    Str topic;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(1)});
      v(m.partitions, {"Partitions", since(1)});
    }
  };

  Array<Str> topics;
  std::optional<ByteView> user_data;
  Array<TopicPartition> owned_partitions;
  int32_t generation_id = -1;
  std::optional<Str> rack_id;
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(0)});
    v(m.user_data, {"UserData", since(0), nullable_since(0)});
    v(m.owned_partitions, {"OwnedPartitions", since(1), kIgnorable});
    v(m.generation_id, {"GenerationId", since(2), kIgnorable});
    v(m.rack_id, {"RackId", since(3), nullable_since(3), kIgnorable});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
