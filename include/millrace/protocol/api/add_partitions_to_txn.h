#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AddPartitionsToTxnRequest {
  static constexpr ApiKey kKey = ApiKey::add_partitions_to_txn;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  struct AddPartitionsToTxnTopic {
    Str name;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct AddPartitionsToTxnTransaction {
    Str transactional_id;
    int64_t producer_id{};
    int16_t producer_epoch{};
    bool verify_only{};
    Array<AddPartitionsToTxnTopic> topics;
    static void describe(auto& m, auto& v) {
      v(m.transactional_id, {"TransactionalId", since(4)});
      v(m.producer_id, {"ProducerId", since(4)});
      v(m.producer_epoch, {"ProducerEpoch", since(4)});
      v(m.verify_only, {"VerifyOnly", since(4)});
      v(m.topics, {"Topics", since(4)});
    }
  };

  Array<AddPartitionsToTxnTransaction> transactions;
  Str v3_and_below_transactional_id;
  int64_t v3_and_below_producer_id{};
  int16_t v3_and_below_producer_epoch{};
  Array<AddPartitionsToTxnTopic> v3_and_below_topics;
  static void describe(auto& m, auto& v) {
    v(m.transactions, {"Transactions", since(4)});
    v(m.v3_and_below_transactional_id, {"V3AndBelowTransactionalId", between(0, 3)});
    v(m.v3_and_below_producer_id, {"V3AndBelowProducerId", between(0, 3)});
    v(m.v3_and_below_producer_epoch, {"V3AndBelowProducerEpoch", between(0, 3)});
    v(m.v3_and_below_topics, {"V3AndBelowTopics", between(0, 3)});
  }
  static MessageTable const& table();
};

struct AddPartitionsToTxnResponse {
  static constexpr ApiKey kKey = ApiKey::add_partitions_to_txn;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  struct AddPartitionsToTxnPartitionResult {
    int32_t partition_index{};
    ErrorCode partition_error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.partition_error_code, {"PartitionErrorCode", since(0)});
    }
  };

  struct AddPartitionsToTxnTopicResult {
    Str name;
    Array<AddPartitionsToTxnPartitionResult> results_by_partition;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.results_by_partition, {"ResultsByPartition", since(0)});
    }
  };

  struct AddPartitionsToTxnResult {
    Str transactional_id;
    Array<AddPartitionsToTxnTopicResult> topic_results;
    static void describe(auto& m, auto& v) {
      v(m.transactional_id, {"TransactionalId", since(4)});
      v(m.topic_results, {"TopicResults", since(4)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<AddPartitionsToTxnResult> results_by_transaction;
  Array<AddPartitionsToTxnTopicResult> results_by_topic_v3_and_below;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(4), kIgnorable});
    v(m.results_by_transaction, {"ResultsByTransaction", since(4)});
    v(m.results_by_topic_v3_and_below, {"ResultsByTopicV3AndBelow", between(0, 3)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
