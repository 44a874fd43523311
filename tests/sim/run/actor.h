// Scripted clients. Each actor lives on one reactor of a client machine and speaks through client::Connection, which
// it opens again whenever it has none.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "millrace/client/connection.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/list_offsets.h"
#include "millrace/protocol/api/produce.h"
#include "sim/run/run.h"

namespace millrace::sim {

class Actor {
 public:
  Actor(NodeEnv& env, size_t reactor, Run& run, std::string name);
  virtual ~Actor() = default;
  Actor(Actor const&) = delete;
  Actor& operator=(Actor const&) = delete;

  void start();
  std::string const& name() const { return name_; }

 protected:
  // The connection is there, and with Metadata the partitions' ids and epochs are known.
  virtual void on_connected() = 0;
  // All calls in flight have failed before.
  virtual void on_disconnected() {}
  // Metadata does not know all partitions yet; it is asked again soon.
  virtual void on_metadata_missing() {}

  bool is_connected() const { return connection_ != nullptr && is_ready_; }
  void drop_connection();
  // Ask Metadata again before going on; then on_connected().
  void refresh();
  void after(Duration wait, Task task);
  env::Reactor& reactor() { return reactor_; }
  World& world() { return run_.world; }

  // `done` gets the reply, or null when it is not known whether the broker acted. A failed call drops the connection.
  template <class Response, class Request>
  void call(Request const& request, int16_t version, std::function<void(client::Reply<Response>*)> done) {
    MR_ASSERT(connection_ != nullptr);
    auto const generation = generation_;
    if (!connection_->is_open()) {
      reactor_.post([this, generation, done = std::move(done)] { fail_call(generation, [&] { done(nullptr); }); });
      return;
    }
    connection_->call<Response>(
        request,
        [this, generation, done = std::move(done)](Result<client::Reply<Response>> reply) {
          if (reply.ok()) return done(&*reply);
          world().trace().say(world().now(), "call failed", fmt::format("{}: {}", name_, reply.error().message));
          fail_call(generation, [&] { done(nullptr); });
        },
        version);
  }
  // A version that both sides know, drawn at random from [lowest, ours].
  int16_t draw_version(ApiKey key, int16_t lowest, int16_t highest);

  NodeEnv& env_;
  Run& run_;
  Random random_;
  Duration request_timeout_ = 3s;
  // In a cluster it speaks to this group's coordinator.
  std::string group_of_coordinator_;

 private:
  void connect();
  void open(std::string const& host, uint16_t port, std::function<void(Result<std::shared_ptr<client::Connection>>)> done);
  void find_coordinator();
  void connect_to(std::string const& host, uint16_t port);
  void learn_metadata();
  void reconnect_later();
  // All calls in flight fail one after the other; the connection is dropped when they have.
  template <class F>
  void fail_call(uint64_t generation, F&& tell) {
    if (generation == generation_) is_ready_ = false;
    tell();
    reactor_.post([this, generation] {
      if (generation == generation_) drop_connection();
    });
  }

  env::Reactor& reactor_;
  std::string name_;
  std::shared_ptr<client::Connection> connection_;
  std::shared_ptr<client::Connection> asked_;  // who is the coordinator
  uint64_t generation_ = 0;
  bool is_connecting_ = false;
  bool is_ready_ = false;
};

struct ProducerPlan {
  bool is_idempotent = true;
  int16_t acks = -1;
  size_t in_flight_max = 5;
  uint32_t records_max = 8;
  Duration pause_max = 20ms;
  Duration request_timeout = 3s;
  int32_t broker_timeout_ms = 2000;
  Codec codec = Codec::none;
};

class Producer final : public Actor {
 public:
  Producer(NodeEnv& env, size_t reactor, Run& run, ProducerPlan plan);
  bool is_idle() const { return batches_.empty(); }
  size_t sends_ok() const { return sends_ok_; }

 private:
  struct Batch {
    size_t send{};  // in the history
    checker::PartitionIndex partition{};
    int32_t base_sequence = record::kNoSequence;
    std::vector<std::byte> bytes;
    int attempts = 0;
    bool is_in_flight = false;
    bool is_uncertain = false;  // an attempt may have been appended
  };

  void on_connected() override;
  void on_disconnected() override;
  void get_producer_id();
  void make_batches();
  void pump();
  void send(Batch& batch);
  void on_answer(uint64_t number, client::Reply<protocol::ProduceResponse>* reply);
  void finish(Batch& batch, checker::Outcome outcome, int64_t base_offset);
  void try_again_later();  // after asking for the metadata again
  void start_again();  // with a new producer id: what is outstanding is given up
  void schedule_next();

  ProducerPlan plan_;
  checker::ClientId id_;
  std::vector<uint64_t> next_value_;     // by partition
  std::vector<int32_t> next_sequence_;   // by partition, of the producer id
  ProducerId producer_id_ = kNoProducerId;
  ProducerEpoch producer_epoch_{-1};
  std::map<uint64_t, Batch> batches_;    // not finished, in order of making
  uint64_t next_batch_ = 0;
  bool is_draining_ = false;             // nothing is sent until what is in flight is answered
  bool must_start_again_ = false;
  // By partition, of the producer id: a batch was acknowledged; before that one was refused, so that later ones may
  // have been appended in front of it.
  std::vector<bool> is_known_, may_be_passed_;
  bool is_paused_ = false;
  bool is_getting_id_ = false;
  size_t sends_ok_ = 0;
};

struct ConsumerPlan {
  checker::Isolation isolation = checker::Isolation::read_uncommitted;
  int32_t bytes_max = 1 << 20;
  int32_t partition_bytes_max = 1 << 20;
  int32_t bytes_min = 1;
  int32_t wait_ms = 100;
  bool uses_session = false;
  Duration pause_max = 5ms;
};

class Consumer final : public Actor {
 public:
  Consumer(NodeEnv& env, size_t reactor, Run& run, ConsumerPlan plan);
  int64_t position(checker::PartitionIndex partition) const { return places_[partition].offset; }

 private:
  struct Place {
    int64_t offset = 0;
    uint32_t assignment = 0;
    bool must_reset = false;
    int64_t sent_offset = -1;  // what the session was told last
  };
  void on_connected() override;
  void fetch();
  void on_fetched(int16_t version, checker::Nanos start, std::vector<int64_t> const& offsets,
                  std::vector<int32_t> const& epochs, client::Reply<protocol::FetchResponse>* reply);
  void reset_positions();
  void next();

  ConsumerPlan plan_;
  checker::ClientId id_;
  std::vector<Place> places_;
  int32_t session_id_ = 0;
  int32_t session_epoch_ = 0;
};

// Asks for end offsets, and now and then deletes records.
class Asker final : public Actor {
 public:
  Asker(NodeEnv& env, size_t reactor, Run& run, double deletes);

 private:
  void on_connected() override;
  void ask();
  void ask_offset();
  void delete_records();

  checker::ClientId id_;
  double deletes_;
  std::vector<int64_t> highest_;  // by partition, latest offset seen
};

// Makes the run's topic and is done when every partition has a leader.
class TopicMaker final : public Actor {
 public:
  TopicMaker(NodeEnv& env, size_t reactor, Run& run) : Actor(env, reactor, run, "topic-maker") {}
  bool is_done() const { return is_done_; }

 private:
  void on_connected() override { is_done_ = true; }
  void on_metadata_missing() override;
  bool is_done_ = false;
};

// Reads every partition from its start to its high watermark; adds a FinalRead each.
class FinalReader final : public Actor {
 public:
  FinalReader(NodeEnv& env, size_t reactor, Run& run);
  bool is_done() const { return current_ == run_.partitions.size(); }

 private:
  void on_connected() override;
  void begin();
  void ask_end();
  void fetch();

  size_t current_ = 0;
  int64_t offset_ = 0;
  checker::FinalRead read_;
};

// All actors of one machine.
class Actors final : public Process {
 public:
  std::vector<std::unique_ptr<Actor>> actors;
  template <class A, class... Args>
  A& add(Args&&... args) {
    auto made = std::make_unique<A>(std::forward<Args>(args)...);
    auto& out = *made;
    actors.push_back(std::move(made));
    out.start();
    return out;
  }
};

}  // namespace millrace::sim
