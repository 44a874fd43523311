#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct WriteTxnMarkersRequest {
  static constexpr ApiKey kKey = ApiKey::write_txn_markers;
  static constexpr Versions kValid{1, 2}, kFlexible{1, kLatest};

  struct WritableTxnMarkerTopic {
    Str name;
    Array<int32_t> partition_indexes;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partition_indexes, {"PartitionIndexes", since(0)});
    }
  };

  struct WritableTxnMarker {
    int64_t producer_id{};
    int16_t producer_epoch{};
    bool transaction_result{};
    Array<WritableTxnMarkerTopic> topics;
    int32_t coordinator_epoch{};
    int8_t transaction_version{};
    static void describe(auto& m, auto& v) {
      v(m.producer_id, {"ProducerId", since(0)});
      v(m.producer_epoch, {"ProducerEpoch", since(0)});
      v(m.transaction_result, {"TransactionResult", since(0)});
      v(m.topics, {"Topics", since(0)});
      v(m.coordinator_epoch, {"CoordinatorEpoch", since(0)});
      v(m.transaction_version, {"TransactionVersion", since(2), kIgnorable});
    }
  };

  Array<WritableTxnMarker> markers;
  static void describe(auto& m, auto& v) { v(m.markers, {"Markers", since(0)}); }
  static MessageTable const& table();
};

struct WriteTxnMarkersResponse {
  static constexpr ApiKey kKey = ApiKey::write_txn_markers;
  static constexpr Versions kValid{1, 2}, kFlexible{1, kLatest};

  struct WritableTxnMarkerPartitionResult {
    int32_t partition_index{};
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
    }
  };

  struct WritableTxnMarkerTopicResult {
    Str name;
    Array<WritableTxnMarkerPartitionResult> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct WritableTxnMarkerResult {
    int64_t producer_id{};
    Array<WritableTxnMarkerTopicResult> topics;
    static void describe(auto& m, auto& v) {
      v(m.producer_id, {"ProducerId", since(0)});
      v(m.topics, {"Topics", since(0)});
    }
  };

  Array<WritableTxnMarkerResult> markers;
  static void describe(auto& m, auto& v) { v(m.markers, {"Markers", since(0)}); }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
