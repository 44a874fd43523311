#include "member.h"

#include "millrace/protocol/records/consumer_protocol.h"
#include "millrace/protocol/records/framing.h"

namespace load {

using namespace millrace;
using namespace millrace::protocol;

namespace {

constexpr Str kTopic = "load";

template <class M>
std::string versioned(M const& message, int16_t version) {
  auto bytes = encode_versioned(message, version);
  if (!bytes) Connection::die(bytes.error().message);
  return std::string(as_text(bytes->view()));
}

std::string assignment(std::vector<int32_t> partitions) {
  ConsumerProtocolAssignment out;
  std::vector<ConsumerProtocolAssignment::TopicPartition> topics(1);
  topics[0].topic = kTopic;
  topics[0].partitions = partitions;
  out.assigned_partitions = topics;
  return versioned(out, 1);
}

}  // namespace

Member::Member(Loop& loop, Connection& connection, GroupOptions const& options, Events const& events,
               std::optional<std::string> instance_id)
    : loop_(loop), connection_(connection), options_(options), events_(events), instance_id_(std::move(instance_id)) {}

std::function<void()> Member::guarded(std::function<void()> task) {
  return [this, life = life_, task = std::move(task)] {
    if (life == life_) task();
  };
}

std::string Member::metadata() const {
  ConsumerProtocolSubscription out;
  std::vector<Str> topics{kTopic};
  out.topics = topics;
  auto const salt = fmt::format("{}", salt_);
  out.user_data = as_bytes(salt);
  std::vector<int32_t> partitions(owned_.begin(), owned_.end());
  std::vector<ConsumerProtocolSubscription::TopicPartition> owned(1);
  owned[0].topic = kTopic;
  owned[0].partitions = partitions;
  if (!partitions.empty()) out.owned_partitions = owned;
  return versioned(out, 1);
}

void Member::join() {
  if (std::exchange(is_joining_, true)) return;
  if (!options_.is_cooperative) {
    for (auto const partition : std::exchange(owned_, {})) events_.owns(*this, partition, false);
  }
  is_working_ = false;
  JoinGroupRequest request;
  request.group_id = options_.group_id;
  request.session_timeout_ms = options_.session_timeout_ms;
  request.rebalance_timeout_ms = 60'000;
  request.member_id = id_;
  if (instance_id_) request.group_instance_id = Str(*instance_id_);
  request.protocol_type = "consumer";
  auto const bytes = metadata();
  std::vector<JoinGroupRequest::JoinGroupRequestProtocol> protocols(1);
  protocols[0].name = options_.is_cooperative ? "cooperative-sticky" : "range";
  protocols[0].metadata = as_bytes(bytes);
  request.protocols = protocols;
  connection_.call<JoinGroupResponse>(request, 9, [this, life = life_](JoinGroupResponse const& answer) {
    if (life == life_) on_joined(answer);
  });
}

void Member::on_joined(JoinGroupResponse const& answer) {
  is_joining_ = false;
  if (answer.error_code == ErrorCode::member_id_required) {
    id_ = answer.member_id;
    return join();
  }
  if (answer.error_code != ErrorCode::none) {
    if (answer.error_code == ErrorCode::unknown_member_id) id_.clear();
    events_.refused(*this, answer.error_code);
    return again();
  }
  id_ = answer.member_id;
  generation_ = answer.generation_id;
  leads_ = answer.leader == answer.member_id;
  shares_.clear();
  if (leads_) group_size_ = answer.members.size();
  if (leads_ && !answer.skip_assignment) share_out(answer);
  sync();
}

// Sticky: who has a partition keeps it up to its share; what is free goes to who has least; what somebody still has is
// not given away before it is given up.
void Member::share_out(JoinGroupResponse const& answer) {
  auto const count = options_.partition_count;
  if (count == 0) {
    for (auto const& one : answer.members) shares_[std::string(one.member_id)] = std::string(one.member_id);
    return;
  }
  auto const most = (static_cast<size_t>(count) + answer.members.size() - 1) / answer.members.size();
  std::vector<bool> is_taken(static_cast<size_t>(count));
  std::map<std::string, std::vector<int32_t>> given;
  for (auto const& one : answer.members) {
    auto& kept = given[std::string(one.member_id)];
    Reader in(one.metadata);
    Arena arena;
    ConsumerProtocolSubscription subscription;
    auto const version = read_int16_prefix(in);
    if (!version || !decode(in, *version, arena, subscription)) Connection::die("a subscription cannot be read");
    for (auto const& topic : subscription.owned_partitions) {
      for (auto const partition : topic.partitions) {
        is_taken[static_cast<size_t>(partition)] = true;
        if (kept.size() < most) kept.push_back(partition);
      }
    }
  }
  for (int32_t partition = 0; partition < count; ++partition) {
    if (is_taken[static_cast<size_t>(partition)]) continue;
    auto const least = std::min_element(given.begin(), given.end(),
                                        [](auto const& a, auto const& b) { return a.second.size() < b.second.size(); });
    least->second.push_back(partition);
  }
  for (auto& [id, partitions] : given) shares_[id] = assignment(std::move(partitions));
}

void Member::sync() {
  SyncGroupRequest request;
  request.group_id = options_.group_id;
  request.generation_id = generation_;
  request.member_id = id_;
  if (instance_id_) request.group_instance_id = Str(*instance_id_);
  request.protocol_type = Str("consumer");
  request.protocol_name = Str(options_.is_cooperative ? "cooperative-sticky" : "range");
  std::vector<SyncGroupRequest::SyncGroupRequestAssignment> assignments;
  for (auto const& [id, share] : shares_) {
    auto& one = assignments.emplace_back();
    one.member_id = id;
    one.assignment = as_bytes(share);
  }
  request.assignments = assignments;
  connection_.call<SyncGroupResponse>(request, 5, [this, life = life_](SyncGroupResponse const& answer) {
    if (life != life_) return;
    if (answer.error_code == ErrorCode::none) return on_assigned(answer.assignment);
    if (answer.error_code == ErrorCode::unknown_member_id) id_.clear();
    if (answer.error_code != ErrorCode::rebalance_in_progress) events_.refused(*this, answer.error_code);
    again();
  });
}

void Member::on_assigned(ByteView bytes) {
  is_working_ = true;
  bool has_given_up = false;
  if (options_.partition_count > 0 && !bytes.empty()) {
    Reader in(bytes);
    Arena arena;
    ConsumerProtocolAssignment assigned;
    auto const version = read_int16_prefix(in);
    if (!version || !decode(in, *version, arena, assigned)) Connection::die("an assignment cannot be read");
    std::set<int32_t> now_owned;
    for (auto const& topic : assigned.assigned_partitions) {
      for (auto const partition : topic.partitions) now_owned.insert(partition);
    }
    for (auto const partition : owned_) {
      if (now_owned.contains(partition)) continue;
      has_given_up = true;
      events_.owns(*this, partition, false);
    }
    for (auto const partition : now_owned) {
      if (!owned_.contains(partition)) events_.owns(*this, partition, true);
    }
    owned_ = std::move(now_owned);
  }
  if (has_given_up && options_.is_cooperative) return join();
  events_.working(*this);
}

void Member::start_heartbeats(Millis first) {
  if (!std::exchange(has_heartbeats_, true)) schedule_heartbeat(first);
}

void Member::spread_heartbeats(Millis first) { schedule_heartbeat(first); }

void Member::schedule_heartbeat(Millis wait) {
  loop_.after(wait, guarded([this, beat = ++beat_] {
                if (beat == beat_) heartbeat();  // else another was scheduled since
              }));
}

void Member::heartbeat() {
  if (!is_working_) return schedule_heartbeat(options_.heartbeat_interval);
  HeartbeatRequest request;
  request.group_id = options_.group_id;
  request.generation_id = generation_;
  request.member_id = id_;
  if (instance_id_) request.group_instance_id = Str(*instance_id_);
  auto const begin = Clock::now();
  connection_.call<HeartbeatResponse>(
      request, 4, [this, begin, beat = beat_, life = life_](HeartbeatResponse const& answer) {
        if (life != life_) return;
        events_.heard(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin));
        auto const due = begin + options_.heartbeat_interval;
        if (beat == beat_) schedule_heartbeat(std::max(Millis(0), std::chrono::ceil<Millis>(due - Clock::now())));
        if (answer.error_code == ErrorCode::none || !is_working_) return;
        if (answer.error_code != ErrorCode::rebalance_in_progress) events_.refused(*this, answer.error_code);
        if (answer.error_code == ErrorCode::unknown_member_id) id_.clear();
        again();
      });
}

}  // namespace load
