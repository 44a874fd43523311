// The load of a cluster with brokers, and what must be true of it in the end.
#include "checker/checker.h"
#include "sim/run/cluster_run.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSettleLimit = 60s;
// What a run must have done before it may end; after much trouble it goes on for a while without any.
constexpr Duration kSpanMin = 30s;
constexpr uint64_t kRecordsMin = 2000;
constexpr uint64_t kRequestsMin = 500;

constexpr std::string_view kTopic = "orders";
constexpr int32_t kLoosePartitions = 2;

class DataClients final : public Process {
 public:
  std::vector<std::unique_ptr<TopicCreator>> creators;
  std::vector<std::unique_ptr<DataActor>> actors;
  std::unique_ptr<TopicCycler> cycler;
  std::unique_ptr<LateRequests> late_requests;
};

std::string number(int32_t value) { return fmt::format("{}", value); }

}  // namespace

template <class A, class... Args>
A& ClusterRun::add_actor(Run& run, Args&&... args) {
  auto& clients = *static_cast<DataClients*>(data_machine_.process());
  auto made = std::make_unique<A>(*data_machine_.node(), 0, run, addresses(true), std::forward<Args>(args)...);
  auto& out = *made;
  clients.actors.push_back(std::move(made));
  out.start();
  return out;
}

bool ClusterRun::start_data() {
  if (!plan_.has_brokers()) return true;
  std::vector<TopicCreator::Topic> topics;
  // Segments, indexes and flushing are as the nodes have them: no topic may have segments as small as here.
  topics.push_back({std::string(kTopic), plan_.partitions, plan_.replication_factor, {{"min.insync.replicas", number(plan_.min_in_sync)}}});
  for (int32_t p = 0; p < plan_.partitions; ++p) run_.partitions.push_back({topics.back().name, {}, p, -1});
  run_.history.partition_count = static_cast<uint32_t>(plan_.partitions);
  if (plan_.has_loose_topic) {
    topics.push_back({std::string(kLooseTopic), kLoosePartitions, 2, {{"min.insync.replicas", "1"}, {"unclean.leader.election.enable", "true"}}});
    for (int32_t p = 0; p < kLoosePartitions; ++p) loose_run_.partitions.push_back({topics.back().name, {}, p, -1});
    loose_run_.history.partition_count = kLoosePartitions;
  }
  run_.on_sequence_lost = [this](auto partition, auto sequence) {
    fail(fmt::format("partition {}: its leader has forgotten what came before sequence {}", partition, sequence));
  };
  data_machine_.start([this, topics](NodeEnv& env) {
    auto clients = std::make_unique<DataClients>();
    for (auto const& topic : topics) {
      clients->creators.push_back(std::make_unique<TopicCreator>(env, 0, addresses(false), topic));
      clients->creators.back()->start();
    }
    return clients;
  });
  auto const is_made = [this] {
    auto const* clients = static_cast<DataClients const*>(data_machine_.process());
    return clients != nullptr && std::ranges::all_of(clients->creators, [](auto const& creator) { return creator->is_done(); });
  };
  if (!wait_for("the topics are made", is_made, kSettleLimit)) return false;
  data_oracle_ = std::make_unique<DataOracle>(cluster_, run_, [this](std::string text) { fail(std::move(text)); });
  data_oracle_->on_caught_up([this](size_t, size_t node, size_t leader) { strikes_.on_caught_up(node, leader); });
  run_.on_committed_claim = [this](auto partition, auto end, auto what) { data_oracle_->on_claim(partition, Offset(end), what); };
  run_.has_led_since = [this](auto partition, auto node, auto when) { return data_oracle_->has_led_since(partition, node, when); };
  run_.on_served = [this](auto partition, auto node, auto epoch, auto start) { data_oracle_->on_served(partition, node, LeaderEpoch(epoch), start); };
  data_machine_.node()->sim_reactor(0).post([this] {
    auto random = random_.fork("data clients");
    for (uint32_t i = 0; i < plan_.producers; ++i) add_producer(run_, random);
    for (uint32_t i = 0; i < plan_.consumers; ++i) {
      DataConsumerPlan plan;
      plan.isolation = random.chance(0.3) ? checker::Isolation::read_committed : checker::Isolation::read_uncommitted;
      plan.bytes_max = random.chance(0.5) ? 1 << 20 : static_cast<int32_t>(1 + random.below(5000));
      plan.partition_bytes_max = random.chance(0.5) ? 1 << 20 : static_cast<int32_t>(1 + random.below(5000));
      plan.wait_ms = static_cast<int32_t>(random.below(500));
      if (plan_.has_racks && random.chance(0.7)) plan.rack = rack_of(random.below(3));
      consumers_.push_back(&add_actor<DataConsumer>(run_, plan));
    }
    for (uint32_t i = 0; i < plan_.committers; ++i) committers_.push_back(&add_actor<OffsetCommitter>(run_));
    add_actor<DataAsker>(run_);
    for (uint32_t i = 0; i < plan_.loyal_askers; ++i) loyal_askers_.push_back(&add_actor<LoyalAsker>(run_));
    if (plan_.has_operator) {
      operator_ = &add_actor<ClusterOperator>(run_, plan_.min_in_sync, plan_.changes_min_in_sync() ? plan_.replication_factor : plan_.min_in_sync);
    }
    if (plan_.has_loose_topic) add_producer(loose_run_, random);
    auto& clients = *static_cast<DataClients*>(data_machine_.process());
    if (plan_.has_late_requests) {
      clients.late_requests = std::make_unique<LateRequests>(*data_machine_.node(), 0, addresses(false), [this] { return oracle_.leader(); });
      late_requests_ = clients.late_requests.get();
      late_requests_->start();
    }
    if (!plan_.has_cycler) return;
    clients.cycler = std::make_unique<TopicCycler>(*data_machine_.node(), 0, run_, addresses(true), plan_.replication_factor);
    cycler_ = clients.cycler.get();
    cycler_->start();
  });
  return true;
}

void ClusterRun::add_producer(Run& run, Random& random) {
  DataProducerPlan plan;
  plan.is_idempotent = random.chance(0.7);
  plan.acks = plan.is_idempotent || random.chance(0.4) ? -1 : 1;
  plan.in_flight_max = 1 + random.below(5);
  plan.records_max = static_cast<uint32_t>(4 + random.below(12));
  plan.pause_max = plan_.produce_pause_max;
  plan.request_timeout = std::chrono::milliseconds(500 + random.below(2500));
  plan.broker_timeout_ms = static_cast<int32_t>(200 + random.below(2000));
  plan.codec = random.chance(0.3) ? static_cast<Codec>(random.below(5)) : Codec::none;
  (&run == &run_ ? producers_ : loose_producers_).push_back(&add_actor<DataProducer>(run, plan));
}

std::string ClusterRun::describe_replicas(TopicId const& topic, int32_t number) {
  auto out = fmt::format("\n  {}-{}:", kLooseTopic, number);
  if (auto const* image = newest_image(); image != nullptr && image->find_topic(topic) != nullptr) {
    auto const* partition = image->find_topic(topic)->find_partition(number);
    out += fmt::format(" led by {} in epoch {}, in sync: {}, eligible: {};", partition->leader, partition->leader_epoch, fmt::join(partition->isr, " "),
                       fmt::join(partition->elr, " "));
  }
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto const driver = cluster_.is_serving(i) ? cluster_.node(i)->node().partition({topic, number}) : nullptr;
    if (driver == nullptr) continue;
    auto const marks = driver->marks();
    out += fmt::format(" [node {} status {} epoch {} start {} mark {} end {}]", i + 1, static_cast<int>(driver->status()), marks.epoch, marks.log_start.value,
                       marks.high_watermark.offset, marks.end.offset);
  }
  return out;
}

std::string ClusterRun::describe_clients() {
  std::string out;
  for (auto const* list : {&producers_, &loose_producers_}) {
    for (auto const* producer : *list) {
      if (!producer->is_idle()) out += fmt::format("\n  {}{}", list == &loose_producers_ ? "of the loose topic: " : "", producer->describe());
    }
  }
  for (auto const* committer : committers_) out += "\n  " + committer->describe();
  out += describe_members();
  if (cycler_ != nullptr) out += "\n  " + cycler_->describe();
  if (data_oracle_ != nullptr) out += data_oracle_->describe();
  for (auto const& partition : loose_run_.partitions) out += describe_replicas(partition.topic_id, partition.number);
  return out;
}

// A replica may get one batch at a time over a slow link, and all that was produced lies before it: it has more time as long as
// it halves what it lacks. Sends wait for it, too, where min.insync.replicas has become that high.
bool ClusterRun::wait_as_replicas_gain(std::string_view what, std::function<bool()> const& condition) {
  auto const is_over = [&] {
    observe();
    return run_.failure.has_value() || condition();
  };
  for (auto missing = data_oracle_->records_missing(); !world_.run_while_not(is_over, kSettleLimit);) {
    auto const before = std::exchange(missing, data_oracle_->records_missing());
    if (missing == 0 || missing > before / 2) break;
  }
  return wait_for(what, condition, Duration::zero());
}

bool ClusterRun::check_data() {
  if (!plan_.has_brokers()) return true;
  auto const is_enough = [this] {
    return world_.now() >= kSpanMin && acknowledged_records() >= kRecordsMin && acknowledged_requests() >= kRequestsMin;
  };
  if (!wait_for("enough is acknowledged", is_enough, kSettleLimit)) return false;
  run_.is_loading = false;
  for (auto* committer : committers_) committer->finish();
  auto const all = [](auto const& list) { return std::ranges::all_of(list, [](auto const* each) { return each->is_idle(); }); };
  if (!wait_as_replicas_gain("every send is answered", [&] { return all(producers_); }) ||
      !wait_for("every commit is answered", [&] { return all(committers_); }, kSettleLimit) ||
      !wait_as_replicas_gain("every partition has a leader, and all replicas have everything", [this] { return data_oracle_->is_at_rest(); }) ||
      !wait_for("all replicas are in sync", [this] { return are_all_in_sync(); }, kSettleLimit) || !run_for(1s)) {
    return false;
  }
  DataReader* reader = nullptr;
  data_machine_.node()->sim_reactor(0).post([this, &reader] { reader = &add_actor<DataReader>(run_); });
  if (!wait_for("everything is read", [&] { return reader != nullptr && reader->is_done(); }, kSettleLimit)) return false;
  for (size_t p = 0; p < run_.partitions.size() && !run_.failure; ++p) {
    compare_logs(fmt::format("/{}-{}/", run_.partitions[p].topic, run_.partitions[p].number), data_oracle_->committed_end(p));
  }
  if (!run_.failure) check_history();
  return !run_.failure && check_loose_topic() && check_cycled_topic();
}

// Its replicas are compared when everybody knows which topic it is now: who follows the metadata log slowly may still have
// the one before.
bool ClusterRun::check_cycled_topic() {
  if (cycler_ == nullptr) return true;
  cycler_->finish();
  return wait_for("the topic that is made anew is read", [this] { return cycler_->is_idle(); }, kSettleLimit);
}

// Unclean elections may lose anything that was acknowledged. What is left is what was sent, once and in order, and all
// replicas have the same.
bool ClusterRun::check_loose_topic() {
  if (!plan_.has_loose_topic) return true;
  loose_run_.is_loading = false;
  auto const is_idle = [this] { return std::ranges::all_of(loose_producers_, [](auto const* each) { return each->is_idle(); }); };
  if (!wait_for("every send to the loose topic is answered", is_idle, kSettleLimit) || !run_for(1s)) return false;
  DataReader* reader = nullptr;
  data_machine_.node()->sim_reactor(0).post([this, &reader] { reader = &add_actor<DataReader>(loose_run_); });
  if (!wait_for("the loose topic is read", [&] { return reader != nullptr && reader->is_done(); }, kSettleLimit)) return false;
  if (loose_run_.failure) fail("the loose topic: " + *loose_run_.failure);
  for (auto const& read : loose_run_.history.final_reads) {
    if (!run_.failure) compare_logs(fmt::format("/{}-{}/", kLooseTopic, read.partition), Offset(read.end));
  }
  for (auto& send : loose_run_.history.sends) {
    if (send.outcome == checker::Outcome::ok) send.outcome = checker::Outcome::unknown;
    send.base_offset = -1;
  }
  auto const violations = checker::check(loose_run_.history);
  if (!violations.empty()) fail(fmt::format("{}: partition {} of the loose topic: {}", violations[0].check, violations[0].partition, violations[0].text));
  return !run_.failure;
}

bool ClusterRun::are_all_in_sync() {
  auto const* image = newest_image();
  for (size_t i = 0; i < cluster_.size(); ++i) {
    if (plan_.nodes[i].is_broker && !is_in_sync_everywhere(*image, i)) return false;
  }
  return true;
}

void ClusterRun::check_history() {
  run_.history.do_leaders_move = true;
  for (auto& send : run_.history.sends) {
    // Not the epoch in which it was appended: what the next leader acknowledges, one that was deposed need not show.
    if (send.outcome == checker::Outcome::ok && send.base_offset >= 0) {
      send.leader_epoch = data_oracle_->committed_in(send.partition, send.base_offset + send.count);
    }
  }
  auto const violations = checker::check(run_.history);
  if (!violations.empty()) fail(fmt::format("{}: partition {}: {}", violations[0].check, violations[0].partition, violations[0].text));
  if (!run_.failure && !loyal_askers_.empty()) check_loyal_ends();
}

}  // namespace millrace::sim
