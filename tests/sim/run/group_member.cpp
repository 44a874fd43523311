#include "sim/run/group_member.h"

#include "millrace/protocol/api/delete_groups.h"
#include "millrace/protocol/api/describe_groups.h"
#include "millrace/protocol/api/heartbeat.h"
#include "millrace/protocol/api/join_group.h"
#include "millrace/protocol/api/leave_group.h"
#include "millrace/protocol/api/offset_commit.h"
#include "millrace/protocol/api/offset_fetch.h"
#include "millrace/protocol/api/sync_group.h"

namespace millrace::sim {
namespace {

constexpr std::string_view kTopic = "orders";
constexpr std::string_view kProtocolType = "consumer";
constexpr std::string_view kProtocol = "range";
// An answer that took longer was decided while the member waited, and nothing else happened.
constexpr Duration kWaited = 4s;
constexpr uint64_t kPauseMsMax = 15'000;

// The request had no effect, for good.
bool is_refusal(ErrorCode error) {
  switch (error) {
    case ErrorCode::unknown_member_id:
    case ErrorCode::illegal_generation:
    case ErrorCode::fenced_instance_id:
    case ErrorCode::rebalance_in_progress:
    case ErrorCode::group_id_not_found:
    case ErrorCode::unknown_topic_or_partition: return true;
    default: return false;
  }
}

}  // namespace

// ---- The ledger

void GroupLedger::on_assigned(std::string const& owner, int32_t generation, std::vector<int32_t> const& partitions) {
  newest_generation_ = std::max(newest_generation_, generation);
  for (auto const partition : partitions) {
    auto const [at, is_first] = owners_.try_emplace({generation, partition}, owner);
    if (is_first || at->second == owner) continue;
    run_.fail(fmt::format("group {} generation {}: partition {} belongs to {} and to {}", id_, generation, partition,
                          at->second, owner));
  }
}

GroupLedger::Commit GroupLedger::begin_commit(int32_t partition, int32_t generation, bool is_fenced) {
  auto& each = partitions_[static_cast<size_t>(partition)];
  return {partition, each.next_value++, generation, newest_generation_, is_fenced};
}

void GroupLedger::on_committed(Commit const& commit) {
  if (commit.is_fenced) {
    return run_.fail(fmt::format("group {}: a member whose place another had taken commits {} for partition {}", id_,
                                 commit.value, commit.partition));
  }
  if (commit.generation < commit.newest_generation) {
    return run_.fail(fmt::format("group {}: a commit of generation {} counts after generation {} had begun", id_,
                                 commit.generation, commit.newest_generation));
  }
  ++commits_ok_;
  auto& each = partitions_[static_cast<size_t>(commit.partition)];
  if (commit.value <= each.acknowledged) return;
  each.acknowledged = commit.value;
  each.acknowledged_in = commit.generation;
}

void GroupLedger::on_unknown(Commit const& commit) {
  partitions_[static_cast<size_t>(commit.partition)].unknown[commit.value] = commit.generation;
}

std::vector<int64_t> GroupLedger::floor() const {
  std::vector<int64_t> out;
  for (auto const& each : partitions_) out.push_back(each.acknowledged);
  return out;
}

void GroupLedger::on_fetched(int32_t partition, int64_t value, int64_t floor) {
  if (value >= floor) return;
  // A commit that nobody heard of again may still lie in a connection that was given up, and come after the next one.
  auto const& each = partitions_[static_cast<size_t>(partition)];
  auto const unknown = each.unknown.find(value);
  if (unknown != each.unknown.end() && unknown->second >= each.acknowledged_in) return;
  run_.fail(fmt::format("group {}: partition {} is at {}, but {} was acknowledged", id_, partition, value, floor));
}

// ---- A member

GroupMember::GroupMember(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared, GroupLedger& group, std::string name,
                         std::optional<std::string> instance_id)
    : Actor(env, reactor, run, std::move(name)), shared_(shared), group_(group), instance_id_(std::move(instance_id)) {
  request_timeout_ = kAnswerLimit;
  group_of_coordinator_ = group_.id();
}

std::string GroupMember::describe() const {
  static constexpr std::string_view kDoing[] = {"does nothing", "joins", "syncs", "works"};
  return fmt::format("{} ({} of {}) {} in generation {}{}, owns {}, last refused {}, heard at {} ms{}", name(),
                     member_id_.empty() ? "new" : member_id_, group_.id(), kDoing[static_cast<size_t>(doing_)],
                     generation_, leads_ ? " as leader" : "", owned_.size(), last_refusal_, to_ms(heard_),
                     is_asking_ ? ", asking" : "");
}

void GroupMember::on_connected() {
  if (!std::exchange(is_ticking_, true)) act_later();
}

void GroupMember::on_disconnected() {
  is_asking_ = false;
  if (doing_ == Doing::joining) doing_ = Doing::nothing;
}

void GroupMember::act_later() {
  after(std::chrono::milliseconds(10 + random_.below(doing_ == Doing::working ? 1500 : 60)), [this] {
    act();
    act_later();
  });
}

void GroupMember::act() {
  auto const now = world().now();
  if (!is_connected() || is_asking_ || (shared_.is_rough && now < paused_until_) || shared_.is_still) {
    if (shared_.is_still && is_connected() && !is_asking_ && doing_ == Doing::working) heartbeat();
    return;
  }
  if (shared_.is_rough) {
    if (random_.chance(0.02)) {
      paused_until_ = now + std::chrono::milliseconds(random_.below(kPauseMsMax));
      return;
    }
    if (random_.chance(0.015)) return forget();
  }
  switch (doing_) {
    case Doing::nothing: return join();
    case Doing::joining: return;
    case Doing::syncing: return sync();
    case Doing::working: break;
  }
  if (ghost_ && random_.chance(0.3)) {
    auto const ghost = *std::exchange(ghost_, std::nullopt);
    auto const partition = ghost.owned[random_.below(ghost.owned.size())];
    return commit(ghost.member_id, ghost.generation, partition, true);
  }
  auto const kind = random_.below(100);
  if (shared_.is_rough && kind < 2) return leave();
  if (shared_.is_rough && kind < 5) {  // as a cooperative member that says what it owns
    ++metadata_;
    doing_ = Doing::nothing;
    return;
  }
  if (kind < 50 && !owned_.empty()) return commit(member_id_, generation_, owned_[random_.below(owned_.size())], false);
  if (kind >= 50 && kind < 60) return fetch();
  heartbeat();
}

void GroupMember::join() {
  protocol::JoinGroupRequest request;
  request.group_id = group_.id();
  request.session_timeout_ms = kSessionMs;
  request.rebalance_timeout_ms = kRebalanceMs;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = Str(*instance_id_);
  request.protocol_type = kProtocolType;
  auto const metadata = fmt::format("{}", metadata_);
  std::vector<protocol::JoinGroupRequest::JoinGroupRequestProtocol> protocols(1);
  protocols[0].name = kProtocol;
  protocols[0].metadata = as_bytes(metadata);
  request.protocols = protocols;
  doing_ = Doing::joining;
  begin_asking(Patience::answer_limit);
  asked_ = world().now();
  call<protocol::JoinGroupResponse>(
      request, draw_version(ApiKey::join_group, 5, 9),
      [this, incarnation = incarnation_](client::Reply<protocol::JoinGroupResponse>* reply) {
        if (incarnation != incarnation_ || reply == nullptr) return;
        is_asking_ = false;
        auto const& answer = reply->message;
        if (answer.error_code == ErrorCode::member_id_required) {
          member_id_ = std::string(answer.member_id);
          doing_ = Doing::nothing;
          return;
        }
        if (answer.error_code != ErrorCode::none) return failed(answer.error_code);
        member_id_ = std::string(answer.member_id);
        generation_ = answer.generation_id;
        leads_ = answer.leader == answer.member_id && !answer.skip_assignment;
        others_.clear();
        for (auto const& one : answer.members) others_.emplace_back(one.member_id);
        owned_.clear();
        doing_ = Doing::syncing;
      });
}

void GroupMember::sync() {
  protocol::SyncGroupRequest request;
  request.group_id = group_.id();
  request.generation_id = generation_;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = Str(*instance_id_);
  request.protocol_type = Str(kProtocolType);
  request.protocol_name = Str(kProtocol);
  std::map<std::string, std::string> shares;
  std::vector<protocol::SyncGroupRequest::SyncGroupRequestAssignment> assignments;
  if (leads_ && !others_.empty()) {
    for (int32_t i = 0; i < group_.partition_count(); ++i) {
      shares[others_[static_cast<size_t>(i) % others_.size()]] += static_cast<char>('A' + i);
    }
    for (auto const& [id, share] : shares) {
      assignments.emplace_back();
      assignments.back().member_id = id;
      assignments.back().assignment = as_bytes(share);
    }
  }
  request.assignments = assignments;
  begin_asking(Patience::session);
  asked_ = world().now();
  call<protocol::SyncGroupResponse>(
      request, draw_version(ApiKey::sync_group, 3, 5),
      [this, incarnation = incarnation_](client::Reply<protocol::SyncGroupResponse>* reply) {
        if (incarnation != incarnation_ || reply == nullptr) return;
        is_asking_ = false;
        if (reply->message.error_code != ErrorCode::none) return failed(reply->message.error_code);
        on_assignment(reply->message.assignment);
      });
}

void GroupMember::on_assignment(ByteView bytes) {
  owned_.clear();
  for (auto const byte : bytes) owned_.push_back(static_cast<int32_t>(byte) - 'A');
  doing_ = Doing::working;
  group_.on_assigned(instance_id_.value_or(fmt::format("{}#{}", name(), incarnation_)), generation_, owned_);
}

void GroupMember::look_for_coordinator_after(ErrorCode error) {
  bool const has_moved = error == ErrorCode::not_coordinator || error == ErrorCode::coordinator_not_available;
  if (has_moved && !run_.brokers.empty()) reactor().post([this] { drop_connection(); });
}

void GroupMember::failed(ErrorCode error) {
  auto const now = world().now();
  look_for_coordinator_after(error);
  last_refusal_ = fmt::format("at {} ms {}: {}", to_ms(now),
                              doing_ == Doing::joining   ? "join"
                              : doing_ == Doing::syncing ? "sync"
                                                         : "work",
                              error);
  if (error == ErrorCode::unknown_member_id && !member_id_.empty() && doing_ == Doing::joining &&
      now - asked_ > kWaited && !shared_.is_disturbed && shared_.disturbed < asked_ - from_ms(kSessionMs)) {
    run_.fail(fmt::format("{} was expired while its Join waited {} ms", describe(), to_ms(now - asked_)));
  }
  doing_ = Doing::nothing;
  owned_.clear();
  if (error == ErrorCode::unknown_member_id || error == ErrorCode::fenced_instance_id) member_id_.clear();
}

// The heartbeats of a stock client go on while others of its requests wait, but for a Join. Once none was answered for
// a session it takes the coordinator for gone: a machine that lost power never says so.
void GroupMember::begin_asking(Patience patience) {
  is_asking_ = true;
  auto const number = ++asked_count_;
  if (patience == Patience::answer_limit || !shared_.misses_coordinator) return;
  after(from_ms(kSessionMs), [this, number] {
    if (is_asking_ && number == asked_count_) drop_connection();
  });
}

void GroupMember::heartbeat() {
  protocol::HeartbeatRequest request;
  request.group_id = group_.id();
  request.generation_id = generation_;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = Str(*instance_id_);
  begin_asking(Patience::session);
  call<protocol::HeartbeatResponse>(
      request, draw_version(ApiKey::heartbeat, 3, 4),
      [this, incarnation = incarnation_](client::Reply<protocol::HeartbeatResponse>* reply) {
        if (incarnation != incarnation_ || reply == nullptr) return;
        is_asking_ = false;
        auto const error = reply->message.error_code;
        if (error == ErrorCode::none) heard_ = world().now();
        look_for_coordinator_after(error);
        if (is_refusal(error)) failed(error);
      });
}

void GroupMember::commit(std::string const& member_id, int32_t generation, int32_t partition, bool is_ghost) {
  auto const commit = group_.begin_commit(partition, generation, is_ghost && instance_id_.has_value());
  protocol::OffsetCommitRequest request;
  request.group_id = group_.id();
  request.generation_id_or_member_epoch = generation;
  request.member_id = member_id;
  if (instance_id_) request.group_instance_id = Str(*instance_id_);
  std::vector<protocol::OffsetCommitRequest::OffsetCommitRequestPartition> partitions(1);
  partitions[0].partition_index = partition;
  partitions[0].committed_offset = commit.value;
  std::vector<protocol::OffsetCommitRequest::OffsetCommitRequestTopic> topics(1);
  topics[0].name = kTopic;
  topics[0].partitions = partitions;
  request.topics = topics;
  begin_asking(Patience::session);
  call<protocol::OffsetCommitResponse>(
      request, draw_version(ApiKey::offset_commit, 7, 9),
      [this, commit, is_ghost, incarnation = incarnation_](client::Reply<protocol::OffsetCommitResponse>* reply) {
        if (incarnation == incarnation_ && reply != nullptr) is_asking_ = false;
        if (reply == nullptr) return group_.on_unknown(commit);
        auto const& answered = reply->message.topics;
        if (answered.size() != 1 || answered[0].partitions.size() != 1)
          return run_.fail("an OffsetCommit answer does not name the partition that was sent");
        auto const error = answered[0].partitions[0].error_code;
        if (error == ErrorCode::none) return group_.on_committed(commit);
        look_for_coordinator_after(error);
        if (!is_refusal(error)) return group_.on_unknown(commit);
        if (incarnation == incarnation_ && !is_ghost && doing_ == Doing::working) failed(error);
      });
}

void GroupMember::fetch() {
  protocol::OffsetFetchRequest request;
  request.group_id = group_.id();
  std::vector<int32_t> indexes;
  for (int32_t i = 0; i < group_.partition_count(); ++i) indexes.push_back(i);
  std::vector<protocol::OffsetFetchRequest::OffsetFetchRequestTopic> topics(1);
  topics[0].name = kTopic;
  topics[0].partition_indexes = indexes;
  request.topics = topics;
  begin_asking(Patience::session);
  call<protocol::OffsetFetchResponse>(
      request, draw_version(ApiKey::offset_fetch, 2, 7),
      [this, floor = group_.floor(), incarnation = incarnation_](client::Reply<protocol::OffsetFetchResponse>* reply) {
        if (incarnation == incarnation_ && reply != nullptr) is_asking_ = false;
        if (reply == nullptr) return;
        look_for_coordinator_after(reply->message.error_code);
        if (reply->message.error_code != ErrorCode::none) return;
        for (auto const& topic : reply->message.topics) {
          for (auto const& one : topic.partitions) {
            if (one.error_code != ErrorCode::none) continue;
            group_.on_fetched(one.partition_index, one.committed_offset,
                              floor[static_cast<size_t>(one.partition_index)]);
          }
        }
      });
}

void GroupMember::leave() {
  protocol::LeaveGroupRequest request;
  request.group_id = group_.id();
  std::vector<protocol::LeaveGroupRequest::MemberIdentity> members(1);
  auto const id = member_id_;
  members[0].member_id = id;
  if (instance_id_) members[0].group_instance_id = Str(*instance_id_);
  request.members = members;
  ghost_.reset();
  ++incarnation_;
  member_id_.clear();
  owned_.clear();
  doing_ = Doing::nothing;
  begin_asking(Patience::session);
  call<protocol::LeaveGroupResponse>(
      request, draw_version(ApiKey::leave_group, 3, 5),
      [this, incarnation = incarnation_](client::Reply<protocol::LeaveGroupResponse>* reply) {
        if (incarnation == incarnation_ && reply != nullptr) is_asking_ = false;
      });
}

// The process dies. A static member comes back under its name; the old one may not have been quite dead.
void GroupMember::forget() {
  if (doing_ == Doing::working && !owned_.empty()) ghost_ = Ghost{member_id_, generation_, owned_};
  ++incarnation_;
  member_id_.clear();
  owned_.clear();
  generation_ = -1;
  doing_ = Doing::nothing;
  is_asking_ = false;
  drop_connection();
}

// ---- Groups that are deleted

GroupDeleter::GroupDeleter(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared)
    : Actor(env, reactor, run, "deleter"), shared_(shared) {}

void GroupDeleter::on_connected() {
  if (!std::exchange(is_ticking_, true)) act_later();
}

void GroupDeleter::act_later() {
  after(std::chrono::milliseconds(50 + random_.below(400)), [this] {
    if (is_connected()) act();
    act_later();
  });
}

void GroupDeleter::act() {
  if (!deleted_.empty() && random_.chance(0.5)) {
    protocol::OffsetFetchRequest request;
    auto const& id = deleted_[random_.below(deleted_.size())];
    request.group_id = id;
    std::vector<int32_t> indexes{0};
    std::vector<protocol::OffsetFetchRequest::OffsetFetchRequestTopic> topics(1);
    topics[0].name = kTopic;
    topics[0].partition_indexes = indexes;
    request.topics = topics;
    call<protocol::OffsetFetchResponse>(
        request, draw_version(ApiKey::offset_fetch, 2, 7),
        [this, id](client::Reply<protocol::OffsetFetchResponse>* reply) {
          if (reply == nullptr || reply->message.error_code != ErrorCode::none) return;
          for (auto const& topic : reply->message.topics) {
            for (auto const& one : topic.partitions) {
              if (one.error_code == ErrorCode::none && one.committed_offset >= 0)
                run_.fail(fmt::format("group {} was deleted and has offset {} again", id, one.committed_offset));
            }
          }
        });
    return;
  }
  if (shared_.is_still) return;
  auto const id = fmt::format("deleted-{}", made_++);
  protocol::OffsetCommitRequest request;
  request.group_id = id;
  std::vector<protocol::OffsetCommitRequest::OffsetCommitRequestPartition> partitions(1);
  partitions[0].committed_offset = 7;
  std::vector<protocol::OffsetCommitRequest::OffsetCommitRequestTopic> topics(1);
  topics[0].name = kTopic;
  topics[0].partitions = partitions;
  request.topics = topics;
  call<protocol::OffsetCommitResponse>(request, draw_version(ApiKey::offset_commit, 7, 9),
                                       [this, id](client::Reply<protocol::OffsetCommitResponse>* reply) {
                                         if (reply == nullptr || reply->message.topics.size() != 1 || !is_connected())
                                           return;
                                         if (reply->message.topics[0].partitions[0].error_code != ErrorCode::none)
                                           return;
                                         protocol::DeleteGroupsRequest deletion;
                                         std::vector<Str> names{id};
                                         deletion.groups_names = names;
                                         call<protocol::DeleteGroupsResponse>(
                                             deletion, draw_version(ApiKey::delete_groups, 0, 2),
                                             [this, id](client::Reply<protocol::DeleteGroupsResponse>* answer) {
                                               if (answer == nullptr || answer->message.results.size() != 1) return;
                                               if (answer->message.results[0].error_code == ErrorCode::none)
                                                 deleted_.push_back(id);
                                             });
                                       });
}

// ---- Groups are begun

GroupStarter::GroupStarter(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared)
    : Actor(env, reactor, run, "starter"), shared_(shared) {
  if (!shared.groups.empty()) group_of_coordinator_ = shared.groups[0]->id();
}

void GroupStarter::commit() {
  if (is_done()) return;
  auto& group = *shared_.groups[next_];
  auto const commit = group.begin_commit(0, 0, false);
  protocol::OffsetCommitRequest request;
  request.group_id = group.id();
  std::vector<protocol::OffsetCommitRequest::OffsetCommitRequestPartition> partitions(1);
  partitions[0].committed_offset = commit.value;
  std::vector<protocol::OffsetCommitRequest::OffsetCommitRequestTopic> topics(1);
  topics[0].name = kTopic;
  topics[0].partitions = partitions;
  request.topics = topics;
  call<protocol::OffsetCommitResponse>(request, draw_version(ApiKey::offset_commit, 7, 9),
                                       [this, commit](client::Reply<protocol::OffsetCommitResponse>* reply) {
                                         if (reply == nullptr) return shared_.groups[next_]->on_unknown(commit);
                                         if (reply->message.topics[0].partitions[0].error_code == ErrorCode::none) {
                                           shared_.groups[next_++]->on_committed(commit);
                                         } else {
                                           shared_.groups[next_]->on_unknown(commit);
                                           if (!run_.brokers.empty()) return reactor().post([this] { drop_connection(); });
                                         }
                                         after(20ms, [this] {
                                           if (is_connected()) this->commit();
                                         });
                                       });
}

// ---- What the coordinator says at rest

GroupAsker::GroupAsker(NodeEnv& env, size_t reactor, Run& run, GroupRun& shared)
    : Actor(env, reactor, run, "asker"), shared_(shared) {
  if (!shared.groups.empty()) group_of_coordinator_ = shared.groups[0]->id();
}

void GroupAsker::again(size_t index) {
  if (!run_.brokers.empty()) return reactor().post([this] { drop_connection(); });
  after(50ms, [this, index] {
    if (is_connected()) ask(index);
  });
}

void GroupAsker::ask(size_t index) {
  if (is_done_) return;
  if (index == 0) told_.clear();
  if (index == shared_.groups.size()) {
    is_done_ = true;
    return;
  }
  auto& group = *shared_.groups[index];
  protocol::OffsetFetchRequest request;
  request.group_id = group.id();
  std::vector<int32_t> indexes;
  for (int32_t i = 0; i < group.partition_count(); ++i) indexes.push_back(i);
  std::vector<protocol::OffsetFetchRequest::OffsetFetchRequestTopic> topics(1);
  topics[0].name = kTopic;
  topics[0].partition_indexes = indexes;
  request.topics = topics;
  call<protocol::OffsetFetchResponse>(request, 7,
                                      [this, index, &group](client::Reply<protocol::OffsetFetchResponse>* reply) {
                                        if (reply == nullptr) return;
                                        if (reply->message.error_code != ErrorCode::none) return again(index);
                                        auto const floor = group.floor();
                                        told_ += fmt::format("{}:", group.id());
                                        for (auto const& topic : reply->message.topics) {
                                          for (auto const& one : topic.partitions) {
                                            if (one.error_code != ErrorCode::none) return again(index);
                                            told_ += fmt::format(" {}={}", one.partition_index, one.committed_offset);
                                            group.on_fetched(one.partition_index, one.committed_offset,
                                                             floor[static_cast<size_t>(one.partition_index)]);
                                          }
                                        }
                                        describe(index);
                                      });
}

void GroupAsker::describe(size_t index) {
  protocol::DescribeGroupsRequest request;
  std::vector<Str> names{shared_.groups[index]->id()};
  request.groups = names;
  call<protocol::DescribeGroupsResponse>(
      request, 5, [this, index](client::Reply<protocol::DescribeGroupsResponse>* reply) {
        if (reply == nullptr) return;
        if (reply->message.groups.size() != 1 || reply->message.groups[0].error_code != ErrorCode::none)
          return again(0);
        auto const& group = reply->message.groups[0];
        std::set<std::string> members;
        for (auto const& one : group.members) {
          members.insert(fmt::format(" {}/{}->{}", one.member_id, one.group_instance_id.value_or(Str("-")),
                                     as_text(one.member_assignment)));
        }
        told_ += fmt::format("; {} {}", group.group_state, group.protocol_data);
        for (auto const& one : members) told_ += one;
        told_ += "\n";
        ask(index + 1);
      });
}

}  // namespace millrace::sim
