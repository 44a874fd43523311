// Scripted clients of a whole cluster: they learn from Metadata who leads what, go to the leaders, and go on elsewhere
// when leadership moves. What they did and saw goes into the run's history.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/produce.h"
#include "sim/run/cluster_client.h"
#include "sim/run/run.h"

namespace millrace::sim {

class DataActor {
 public:
  // Node i of the cluster, which is at brokers[i], has id i + 1.
  DataActor(NodeEnv& env, size_t reactor, Run& run, std::string name, std::vector<ClusterClient::Address> brokers, Duration request_timeout);
  virtual ~DataActor() = default;
  DataActor(DataActor const&) = delete;
  DataActor& operator=(DataActor const&) = delete;

  void start();
  std::string const& name() const { return client_.name(); }

 protected:
  static constexpr size_t kNobody = SIZE_MAX;
  struct Place {
    size_t leader = kNobody;
    int32_t epoch = -1;
  };
  // The leaders may be known now; those of some partitions perhaps not.
  virtual void on_metadata() = 0;

  // Asks one broker after the other until one answers; then on_metadata(). No more than one question at a time.
  void refresh();
  void refresh_later();
  Place const& place(checker::PartitionIndex partition) const { return places_[partition]; }
  void after(Duration wait, Task task) { client_.after(wait, std::move(task)); }
  Duration draw_wait(Duration max) { return Duration(random_.between(0, max.count())); }
  World& world() { return run_.world; }

  Run& run_;
  Random random_;
  ClusterClient client_;

 private:
  void ask();

  std::vector<Place> places_;
  bool is_asking_ = false;
};

struct DataProducerPlan {
  bool is_idempotent = true;
  int16_t acks = -1;
  size_t in_flight_max = 5;  // a partition
  uint32_t records_max = 8;
  Duration pause_max = std::chrono::milliseconds(100);
  Duration request_timeout = std::chrono::seconds(2);
  int32_t broker_timeout_ms = 1500;
  Codec codec = Codec::none;
};

class DataProducer final : public DataActor {
 public:
  DataProducer(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, DataProducerPlan plan);
  bool is_idle() const;
  uint64_t requests_ok() const { return requests_ok_; }
  uint64_t records_ok() const { return records_ok_; }
  std::string describe() const;

 private:
  struct Batch {
    size_t send{};  // in the history
    int32_t base_sequence = record::kNoSequence;
    std::vector<std::byte> bytes;
    bool is_in_flight = false;
    checker::Nanos sent{};
    bool is_uncertain = false;  // an attempt may have been appended
    ErrorCode last_error = ErrorCode::none;
  };
  // What goes to one partition, in order. After an error nothing more is sent until all that is under way is answered.
  struct Line {
    std::deque<std::shared_ptr<Batch>> batches;
    uint64_t next_value = 0;
    int32_t next_sequence = 0;
    size_t in_flight = 0;
    size_t target = kNobody;
    bool is_draining = false;
    bool is_backing_off = false;
  };
  void on_metadata() override;
  void get_producer_id();
  void schedule_next();
  void make_batch();
  void pump_all();
  void pump(checker::PartitionIndex p);
  void send(checker::PartitionIndex p, std::shared_ptr<Batch> const& batch);
  void on_answer(checker::PartitionIndex p, std::shared_ptr<Batch> const& batch, client::Reply<protocol::ProduceResponse>* reply);
  void back_off(checker::PartitionIndex p);
  void settle(Line& line, std::shared_ptr<Batch> const& batch, checker::Outcome outcome, int64_t base_offset);
  void start_again();  // with a new producer id: what is outstanding is given up

  DataProducerPlan plan_;
  checker::ClientId id_;
  std::vector<Line> lines_;
  ProducerId producer_id_ = kNoProducerId;
  ProducerEpoch producer_epoch_{-1};
  bool is_getting_id_ = false;
  bool must_start_again_ = false;
  uint64_t requests_ok_ = 0;
  uint64_t records_ok_ = 0;
};

struct DataConsumerPlan {
  checker::Isolation isolation = checker::Isolation::read_uncommitted;
  int32_t bytes_max = 1 << 20;
  int32_t partition_bytes_max = 1 << 20;
  int32_t bytes_min = 1;
  int32_t wait_ms = 200;
  std::string rack;  // then a follower there may serve it
  Duration pause_max = std::chrono::milliseconds(50);
};

class DataConsumer final : public DataActor {
 public:
  DataConsumer(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, DataConsumerPlan plan);
  uint64_t records_seen() const { return records_seen_; }

 private:
  struct Position {
    int64_t offset = 0;
    int32_t last_epoch = -1;  // of the last batch that was read
    uint32_t assignment = 0;
    size_t preferred = kNobody;  // a follower that the leader has named
  };
  struct Asked {
    checker::PartitionIndex partition{};
    int64_t offset{};
    int32_t epoch{};
    bool is_of_leader = true;
  };
  void on_metadata() override;
  void loop(size_t broker);
  void loop_after(size_t broker, Duration wait);
  void fetch(size_t broker, std::vector<Asked> const& asked);
  void on_fetched(size_t broker, std::vector<Asked> const& asked, checker::Nanos start, int16_t version,
                  client::Reply<protocol::FetchResponse>* reply);
  // False: another Fetch of the partition would be answered the same.
  bool take(size_t broker, Asked const& asked, checker::Nanos start, protocol::FetchResponse::PartitionData const& answer);
  size_t source_of(checker::PartitionIndex partition) const;

  DataConsumerPlan plan_;
  checker::ClientId id_;
  std::vector<Position> positions_;
  std::vector<bool> is_looping_;  // by broker
  uint64_t records_seen_ = 0;
};

// Asks leaders for end offsets.
class DataAsker final : public DataActor {
 public:
  DataAsker(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers);

 private:
  void on_metadata() override;
  void ask_offset();

  checker::ClientId id_;
  bool is_asking_ = false;
};

// Commits rising offsets of one partition for a group of its own, and asks for them, whoever coordinates the group by then.
class OffsetCommitter final : public DataActor {
 public:
  OffsetCommitter(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers);
  // No new commit; what is under way goes on until it is acknowledged, and is then asked for once more.
  void finish() { is_finishing_ = true; }
  bool is_idle() const { return is_finished_; }
  uint64_t acknowledged() const { return acknowledged_count_; }
  std::string describe() const;

 private:
  void on_metadata() override;
  void next();
  void step();
  void find_coordinator();
  void commit();
  void fetch();
  void again();

  std::string group_;
  checker::ClientId id_;  // and its group's number
  size_t coordinator_ = kNobody;
  bool is_started_ = false;
  bool is_finishing_ = false;
  bool is_finished_ = false;
  std::optional<int64_t> committing_;
  int64_t next_offset_ = 1;
  int64_t acknowledged_offset_ = -1;
  uint64_t acknowledged_count_ = 0;
  ErrorCode last_error_ = ErrorCode::none;
};

// Reads every partition from its start to its high watermark; adds a FinalRead each.
class DataReader final : public DataActor {
 public:
  DataReader(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers);
  bool is_done() const { return current_ == run_.partitions.size(); }

 private:
  void on_metadata() override;
  void begin();
  void ask_end();
  void fetch();
  void again();

  size_t current_ = 0;
  int64_t offset_ = 0;
  bool is_reading_ = false;
  checker::FinalRead read_;
};

}  // namespace millrace::sim
