#include "sim/run/broker_run.h"

namespace millrace::sim {
namespace {

constexpr uint16_t kPort = 9092;
constexpr Duration kSettleLimit = 120s;

}  // namespace

std::string BrokerPlan::text() const {
  return fmt::format(
      "whole_node={} stops={} follower={} flush={} crashes={} power_loss={} at_disk_calls={} epoch_bumps={} "
      "isr_changes={} disk_faults={} "
      "full_disk={} slow_disk={} min_in_sync={} partitions={} producers={} consumers={} deletes={} segment_bytes={} "
      "index_interval={}",
      is_whole_node, has_orderly_stops, has_follower, is_flush, has_crashes, has_power_loss, crashes_at_disk_calls,
      has_epoch_bumps, has_isr_changes, has_disk_faults, has_full_disk, has_slow_disk, min_in_sync, partitions,
      producers, consumers, deletes, segment_bytes, index_interval);
}

BrokerRun::BrokerRun(ScenarioInput const& input, std::string name, BrokerPlan plan)
    : input_(input),
      name_(std::move(name)),
      plan_(plan),
      random_(Random(input.seed).fork(name_ + " run")),
      world_({.seed = input.seed, .mutant = input.mutant, .has_chaos = true, .trace = input.trace}),
      run_(world_),
      broker_machine_(world_.add_machine("broker", 2)),
      client_machine_(world_.add_machine("clients", 2)),
      follower_machine_(world_.add_machine("follower", 2)),
      floor_(plan.partitions, 0) {
  topic_.name = "orders";
  topic_.id.bytes.fill(5);
  topic_.configs.emplace_back("segment.bytes", fmt::format("{}", plan_.segment_bytes));
  topic_.configs.emplace_back("index.interval.bytes", fmt::format("{}", plan_.index_interval));
  topic_.configs.emplace_back("min.insync.replicas", fmt::format("{}", plan_.min_in_sync));
  // Clocks jump here, and records are older or newer than they should be.
  topic_.configs.emplace_back("message.timestamp.after.max.ms", "9223372036854775807");
  if (plan_.is_flush) topic_.configs.emplace_back("flush.messages", "1");
  for (uint32_t p = 0; p < plan_.partitions; ++p) {
    ScriptedPartition partition;
    if (plan_.has_follower) partition.replicas = partition.isr = {BrokerId(kBrokerId), BrokerId(kFollowerId)};
    topic_.partitions.push_back(partition);
    run_.partitions.push_back({topic_.name, topic_.id, static_cast<int32_t>(p), plan_.is_whole_node ? -1 : 0});
  }
  run_.history.partition_count = plan_.partitions;
  run_.has_metadata = plan_.is_whole_node;
  run_.broker_port = kPort;
  run_.on_committed_claim = [this](auto partition, auto offset, auto what) { claim(partition, offset, what); };
  run_.on_sequence_lost = [this](auto partition, auto sequence) {
    run_.fail(fmt::format("partition {}: the broker has forgotten what came before sequence {}", partition, sequence));
  };
  auto& faults = world_.network().faults();
  auto random = random_.fork("network");
  auto const some = [&](double p, double value) { return random.chance(p) ? value : 0.0; };
  faults.slow_link = some(0.3, 0.3);
  faults.small_window = some(0.3, 0.3);
  faults.byte_reads = some(0.2, 0.2);
  faults.split_reads = random.chance(0.5) ? 0.5 : 0.0;
  faults.reset = some(0.4, 0.3);
  faults.refuse = some(0.2, 0.1);
  broker_machine_.disk().set_eviction(random.chance(0.5) ? 0.05 : 0.0);
  if (random.chance(0.3)) broker_machine_.disk().speed().sync = 20ms;
  if (plan_.has_slow_disk) {
    auto& speed = broker_machine_.disk().speed();
    if (random.chance(0.5)) speed.call = std::chrono::microseconds(100 + random.below(3000));
    if (random.chance(0.5)) speed.per_mib = std::chrono::milliseconds(10 + random.below(2000));
    if (random.chance(0.5)) speed.cold_read = std::chrono::milliseconds(1 + random.below(50));
  }
  run_.history.do_marks_begin_at_end = !plan_.has_follower && !plan_.is_flush;
}

BrokerRun::~BrokerRun() = default;

BrokerUnderTest* BrokerRun::broker() {
  auto* node = broker_machine_.node();
  if (node == nullptr || node->is_dead()) return nullptr;
  return static_cast<BrokerUnderTest*>(broker_machine_.process());
}

ScriptedBroker* BrokerRun::scripted() {
  return plan_.is_whole_node ? nullptr : static_cast<ScriptedBroker*>(broker());
}

int64_t BrokerRun::log_end(checker::PartitionIndex partition) {
  auto* node = broker();
  return node == nullptr ? -1 : node->log_end({run_.partitions[partition].topic_id, static_cast<int32_t>(partition)});
}

void BrokerRun::after(Duration wait, Task task) {
  world_.schedule(world_.now() + wait, kWorldLife, "scenario", std::move(task));
}

void BrokerRun::claim(checker::PartitionIndex partition, int64_t offset, std::string_view what) {
  if (!plan_.has_follower || is_alone_ || follower_ == nullptr) return;
  auto const bound = std::max(follower_->promised(partition), floor_[partition]);
  if (offset > bound) {
    run_.fail(fmt::format("partition {}: {} says that {} is committed, but the in-sync follower has only {}", partition,
                          what, offset, bound));
  }
}

void BrokerRun::start_broker() {
  if (plan_.is_whole_node) {
    broker_machine_.start([this](NodeEnv& env) {
      return make_whole_node(env, {kPort, plan_.segment_bytes, plan_.index_interval, plan_.is_flush});
    });
    return arm_crash();
  }
  ++image_offset_;
  for (size_t p = 0; p < topic_.partitions.size(); ++p) {
    auto& partition = topic_.partitions[p];
    if (broker_machine_.lives() > 0) {
      partition.leader_epoch += 1;
      partition.partition_epoch += 1;
    }
    run_.partitions[p].leader_epoch = partition.leader_epoch.value;
  }
  broker_machine_.start(
      [image = make_image({topic_}, image_offset_)](NodeEnv& env) { return ScriptedBroker::make(env, kPort, image); });
  arm_crash();
}

void BrokerRun::arm_crash() {
  if (!plan_.has_crashes || !has_faults_ || crashes_ >= 6 || !is_topic_made_) return;
  bool const is_power_loss = plan_.has_power_loss && random_.chance(0.7);
  auto const kind = is_power_loss ? CrashKind::power_loss : CrashKind::process;
  if (plan_.crashes_at_disk_calls && random_.chance(0.6)) {
    broker_machine_.node()->crash_at_disk_call(1 + static_cast<int64_t>(random_.below(1000)), kind);
  }
  auto const lives = broker_machine_.lives();
  after(std::chrono::milliseconds(1 + random_.below(1500)), [this, kind, lives] {
    if (!has_faults_ || broker_machine_.lives() != lives) return;
    if (plan_.has_orderly_stops && random_.chance(0.5)) broker_machine_.stop();
    else broker_machine_.kill(kind);
  });
}

void BrokerRun::on_broker_end(bool was_crash) {
  ++crashes_;
  bool const must_be_clean = !was_crash && !plan_.has_disk_faults && !plan_.has_full_disk;
  if (must_be_clean &&
      !broker_machine_.disk().durable_content(fmt::format("{}/.kafka_cleanshutdown", kDataDirectory))) {
    run_.fail("an orderly stop has left no durable mark");
  }
  if (std::exchange(boots_, broker_machine_.boots()) != broker_machine_.boots() && plan_.is_lossy()) {
    run_.losses.push_back(run_.now());
  }
  broker_machine_.disk().clear_faults();
  broker_machine_.disk().set_capacity(int64_t{1} << 40);
  after(std::chrono::milliseconds(random_.below(500)), [this] {
    if (!broker_machine_.is_running()) start_broker();
  });
}

void BrokerRun::publish(Task published) {
  auto* node = scripted();
  ++image_offset_;
  auto image = make_image({topic_}, image_offset_);
  for (size_t p = 0; p < topic_.partitions.size(); ++p) {
    run_.partitions[p].leader_epoch = topic_.partitions[p].leader_epoch.value;
  }
  if (node == nullptr) {
    // A machine that is down starts with the newest image; a process that is being made has taken an older one.
    if (!broker_machine_.is_running()) return;
    auto shared = std::make_shared<Task>(std::move(published));
    return after(10ms, [this, shared] { publish(std::move(*shared)); });
  }
  broker_machine_.node()->sim_control().post([this, image, published = std::move(published)]() mutable {
    if (auto* alive = scripted()) alive->publish(image, std::move(published));
  });
}

void BrokerRun::shrink() {
  is_alone_ = true;
  for (auto& partition : topic_.partitions) {
    partition.isr = {BrokerId(kBrokerId)};
    ++partition.partition_epoch;
  }
  publish();
  if (random_.chance(0.5)) {
    after(std::chrono::milliseconds(50 + random_.below(200)), [this] {
      for (uint32_t p = 0; p < plan_.partitions; ++p) {
        follower_->lose_tail(p, static_cast<int64_t>(random_.below(static_cast<uint64_t>(follower_->end(p)) + 1)));
      }
    });
  }
  after(std::chrono::milliseconds(300 + random_.below(700)), [this] { try_expand(); });
}

void BrokerRun::try_expand() {
  if (!is_alone_ || is_expanding_) return;
  bool is_caught_up = broker() != nullptr && broker()->is_serving();
  for (uint32_t p = 0; is_caught_up && p < plan_.partitions; ++p) {
    auto const end = log_end(p);
    is_caught_up = end >= 0 && follower_->end(p) >= end;
  }
  if (!is_caught_up) return after(10ms, [this] { try_expand(); });
  is_expanding_ = true;
  for (auto& partition : topic_.partitions) {
    partition.isr = {BrokerId(kBrokerId), BrokerId(kFollowerId)};
    ++partition.partition_epoch;
  }
  // From when every partition has heard of it, nothing more is committed without the follower.
  auto const lives = broker_machine_.lives();
  publish([this, lives] {
    if (auto* node = scripted()) {
      node->settle([this, lives] {
        if (broker_machine_.lives() != lives || !is_expanding_) return;
        for (uint32_t p = 0; p < plan_.partitions; ++p) floor_[p] = std::max(floor_[p], log_end(p));
        is_expanding_ = is_alone_ = false;
      });
    }
  });
  watch_expansion(lives);
}

// A crash may swallow the answer; then it is tried again with the next life.
void BrokerRun::watch_expansion(uint32_t lives) {
  after(100ms, [this, lives] {
    if (!is_expanding_) return;
    if (broker_machine_.lives() == lives && broker() != nullptr) return watch_expansion(lives);
    is_expanding_ = false;
    try_expand();
  });
}

void BrokerRun::change_something() {
  if (!has_faults_) return;
  auto const what = random_.below(7);
  if (what == 0 && plan_.has_epoch_bumps) {
    for (auto& partition : topic_.partitions) {
      partition.leader_epoch += 1;
      ++partition.partition_epoch;
    }
    publish();
  } else if (what == 1 && plan_.has_isr_changes && plan_.has_follower && !is_alone_) {
    shrink();
  } else if (what == 2 && follower_ != nullptr) {
    follower_->pause(std::chrono::milliseconds(random_.below(1500)));
  } else if (what == 3) {
    auto& other = random_.chance(0.5) || follower_ == nullptr ? client_machine_ : follower_machine_;
    bool const is_there = random_.chance(0.5);
    auto& from = is_there ? broker_machine_ : other;
    auto& to = is_there ? other : broker_machine_;
    world_.network().cut(from, to);
    after(std::chrono::milliseconds(random_.below(3000)), [this, &from, &to] { world_.network().heal(from, to); });
  } else if (what == 4) {
    if (random_.chance(0.5)) world_.network().reset_connections(broker_machine_);
    else broker_machine_.pause(std::chrono::milliseconds(random_.below(1000)));
  } else if (what == 5) {
    broker_machine_.jump_wall(random_.between(-3'600'000, 3'600'000));
  } else if (what == 6 && plan_.has_slow_disk) {
    // A stall: for a while every call takes long.
    auto& speed = broker_machine_.disk().speed();
    auto const call = std::exchange(speed.call, std::chrono::milliseconds(5 + random_.below(100)));
    after(std::chrono::milliseconds(random_.below(1000)), [this, call] { broker_machine_.disk().speed().call = call; });
  }
  after(std::chrono::milliseconds(50 + random_.below(600)), [this] { change_something(); });
}

void BrokerRun::start_clients() {
  client_machine_.start([this](NodeEnv& env) {
    auto actors = std::make_unique<Actors>();
    auto random = random_.fork("clients");
    for (uint32_t i = 0; i < plan_.producers; ++i) {
      ProducerPlan plan;
      plan.is_idempotent = random.chance(0.7);
      plan.acks = plan.is_idempotent || random.chance(0.3) ? -1 : 1;
      plan.in_flight_max = 1 + random.below(5);
      plan.records_max = static_cast<uint32_t>(1 + random.below(10));
      plan.pause_max = std::chrono::milliseconds(1 + random.below(40));
      plan.request_timeout = std::chrono::milliseconds(300 + random.below(3000));
      plan.broker_timeout_ms = static_cast<int32_t>(100 + random.below(3000));
      plan.codec = random.chance(0.3) ? static_cast<Codec>(random.below(5)) : Codec::none;
      producers_.push_back(&actors->add<Producer>(env, i % 2, run_, plan));
    }
    for (uint32_t i = 0; i < plan_.consumers; ++i) {
      ConsumerPlan plan;
      plan.isolation = random.chance(0.3) ? checker::Isolation::read_committed : checker::Isolation::read_uncommitted;
      plan.bytes_max = random.chance(0.5) ? 1 << 20 : static_cast<int32_t>(1 + random.below(5000));
      plan.partition_bytes_max = random.chance(0.5) ? 1 << 20 : static_cast<int32_t>(1 + random.below(5000));
      plan.bytes_min = random.chance(0.7) ? 1 : static_cast<int32_t>(random.below(3000));
      plan.wait_ms = static_cast<int32_t>(random.below(500));
      plan.uses_session = random.chance(0.5);
      actors->add<Consumer>(env, i % 2, run_, plan);
    }
    actors->add<Asker>(env, 0, run_, plan_.deletes);
    return actors;
  });
  if (!plan_.has_follower) return;
  follower_machine_.start([this](NodeEnv& env) {
    auto actors = std::make_unique<Actors>();
    follower_ = &actors->add<Follower>(env, 0, run_);
    return actors;
  });
}

bool BrokerRun::wait_for(std::string_view what, std::function<bool()> const& condition, Duration limit) {
  bool const done = world_.run_while_not([&] { return run_.failure.has_value() || condition(); }, limit);
  if (!done) {
    run_.fail(fmt::format("after healing, within {} s: {}; the broker:{}", limit / 1s, what,
                          broker() == nullptr ? " is down" : broker()->describe()));
    for (uint32_t p = 0; follower_ != nullptr && p < plan_.partitions; ++p) {
      *run_.failure += fmt::format("\n  follower {}: start {} end {} promised {}", p, follower_->log_start(p),
                                   follower_->end(p), follower_->promised(p));
    }
  }
  return !run_.failure;
}

void BrokerRun::compare_replicas() {
  for (auto const& read : run_.history.final_reads) {
    auto const held = follower_->records(read.partition);
    std::map<int64_t, checker::Value> by_offset;
    for (auto const& record : held) by_offset[record.offset] = record.value;
    for (auto const& record : read.records) {
      if (record.offset < follower_->log_start(read.partition) || record.offset >= follower_->end(read.partition)) continue;
      auto const found = by_offset.find(record.offset);
      if (found == by_offset.end() || found->second != record.value) {
        return run_.fail(fmt::format("partition {}: the replicas differ at offset {}", read.partition, record.offset));
      }
    }
    if (follower_->end(read.partition) < read.end) {
      return run_.fail(fmt::format("partition {}: the mark is {}, the in-sync follower ends at {}", read.partition, read.end,
                                   follower_->end(read.partition)));
    }
  }
}

// One call fails, and with it the log directory; the process is restarted, as an operator would.
void BrokerRun::fail_disk() {
  if (!has_faults_) return;
  DiskCall const calls[] = {DiskCall::sync, DiskCall::write, DiskCall::rename, DiskCall::sync_directory,
                            DiskCall::sync_file_system};
  auto const call = calls[random_.below(5)];
  bool const is_in_log = (call == DiskCall::sync || call == DiskCall::write) && random_.chance(0.7);
  broker_machine_.disk().add_fault(
      {.call = call, .path_part = is_in_log ? ".log" : "", .skip = static_cast<int>(random_.below(10))});
  after(std::chrono::milliseconds(200 + random_.below(1500)), [this] {
    if (has_faults_) broker_machine_.kill(CrashKind::process);
  });
}

// Its existence was acknowledged: from here on it must survive everything.
bool BrokerRun::make_topic() {
  auto& machine = world_.add_machine("topic-maker");
  machine.start([this](NodeEnv& env) {
    auto actors = std::make_unique<Actors>();
    topic_maker_ = &actors->add<TopicMaker>(env, 0, run_);
    return actors;
  });
  if (!wait_for("the topic is made", [this] { return topic_maker_ != nullptr && topic_maker_->is_done(); }, 60s)) return false;
  machine.kill(CrashKind::process);
  is_topic_made_ = true;
  arm_crash();
  return true;
}

ScenarioResult BrokerRun::go() {
  ScenarioResult result;
  result.options = fmt::format("scenario={} {}", name_, plan_.text());
  note_options(result.options);
  broker_machine_.on_end([this](bool was_crash) { on_broker_end(was_crash); });
  is_topic_made_ = !plan_.is_whole_node;
  start_broker();
  if (plan_.is_whole_node && !make_topic()) {
    result.failure = *run_.failure;
    return result;
  }
  start_clients();
  after(100ms, [this] { change_something(); });
  if (plan_.has_disk_faults) {
    for (auto count = 1 + random_.below(3); count > 0; --count) {
      after(std::chrono::milliseconds(500 + random_.below(3000)), [this] { fail_disk(); });
    }
  }
  if (plan_.has_full_disk) {
    after(std::chrono::milliseconds(500 + random_.below(2000)), [this] {
      auto& disk = broker_machine_.disk();
      disk.set_capacity(disk.used_bytes() + static_cast<int64_t>(random_.below(20'000)));
      after(1s, [this] { broker_machine_.disk().set_capacity(int64_t{1} << 40); });
    });
  }
  world_.run_while_not([this] { return run_.failure.has_value(); }, plan_.load_span);

  has_faults_ = false;
  world_.network().heal_all();
  world_.network().faults() = {};
  broker_machine_.disk().clear_faults();
  broker_machine_.disk().set_capacity(int64_t{1} << 40);
  run_.is_loading = false;
  broker_machine_.disk().speed() = {};
  if (plan_.has_disk_faults) {
    // The log directory may be offline.
    broker_machine_.kill(CrashKind::process);
    world_.run_for(1s);
  }
  if (wait_for("the broker serves", [this] { return broker() != nullptr && broker()->is_serving(); }, kSettleLimit) &&
      wait_for("both replicas are in sync", [this] { return !is_alone_; }, kSettleLimit) &&
      wait_for("every send is answered",
               [this] { return std::all_of(producers_.begin(), producers_.end(), [](auto* p) { return p->is_idle(); }); },
               kSettleLimit) &&
      wait_for("the mark reaches the end",
               [this] {
                 for (uint32_t p = 0; p < plan_.partitions; ++p) {
                   if (plan_.has_follower && follower_->end(p) < log_end(p)) return false;
                 }
                 return true;
               },
               kSettleLimit)) {
    world_.run_for(2s);
    client_machine_.node()->sim_reactor(0).post([this] {
      auto* actors = static_cast<Actors*>(client_machine_.process());
      final_reader_ = &actors->add<FinalReader>(*client_machine_.node(), 0, run_);
    });
    wait_for("everything is read", [this] { return final_reader_ != nullptr && final_reader_->is_done(); }, kSettleLimit);
  }
  if (!run_.failure && plan_.has_follower) compare_replicas();
  if (!run_.failure) {
    for (auto const& read : run_.history.final_reads) {
      if (!plan_.is_whole_node && read.end != log_end(read.partition)) {
        run_.fail(fmt::format("partition {}: at rest the mark is {} and the end {}", read.partition, read.end,
                              log_end(read.partition)));
      }
    }
    if (plan_.is_whole_node && plan_.is_flush && world_.probes().contains("node.registers_unclean")) {
      run_.fail("the node registered as unclean although nothing was acknowledged before it was synced");
    }
    run_.history.has_restarts = crashes_ > 0;
    auto const violations = checker::check_with_losses(run_.history, run_.losses);
    if (!violations.empty()) {
      run_.fail(fmt::format("{}: partition {}: {}", violations[0].check, violations[0].partition, violations[0].text));
    }
  }
  if (run_.failure && input_.trace != nullptr) fmt::print(input_.trace, "{}", run_.history.text());
  result.failure = run_.failure.value_or("");
  result.hash = world_.trace().hash();
  result.events = world_.events_run();
  result.counts[std::string(kVirtualMs)] = static_cast<uint64_t>(to_ms(world_.now()));
  result.probes = world_.probes();
  for (auto const& send : run_.history.sends) {
    if (send.outcome != checker::Outcome::ok) continue;
    ++result.counts[std::string(kProduceRequests)];
    result.counts[std::string(kAcknowledgedRecords)] += send.count;
  }
  size_t sends_ok = 0, records = 0;
  for (auto const* producer : producers_) sends_ok += producer->sends_ok();
  for (auto const& read : run_.history.final_reads) records += read.records.size();
  result.options += fmt::format(" | crashes={} sends={} ok={} polls={} final_records={}", crashes_,
                                run_.history.sends.size(), sends_ok, run_.history.polls.size(), records);
  broker_machine_.on_end(nullptr);
  return result;
}

namespace {

BrokerPlan common_plan(Random& random) {
  BrokerPlan plan;
  plan.partitions = static_cast<uint32_t>(1 + random.below(3));
  plan.producers = static_cast<uint32_t>(1 + random.below(3));
  plan.consumers = static_cast<uint32_t>(1 + random.below(3));
  plan.deletes = random.chance(0.3) ? 0.1 : 0;
  plan.segment_bytes = random.chance(0.5) ? 1 << 20 : int64_t{1} << (13 + random.below(4));
  plan.index_interval = random.chance(0.5) ? 4096 : static_cast<int64_t>(1 + random.below(500));
  plan.has_slow_disk = random.chance(0.3);
  return plan;
}

}  // namespace

ScenarioResult run_follower(ScenarioInput const& input) {
  auto random = Random(input.seed).fork("follower plan");
  auto plan = common_plan(random);
  plan.has_follower = true;
  plan.has_epoch_bumps = random.chance(0.6);
  plan.has_isr_changes = random.chance(0.5);
  plan.has_crashes = random.chance(0.3);
  plan.crashes_at_disk_calls = random.chance(0.5);
  plan.is_flush = random.chance(0.3);
  // Nobody takes over here: in the page cache the leader would come back with less than it had acknowledged.
  plan.has_power_loss = plan.is_flush && random.chance(0.7);
  plan.min_in_sync = random.chance(0.3) ? 2 : 1;
  return BrokerRun(input, "follower", plan).go();
}

ScenarioResult run_crash(ScenarioInput const& input) {
  auto random = Random(input.seed).fork("crash plan");
  auto plan = common_plan(random);
  plan.is_flush = random.chance(0.6);
  plan.has_crashes = random.chance(0.9);
  plan.has_power_loss = plan.is_flush || random.chance(0.3);
  plan.crashes_at_disk_calls = random.chance(0.7);
  plan.has_epoch_bumps = random.chance(0.3);
  plan.has_disk_faults = random.chance(0.15);
  plan.has_full_disk = random.chance(0.15);
  return BrokerRun(input, "crash", plan).go();
}

ScenarioResult run_node(ScenarioInput const& input) {
  auto random = Random(input.seed).fork("node plan");
  auto plan = common_plan(random);
  plan.is_whole_node = true;
  plan.is_flush = random.chance(0.6);
  plan.has_crashes = random.chance(0.9);
  plan.has_power_loss = plan.is_flush || random.chance(0.3);
  plan.has_orderly_stops = random.chance(0.3);
  plan.crashes_at_disk_calls = random.chance(0.7);
  plan.has_disk_faults = random.chance(0.1);
  plan.has_full_disk = random.chance(0.1);
  return BrokerRun(input, "node", plan).go();
}

std::span<Scenario const> scenarios() {
  static constexpr Scenario kAll[] = {{"node", run_node},       {"follower", run_follower}, {"crash", run_crash},
                                      {"storage", run_storage}, {"group", run_group},       {"quorum", run_quorum},
                                      {"cluster", run_cluster}, {"late_cut", run_late_cut},
                                      {"paused_leader", run_paused_leader}, {"demands", run_demands}};
  return kAll;
}

}  // namespace millrace::sim
