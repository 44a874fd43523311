// The load of a cluster with brokers, and what must be true of it in the end.
#include "checker/checker.h"
#include "sim/run/cluster_run.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSettleLimit = 60s;

class DataClients final : public Process {
 public:
  std::unique_ptr<TopicCreator> creator;
  std::vector<std::unique_ptr<DataActor>> actors;
};

}  // namespace

template <class A, class... Args>
A& ClusterRun::add_actor(Args&&... args) {
  auto& clients = *static_cast<DataClients*>(data_machine_.process());
  auto made = std::make_unique<A>(*data_machine_.node(), 0, run_, addresses(true), std::forward<Args>(args)...);
  auto& out = *made;
  clients.actors.push_back(std::move(made));
  out.start();
  return out;
}

bool ClusterRun::start_data() {
  if (!plan_.has_brokers()) return true;
  TopicCreator::Topic topic;
  topic.name = "orders";
  topic.partitions = plan_.partitions;
  topic.replication_factor = plan_.replication_factor;
  // Segments, indexes and flushing are as the nodes have them: no topic may have segments as small as here.
  topic.configs.emplace_back("min.insync.replicas", fmt::format("{}", plan_.min_in_sync));
  for (int32_t p = 0; p < plan_.partitions; ++p) run_.partitions.push_back({topic.name, {}, p, -1});
  run_.history.partition_count = static_cast<uint32_t>(plan_.partitions);
  run_.on_sequence_lost = [this](auto partition, auto sequence) {
    fail(fmt::format("partition {}: its leader has forgotten what came before sequence {}", partition, sequence));
  };
  data_machine_.start([this, topic](NodeEnv& env) {
    auto clients = std::make_unique<DataClients>();
    clients->creator = std::make_unique<TopicCreator>(env, 0, addresses(false), topic);
    clients->creator->start();
    return clients;
  });
  auto const is_made = [this] {
    auto const* clients = static_cast<DataClients const*>(data_machine_.process());
    return clients != nullptr && clients->creator->is_done();
  };
  if (!wait_for("the topic is made", is_made, kSettleLimit)) return false;
  data_oracle_ = std::make_unique<DataOracle>(cluster_, run_, [this](std::string text) { fail(std::move(text)); });
  data_machine_.node()->sim_reactor(0).post([this] {
    auto random = random_.fork("data clients");
    for (uint32_t i = 0; i < plan_.producers; ++i) {
      DataProducerPlan plan;
      plan.is_idempotent = random.chance(0.7);
      plan.acks = plan.is_idempotent || random.chance(0.4) ? -1 : 1;
      plan.in_flight_max = 1 + random.below(5);
      plan.records_max = static_cast<uint32_t>(4 + random.below(12));
      plan.pause_max = plan_.produce_pause_max;
      plan.request_timeout = std::chrono::milliseconds(500 + random.below(2500));
      plan.broker_timeout_ms = static_cast<int32_t>(200 + random.below(2000));
      plan.codec = random.chance(0.3) ? static_cast<Codec>(random.below(5)) : Codec::none;
      producers_.push_back(&add_actor<DataProducer>(plan));
    }
    for (uint32_t i = 0; i < plan_.consumers; ++i) {
      DataConsumerPlan plan;
      plan.isolation = random.chance(0.3) ? checker::Isolation::read_committed : checker::Isolation::read_uncommitted;
      plan.bytes_max = random.chance(0.5) ? 1 << 20 : static_cast<int32_t>(1 + random.below(5000));
      plan.partition_bytes_max = random.chance(0.5) ? 1 << 20 : static_cast<int32_t>(1 + random.below(5000));
      plan.wait_ms = static_cast<int32_t>(random.below(500));
      if (plan_.has_racks && random.chance(0.7)) plan.rack = rack_of(random.below(3));
      consumers_.push_back(&add_actor<DataConsumer>(plan));
    }
    for (uint32_t i = 0; i < plan_.committers; ++i) committers_.push_back(&add_actor<OffsetCommitter>());
    add_actor<DataAsker>();
  });
  return true;
}

std::string ClusterRun::describe_clients() const {
  std::string out;
  for (auto const* producer : producers_) {
    if (!producer->is_idle()) out += "\n  " + producer->describe();
  }
  for (auto const* committer : committers_) out += "\n  " + committer->describe();
  if (data_oracle_ != nullptr) out += data_oracle_->describe();
  return out;
}

bool ClusterRun::check_data() {
  if (!plan_.has_brokers()) return true;
  run_.is_loading = false;
  for (auto* committer : committers_) committer->finish();
  auto const all = [](auto const& list) { return std::ranges::all_of(list, [](auto const* each) { return each->is_idle(); }); };
  if (!wait_for("every send is answered", [&] { return all(producers_); }, kSettleLimit) ||
      !wait_for("every commit is answered", [&] { return all(committers_); }, kSettleLimit) ||
      !wait_for("every partition has a leader, and all replicas have everything", [this] { return data_oracle_->is_at_rest(); }, kSettleLimit) ||
      !wait_for("all replicas are in sync", [this] { return are_all_in_sync(); }, kSettleLimit) || !run_for(1s)) {
    return false;
  }
  DataReader* reader = nullptr;
  data_machine_.node()->sim_reactor(0).post([this, &reader] { reader = &add_actor<DataReader>(); });
  if (!wait_for("everything is read", [&] { return reader != nullptr && reader->is_done(); }, kSettleLimit)) return false;
  for (size_t p = 0; p < run_.partitions.size() && !run_.failure; ++p) {
    compare_logs(fmt::format("/{}-{}/", run_.partitions[p].topic, run_.partitions[p].number), data_oracle_->committed_end(p));
  }
  if (!run_.failure) check_history();
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
}

}  // namespace millrace::sim
