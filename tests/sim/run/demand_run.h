// What the demands of `--scenario demands` are written with: a whole cluster, its clients, one kind of fault that the
// demand brings itself, and steps that wait. A step is false once something is broken; the demand then returns.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/run/admin_writer.h"
#include "sim/run/cluster.h"
#include "sim/run/data_actor.h"
#include "sim/run/data_oracle.h"
#include "sim/run/quorum_oracle.h"
#include "sim/run/scenario.h"

namespace millrace::sim {

// A change of a partition as the controllers made it. Two that were published at once are one.
struct PartitionStep {
  Duration at{};
  int32_t partition{};
  metadata::PartitionImagePtr before;  // never null
  metadata::PartitionImagePtr after;
};

class DemandRun {
 public:
  static constexpr std::string_view kTopic = "orders";
  // What a connection that was cut, a retry and a few round trips may add to a bound.
  static constexpr Duration kSlack = std::chrono::milliseconds(700);
  static constexpr Duration kSettleLimit = std::chrono::seconds(60);

  struct TopicPlan {
    std::vector<std::vector<size_t>> replicas;  // of each partition, by node; the first is preferred as leader
    std::vector<std::pair<std::string, std::string>> configs;
  };

  DemandRun(ScenarioInput const& input, ClusterPlan plan);
  ~DemandRun();

  ScenarioInput const& input() const { return input_; }
  ClusterPlan const& plan() const { return plan_; }
  World& world() { return world_; }
  Cluster& cluster() { return cluster_; }
  Run& run() { return run_; }
  Random random(std::string_view purpose) const { return Random(input_.seed).fork(purpose); }
  // Who leads the metadata quorum.
  std::optional<size_t> controller() const { return quorum_oracle_.leader(); }
  Duration now() const { return world_.now(); }

  void fail(std::string text) { run_.fail(std::move(text)); }
  bool has_failed() const { return run_.failure.has_value(); }
  // For the line that a seed ends with.
  void note(std::string_view text) { notes_ += fmt::format(" {}", text); }
  std::string const& notes() const { return notes_; }
  void count(std::string_view what, uint64_t by = 1) { counts_[std::string(what)] += by; }
  Counts counts() const;

  // ---- Steps

  bool start();  // all nodes serve, one leads the quorum
  bool make_topic(TopicPlan const& topic);
  // Runs until `condition` holds, which is asked after each event; `limit` ends it with false.
  bool wait_for(std::string_view what, std::function<bool()> const& condition, Duration limit);
  // Lets time pass; `watch` is called after each event.
  bool run_for(Duration span, std::function<void()> const& watch = {});
  // Everything that was sent is answered, replicas are equal, and everything is read; what clients saw is checked.
  bool finish();
  bool read_all();
  // Sends are answered.
  bool stop_load();

  // ---- Clients. Replicas are looked at after every event once judge_replicas() was called.

  void judge_replicas();
  DataProducer& add_producer(DataProducerPlan const& plan);
  DataConsumer& add_consumer();
  template <class A, class... Args>
  A& add_actor(Args&&... args) {
    A* out = nullptr;
    on_clients([&] {
      auto made = std::make_unique<A>(*data_machine_.node(), 0, run_, addresses(true), std::forward<Args>(args)...);
      out = made.get();
      keep(std::move(made));
      out->start();
    });
    return *out;
  }
  AdminWriter& add_writer();
  uint64_t records_ok() const;  // acknowledged
  // Asks one node and waits for its answer; null when there is none.
  template <class Response, class Request>
  std::shared_ptr<client::Reply<Response>> ask(size_t node, Request const& request, int16_t version) {
    struct Asked {
      std::shared_ptr<client::Reply<Response>> reply;
      bool is_done = false;
    };
    auto asked = std::make_shared<Asked>();
    on_clients([this, &request, node, version, asked] {
      asker().connect(node, [this, &request, node, version, asked](bool is_open) {
        if (!is_open) {
          asked->is_done = true;
          return;
        }
        asker().call<Response>(node, request, version, version, [asked](client::Reply<Response>* reply) {
          if (reply != nullptr) asked->reply = std::make_shared<client::Reply<Response>>(std::move(*reply));
          asked->is_done = true;
        });
      });
    });
    wait_for(
        "a request is answered or given up", [asked] { return asked->is_done; }, kSettleLimit);
    return asked->reply;
  }

  // ---- What there is

  metadata::PartitionImagePtr partition(int32_t number) const;
  std::optional<size_t> leader(int32_t number) const;
  bool is_in_sync(int32_t number, size_t node) const;
  bool are_all_in_sync() const;
  std::vector<PartitionStep> const& steps() const { return steps_; }
  // Null: it is down, or has none.
  std::shared_ptr<runtime::PartitionDriver> replica(size_t node, int32_t number);
  // What the replica's files hold, whole batches one after the other from its first; not only what was synced.
  struct OnDisk {
    int64_t start = 0, end = 0;
    std::vector<checker::Observed> records;
  };
  OnDisk on_disk(size_t node, int32_t number);
  // Empty, or where the replicas that are up differ.
  std::string compare_replicas(int32_t number);

  // ---- Faults

  void cut_both_ways(size_t a, size_t b);
  void heal_both_ways(size_t a, size_t b);
  void cut_from_clients(size_t node);
  void kill(size_t node, CrashKind how, bool stays_down);
  void bring_back(size_t node);

 private:
  void observe();
  void on_image(metadata::ImagePtr const& image);
  void on_clients(std::function<void()> task);
  void keep(std::unique_ptr<DataActor> actor);
  ClusterClient& asker();
  std::vector<ClusterClient::Address> addresses(bool of_brokers);
  std::string describe();

  ScenarioInput const& input_;
  ClusterPlan plan_;
  World world_;
  Cluster cluster_;
  QuorumOracle quorum_oracle_;
  Machine& data_machine_;
  Run run_;
  std::unique_ptr<DataOracle> data_oracle_;
  std::vector<DataProducer*> producers_;
  std::vector<AdminWriter*> writers_;
  metadata::ImagePtr image_;  // the newest that any node has told its partitions
  std::vector<PartitionStep> steps_;
  uint64_t observed_events_ = 0;
  std::string notes_;
  Counts counts_;
};

// What a random stream says of a span of time.
inline Duration draw(Random& random, Duration low, Duration high) {
  return Duration(random.between(low.count(), high.count()));
}

}  // namespace millrace::sim
