// What the actors of one simulated run share: where the broker is, which partitions they use, the history that the
// checker reads, and what the scenario knows better than any client.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checker/history.h"
#include "millrace/base/ids.h"
#include "millrace/record/builder.h"
#include "sim/network.h"

namespace millrace::sim {

struct RunPartition {
  std::string topic;
  Uuid topic_id;
  int32_t number{};
  // The scenario's own controller sets it; -1: clients ask Metadata.
  int32_t leader_epoch = -1;
};

struct Run {
  explicit Run(World& the_world) : world(the_world) {}
  World& world;
  checker::History history;
  std::string broker_host = "broker";
  uint16_t broker_port = 9092;
  // Of a cluster, where node i has id i + 1. Empty: there is the one broker above.
  struct Broker {
    std::string host;
    uint16_t port{};
  };
  std::vector<Broker> brokers;
  std::vector<RunPartition> partitions;
  bool has_metadata = true;         // the broker answers Metadata and InitProducerId
  bool is_loading = true;           // producers make new sends
  int64_t next_producer_id = 1000;  // without InitProducerId
  std::vector<checker::Nanos> losses;  // of power, with acknowledged data in the page cache

  // Called on each observation that only a committed offset allows: (partition, first offset that is not shown to be
  // committed, by what). The scenario compares it with what it knows.
  std::function<void(checker::PartitionIndex, int64_t, std::string_view)> on_committed_claim;

  // A node (by its place among the brokers) answered as the leader of that epoch what was asked at `start`.
  std::function<void(checker::PartitionIndex, size_t node, int32_t epoch, checker::Nanos start)> on_served;

  checker::ClientId add_client() { return history.client_count++; }
  checker::Nanos now() const { return world.now().count(); }
  // An idempotent producer is told that the broker does not know its last batch. Without data loss that is an error.
  std::function<void(checker::PartitionIndex, int32_t)> on_sequence_lost;
  // Is that node the newest leader, and was it when? Not set where there is one node.
  std::function<bool(checker::PartitionIndex, size_t node, checker::Nanos when)> has_led_since;
  // The first broken invariant ends the run.
  std::optional<std::string> failure;
  void fail(std::string text) {
    if (!failure) failure = std::move(text);
  }
  void claim(checker::PartitionIndex partition, int64_t offset, std::string_view what) {
    if (on_committed_claim) on_committed_claim(partition, offset, what);
  }
};

// Every byte of a record follows from its value, so that a reader can compare all of it.
struct RunRecord {
  std::string key;
  std::vector<std::byte> value;
  std::string header;
  int64_t timestamp{};
};
RunRecord make_record(checker::Value const& value);
// `count` records from `first` on.
std::vector<std::byte> build_batch(checker::Value first, uint32_t count, record::BatchOptions const& options);
// What a reader got, judged by itself.
checker::Observed judge_record(record::RecordView const& record);

// Reads the batches of a fetch at or past `fetch_offset`. False: bytes that no broker may send; `fault` says why.
bool read_batches(ByteView bytes, int64_t fetch_offset, std::vector<checker::Observed>& out, int64_t& next_offset,
                  std::string& fault);

}  // namespace millrace::sim
