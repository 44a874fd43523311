#include "sim/run/demand_run.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "checker/checker.h"
#include "millrace/record/batch.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

class DemandClients final : public Process {
 public:
  std::unique_ptr<TopicCreator> creator;
  std::unique_ptr<ClusterClient> asker;
  std::vector<std::unique_ptr<AdminWriter>> writers;
  std::vector<std::unique_ptr<DataActor>> actors;
};

BrokerId id_of(size_t node) { return BrokerId(static_cast<int32_t>(node + 1)); }

}  // namespace

DemandRun::DemandRun(ScenarioInput const& input, ClusterPlan plan)
    : input_(input),
      plan_(std::move(plan)),
      world_({.seed = input.seed, .mutant = input.mutant, .has_chaos = false, .trace = input.trace}),
      cluster_(world_, plan_),
      quorum_oracle_(cluster_, [this](std::string text) { fail(std::move(text)); }),
      data_machine_(world_.add_machine("data-clients", 2)),
      run_(world_) {}

DemandRun::~DemandRun() {
  for (size_t i = 0; i < cluster_.size(); ++i) cluster_.machine(i).on_end(nullptr);
}

Counts DemandRun::counts() const {
  auto out = counts_;
  out[std::string(kVirtualMs)] = static_cast<uint64_t>(to_ms(world_.now()));
  out[std::string(kAcknowledgedRecords)] = records_ok();
  for (auto const* producer : producers_) out[std::string(kProduceRequests)] += producer->requests_ok();
  return out;
}

// ---- steps

bool DemandRun::wait_for(std::string_view what, std::function<bool()> const& condition, Duration limit) {
  bool const is_done = world_.run_while_not(
      [&] {
        observe();
        return has_failed() || condition();
      },
      limit);
  if (!is_done) fail(fmt::format("not within {} ms: {}; the nodes:{}", to_ms(limit), what, describe()));
  return !has_failed();
}

bool DemandRun::run_for(Duration span, std::function<void()> const& watch) {
  world_.run_while_not(
      [&] {
        observe();
        if (watch && !has_failed()) watch();
        return has_failed();
      },
      span);
  return !has_failed();
}

// Only its own events change what a node is.
void DemandRun::observe() {
  auto const owner = world_.last_owner();
  if (owner == kWorldLife || world_.events_run() == observed_events_) return;
  observed_events_ = world_.events_run();
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto* env = cluster_.machine(i).node();
    if (env == nullptr || env->life() != owner) continue;
    auto* node = cluster_.node(i);
    if (node == nullptr) return;
    node->listen();
    quorum_oracle_.observe(i, *node);
    if (data_oracle_ != nullptr) data_oracle_->observe(i, *node);
    on_image(node->told());
  }
}

void DemandRun::on_image(metadata::ImagePtr const& image) {
  if (image == nullptr || (image_ != nullptr && image->offset <= image_->offset)) return;
  auto const before = std::exchange(image_, image);
  auto const* topic = image->find_topic(kTopic);
  auto const* old_topic = before == nullptr ? nullptr : before->find_topic(kTopic);
  if (topic == nullptr || old_topic == nullptr || topic == old_topic) return;
  topic->partitions.for_each([&](int32_t number, metadata::PartitionImagePtr const& partition) {
    auto const* old = old_topic->partitions.find(number);
    if (old != nullptr && *old != partition) steps_.push_back({now(), number, *old, partition});
  });
}

bool DemandRun::start() {
  cluster_.start_all();
  auto const is_ready = [this] {
    if (!quorum_oracle_.leader()) return false;
    for (size_t i = 0; i < cluster_.size(); ++i) {
      if (!cluster_.is_serving(i)) return false;
    }
    return true;
  };
  if (!wait_for("all nodes serve", is_ready, kSettleLimit)) return false;
  data_machine_.start([this](NodeEnv& env) {
    auto clients = std::make_unique<DemandClients>();
    clients->asker = std::make_unique<ClusterClient>(env, 0, "asker", addresses(true), 3s);
    return clients;
  });
  return wait_for(
      "the clients' machine has started", [this] { return data_machine_.process() != nullptr; }, kSettleLimit);
}

bool DemandRun::make_topic(TopicPlan const& plan) {
  TopicCreator::Topic topic;
  topic.name = kTopic;
  topic.configs = plan.configs;
  for (auto const& replicas : plan.replicas) {
    auto& assigned = topic.replicas.emplace_back();
    for (auto const node : replicas) assigned.push_back(id_of(node).value);
  }
  for (size_t p = 0; p < plan.replicas.size(); ++p)
    run_.partitions.push_back({topic.name, {}, static_cast<int32_t>(p), -1});
  run_.history.partition_count = static_cast<uint32_t>(plan.replicas.size());
  TopicCreator* creator = nullptr;
  on_clients([&] {
    auto& clients = *static_cast<DemandClients*>(data_machine_.process());
    clients.creator = std::make_unique<TopicCreator>(*data_machine_.node(), 0, addresses(false), topic);
    creator = clients.creator.get();
    creator->start();
  });
  auto const is_made = [&] {
    if (!creator->is_done() || partition(0) == nullptr) return false;
    run_.partitions[0].topic_id = image_->find_topic(kTopic)->id;
    for (auto& each : run_.partitions) {
      each.topic_id = run_.partitions[0].topic_id;
      for (auto const id : partition(each.number)->replicas) {
        auto const driver = replica(static_cast<size_t>(id.value - 1), each.number);
        if (driver == nullptr || driver->status() == runtime::PartitionStatus::opening) return false;
      }
    }
    return true;
  };
  return wait_for("the topic is made", is_made, kSettleLimit);
}

bool DemandRun::stop_load() {
  run_.is_loading = false;
  auto const is_idle = [this] {
    return std::ranges::all_of(producers_, [](auto const* each) { return each->is_idle(); });
  };
  return wait_for("every send is answered", is_idle, kSettleLimit);
}

bool DemandRun::read_all() {
  auto& reader = add_actor<DataReader>();
  return wait_for(
      "everything is read", [&] { return reader.is_done(); }, kSettleLimit);
}

bool DemandRun::finish() {
  cluster_.heal_all();
  if (auto const busy_until = cluster_.busy_until(); busy_until > now() && !run_for(busy_until - now())) return false;
  if (!stop_load()) return false;
  auto const is_at_rest = [this] { return data_oracle_ == nullptr || data_oracle_->is_at_rest(); };
  if (!wait_for("all replicas have everything", is_at_rest, kSettleLimit) ||
      !wait_for(
          "all replicas are in sync", [this] { return are_all_in_sync(); }, kSettleLimit) ||
      !run_for(1s) || !read_all()) {
    return false;
  }
  for (auto const& each : run_.partitions) {
    if (auto const difference = compare_replicas(each.number); !difference.empty()) fail("C14: " + difference);
  }
  if (has_failed()) return false;
  run_.history.do_leaders_move = true;
  for (auto& send : run_.history.sends) {
    if (data_oracle_ != nullptr && send.outcome == checker::Outcome::ok && send.base_offset >= 0) {
      send.leader_epoch = data_oracle_->committed_in(send.partition, send.base_offset + send.count);
    }
  }
  auto const violations = checker::check_with_losses(run_.history, run_.losses);
  if (!violations.empty())
    fail(fmt::format("{}: partition {}: {}", violations[0].check, violations[0].partition, violations[0].text));
  return !has_failed();
}

// ---- clients

std::vector<ClusterClient::Address> DemandRun::addresses(bool of_brokers) {
  std::vector<ClusterClient::Address> out;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    // A client's list of brokers has a place for every node: its number there is its id.
    if (of_brokers)
      out.push_back({cluster_.machine(i).name(), kClientPort});
    else if (plan_.nodes[i].is_controller)
      out.push_back({cluster_.machine(i).name(), kControllerPort});
  }
  return out;
}

void DemandRun::on_clients(std::function<void()> task) {
  auto const is_done = std::make_shared<bool>(false);
  data_machine_.node()->sim_reactor(0).post([task = std::move(task), is_done] {
    task();
    *is_done = true;
  });
  // Also when something is broken: who asked goes on with what was made.
  bool const has_run = world_.run_while_not(
      [&] {
        observe();
        return *is_done;
      },
      kSettleLimit);
  MR_ASSERT(has_run);
}

void DemandRun::keep(std::unique_ptr<DataActor> actor) {
  static_cast<DemandClients*>(data_machine_.process())->actors.push_back(std::move(actor));
}

ClusterClient& DemandRun::asker() { return *static_cast<DemandClients*>(data_machine_.process())->asker; }

void DemandRun::judge_replicas() {
  data_oracle_ = std::make_unique<DataOracle>(cluster_, run_, [this](std::string text) { fail(std::move(text)); });
  run_.on_committed_claim = [this](auto partition, auto end, auto what) {
    data_oracle_->on_claim(partition, Offset(end), what);
  };
  run_.has_led_since = [this](auto partition, auto node, auto when) {
    return data_oracle_->has_led_since(partition, node, when);
  };
  run_.on_served = [this](auto partition, auto node, auto epoch, auto start) {
    data_oracle_->on_served(partition, node, LeaderEpoch(epoch), start);
  };
}

DataProducer& DemandRun::add_producer(DataProducerPlan const& plan) {
  auto& out = add_actor<DataProducer>(plan);
  producers_.push_back(&out);
  return out;
}

DataConsumer& DemandRun::add_consumer() { return add_actor<DataConsumer>(DataConsumerPlan()); }

AdminWriter& DemandRun::add_writer() {
  on_clients([this] {
    auto& clients = *static_cast<DemandClients*>(data_machine_.process());
    clients.writers.push_back(std::make_unique<AdminWriter>(
        *data_machine_.node(), 0, fmt::format("admin-{}", clients.writers.size()), addresses(false)));
    writers_.push_back(clients.writers.back().get());
    writers_.back()->start();
  });
  return *writers_.back();
}

uint64_t DemandRun::records_ok() const {
  uint64_t out = 0;
  for (auto const* producer : producers_) out += producer->records_ok();
  return out;
}

// ---- what there is

metadata::PartitionImagePtr DemandRun::partition(int32_t number) const {
  auto const* topic = image_ == nullptr ? nullptr : image_->find_topic(kTopic);
  auto const* found = topic == nullptr ? nullptr : topic->partitions.find(number);
  return found == nullptr ? nullptr : *found;
}

std::optional<size_t> DemandRun::leader(int32_t number) const {
  auto const found = partition(number);
  if (found == nullptr || found->leader == kNoBroker) return std::nullopt;
  return static_cast<size_t>(found->leader.value - 1);
}

bool DemandRun::is_in_sync(int32_t number, size_t node) const {
  auto const found = partition(number);
  return found != nullptr && found->is_in_isr(id_of(node));
}

bool DemandRun::are_all_in_sync() const {
  return std::ranges::all_of(run_.partitions, [this](auto const& each) {
    auto const found = partition(each.number);
    return found != nullptr && found->isr.size() == found->replicas.size() && found->leader != kNoBroker;
  });
}

std::shared_ptr<runtime::PartitionDriver> DemandRun::replica(size_t node, int32_t number) {
  auto* of = cluster_.node(node);
  return of == nullptr ? nullptr
                       : of->node().partition({run_.partitions[static_cast<size_t>(number)].topic_id, number});
}

DemandRun::OnDisk DemandRun::on_disk(size_t node, int32_t number) {
  OnDisk out;
  auto const directory = fmt::format("/data/{}-{}/", kTopic, number);
  auto const& disk = cluster_.machine(node).disk();
  bool is_first = true;
  for (auto const& path : disk.files()) {
    if (!path.starts_with(directory) || !path.ends_with(".log")) continue;
    auto const content = disk.content(path).value_or("");
    record::BatchReader reader(as_bytes(content));
    record::BatchView batch;
    while (reader.next(batch)) {
      if (record::check(batch)) return out;
      if (std::exchange(is_first, false)) out.start = out.end = batch.base_offset().value;
      if (batch.base_offset().value != out.end) return out;
      std::string fault;
      int64_t next_offset = out.end;
      if (!read_batches(batch.bytes(), out.end, out.records, next_offset, fault)) return out;
      out.end = batch.next_offset().value;
    }
  }
  return out;
}

std::string DemandRun::compare_replicas(int32_t number) {
  return cluster_.first_difference(fmt::format("/{}-{}/", kTopic, number), Offset(std::numeric_limits<int64_t>::max()));
}

std::string DemandRun::describe() {
  auto out = cluster_.describe();
  for (auto const* producer : producers_) {
    if (!producer->is_idle()) out += "\n  " + producer->describe();
  }
  for (auto const& each : run_.partitions) {
    auto const found = partition(each.number);
    if (found == nullptr) continue;
    out += fmt::format("\n  {}-{}: led by {} in epoch {}, in sync: {}, eligible: {}, last known: {}", kTopic,
                       each.number, found->leader, found->leader_epoch, fmt::join(found->isr, " "),
                       fmt::join(found->elr, " "), fmt::join(found->last_known_elr, " "));
  }
  if (data_oracle_ != nullptr) out += data_oracle_->describe();
  return out;
}

// ---- faults

void DemandRun::cut_both_ways(size_t a, size_t b) {
  cluster_.cut(a, b);
  cluster_.cut(b, a);
}

void DemandRun::heal_both_ways(size_t a, size_t b) {
  cluster_.heal(a, b);
  cluster_.heal(b, a);
}

void DemandRun::cut_from_clients(size_t node) {
  world_.network().cut(data_machine_, cluster_.machine(node));
  world_.network().cut(cluster_.machine(node), data_machine_);
}

void DemandRun::kill(size_t node, CrashKind how, bool stays_down) {
  if (stays_down) cluster_.hold_down(node);
  cluster_.machine(node).kill(how);
}

void DemandRun::bring_back(size_t node) { cluster_.start(node); }

}  // namespace millrace::sim
