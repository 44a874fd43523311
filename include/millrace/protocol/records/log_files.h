// Files beside a log: the transaction index and the producer snapshot.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct AbortedTxn {
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  int64_t producer_id{};
  int64_t first_offset{};
  int64_t last_offset{};
  int64_t last_stable_offset{};
  static void describe(auto& m, auto& v) {
    v(m.producer_id, {"ProducerId", since(0)});
    v(m.first_offset, {"FirstOffset", since(0)});
    v(m.last_offset, {"LastOffset", since(0)});
    v(m.last_stable_offset, {"LastStableOffset", since(0)});
  }
  static MessageTable const& table();
};

struct ProducerSnapshot {
  static constexpr Versions kValid{1, 1}, kFlexible{0, -1};

  struct ProducerEntry {
    int64_t producer_id{};
    int16_t epoch{};
    int32_t last_sequence{};
    int64_t last_offset{};
    int32_t offset_delta{};
    int64_t timestamp{};
    int32_t coordinator_epoch{};
    int64_t current_txn_first_offset{};
    static void describe(auto& m, auto& v) {
      v(m.producer_id, {"ProducerId", between(1, 1)});
      v(m.epoch, {"Epoch", between(1, 1)});
      v(m.last_sequence, {"LastSequence", between(1, 1)});
      v(m.last_offset, {"LastOffset", between(1, 1)});
      v(m.offset_delta, {"OffsetDelta", between(1, 1)});
      v(m.timestamp, {"Timestamp", between(1, 1)});
      v(m.coordinator_epoch, {"CoordinatorEpoch", between(1, 1)});
      v(m.current_txn_first_offset, {"CurrentTxnFirstOffset", between(1, 1)});
    }
  };

  uint32_t crc{};
  Array<ProducerEntry> producer_entries;
  static void describe(auto& m, auto& v) {
    v(m.crc, {"Crc", between(1, 1)});
    v(m.producer_entries, {"ProducerEntries", between(1, 1)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
