// A controller whose decisions are replayed at once into the image that the next one is made on. After each the image
// is well formed, and a snapshot of it rebuilds it.
#pragma once
#include <gtest/gtest.h>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/replay.h"
#include "millrace/metadata/snapshot.h"

namespace millrace::metadata {

class Story {
 public:
  // The controller is of broker 1's process if that one registers under this, as start_brokers() has it do.
  static constexpr Uuid kOwnIncarnation{{1}};

  explicit Story(StaticConfigs statics = {}, Hooks& hooks = Hooks::none())
      : controller_(make_config(std::move(statics), hooks), [this] { return next_uuid(); }) {
    replay(controller_.bootstrap_records());
  }

  template <class Answer, class Request>
  Answer ask(Request request, Mono now = {}) {
    auto decision = controller_.decide(replayer_.image(), ControllerRequest(std::move(request)), now);
    replay(decision.records);
    last_record_count_ = decision.records.size();
    return std::get<Answer>(decision.answer);
  }

  RegisterBrokerAnswer register_broker(int id, uint8_t incarnation, int64_t previous_epoch = -1, uint8_t directory = 0) {
    RegisterBroker r;
    r.id = BrokerId{id};
    r.cluster_id = "c";
    r.incarnation_id = Uuid{{incarnation}};
    r.endpoints = {{"PLAINTEXT", "h", 9092, 0}};
    r.features = supported_features();
    r.directories = {Uuid{{9, static_cast<uint8_t>(directory == 0 ? id : directory)}}};
    r.previous_broker_epoch = previous_epoch;
    r.rack = rack_;
    return ask<RegisterBrokerAnswer>(r);
  }
  // `id` brokers, 1 and up, registered and unfenced.
  void start_brokers(int count, std::vector<std::string> racks = {}) {
    for (int id = 1; id <= count; ++id) {
      rack_ = racks.empty() ? std::nullopt : std::optional(racks[static_cast<size_t>(id - 1)]);
      ASSERT_TRUE(register_broker(id, static_cast<uint8_t>(id)).error.ok());
      ASSERT_FALSE(beat(id).is_fenced);
    }
  }
  int64_t broker_epoch(int id) const { return image().find_broker(BrokerId{id})->epoch; }
  BrokerHeartbeat heartbeat(int id) const {
    BrokerHeartbeat h;
    h.id = BrokerId{id};
    h.epoch = broker_epoch(id);
    h.metadata_offset = image().offset.value;
    return h;
  }
  BrokerHeartbeatAnswer beat(int id, bool shut_down = false) {
    auto h = heartbeat(id);
    h.want_shut_down = shut_down;
    return ask<BrokerHeartbeatAnswer>(h);
  }
  BrokerHeartbeatAnswer fence(int id) {
    auto h = heartbeat(id);
    h.want_fence = true;
    return ask<BrokerHeartbeatAnswer>(h);
  }
  // One partition, led by the first.
  void create_on(std::string name, std::vector<int> replicas, std::vector<std::pair<std::string, std::optional<std::string>>> configs = {}) {
    CreateTopics r;
    std::vector<BrokerId> ids;
    for (auto id : replicas) ids.emplace_back(id);
    r.topics.push_back({std::move(name), -1, -1, {{0, std::move(ids)}}, std::move(configs)});
    auto const created = ask<CreateTopicsAnswer>(r).topics.front();
    ASSERT_TRUE(created.error.ok()) << created.error.message.value_or("");
  }
  // As the leader of partition 0 asks for it, with the epochs that are in force.
  AlterPartition isr_change(std::string const& topic, std::vector<int> isr) const {
    auto const* partition = image().find_partition(topic, 0);
    AlterPartition r;
    r.broker = partition->leader;
    if (auto const* leader = image().find_broker(partition->leader)) r.broker_epoch = leader->epoch;
    auto& change = r.partitions.emplace_back();
    change.topic = image().find_topic(topic)->id;
    change.leader_epoch = partition->leader_epoch;
    change.partition_epoch = partition->partition_epoch;
    change.recovery_state = partition->recovery_state;
    for (auto id : isr) change.isr.push_back({BrokerId{id}, -1});
    return r;
  }
  ErrorCode alter_isr(std::string const& topic, std::vector<int> isr) {
    return ask<AlterPartitionAnswer>(isr_change(topic, std::move(isr))).partitions.front().error;
  }
  TopicCreated create(std::string name, int partitions = 1, int16_t rf = 1,
                      std::vector<std::pair<std::string, std::optional<std::string>>> configs = {}) {
    CreateTopics r;
    r.topics.push_back({std::move(name), partitions, rf, {}, std::move(configs)});
    return ask<CreateTopicsAnswer>(r).topics.front();
  }
  std::string partition(std::string const& topic, int index = 0) const {
    auto const* p = image().find_partition(topic, index);
    auto const list = [](std::vector<BrokerId> const& ids) {
      std::string out;
      for (auto id : ids) out += fmt::format("{}{}", out.empty() ? "" : ",", id);
      return out;
    };
    return fmt::format("leader={} epoch={}/{} isr=[{}] elr=[{}] last=[{}]{}", p->leader, p->leader_epoch, p->partition_epoch,
                       list(p->isr), list(p->elr), list(p->last_known_elr),
                       p->recovery_state == LeaderRecoveryState::recovering ? " recovering" : "");
  }
  Image const& image() const { return replayer_.image(); }
  Controller& controller() { return controller_; }
  size_t last_record_count() const { return last_record_count_; }

 private:
  static ControllerConfig make_config(StaticConfigs statics, Hooks& hooks) {
    ControllerConfig config;
    config.node_id = BrokerId{1};
    config.incarnation_id = kOwnIncarnation;
    config.cluster_id = "c";
    config.statics = std::move(statics);
    config.hooks = &hooks;
    return config;
  }
  Uuid next_uuid() { return Uuid{{7, 7, 7, ++uuid_}}; }
  void replay(RecordList const& records) {
    for (auto const& value : records.values()) {
      auto const status = replayer_.apply(value.view(), replayer_.image().offset + 1, LeaderEpoch{1}, 0);
      ASSERT_TRUE(status) << status.error().message;
    }
    replayer_.image().check_invariants();
    // What is replicated is what a snapshot holds.
    Replayer again;
    for (auto const& value : snapshot_records(replayer_.image()).values()) {
      ASSERT_TRUE(again.apply(value.view(), Offset{0}, LeaderEpoch{1}, 0));
    }
    ASSERT_EQ(fingerprint(again.image()), fingerprint(replayer_.image()));
  }

  uint8_t uuid_ = 0;
  std::optional<std::string> rack_;
  Controller controller_;
  Replayer replayer_;
  size_t last_record_count_ = 0;
};

}  // namespace millrace::metadata
