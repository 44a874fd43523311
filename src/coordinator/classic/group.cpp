#include "millrace/coordinator/classic/group.h"

#include <limits>

#include "millrace/bytes/arena.h"
#include "millrace/protocol/records/consumer_protocol.h"
#include "millrace/protocol/records/framing.h"

namespace millrace::coordinator {

std::string_view name(GroupState state) {
  switch (state) {
    case GroupState::empty: return "Empty";
    case GroupState::preparing_rebalance: return "PreparingRebalance";
    case GroupState::completing_rebalance: return "CompletingRebalance";
    case GroupState::stable: return "Stable";
  }
  return "?";
}

bool Member::has_protocols(std::vector<Protocol> const& other) const {
  return std::equal(protocols.begin(), protocols.end(), other.begin(), other.end(),
                    [](Protocol const& a, Protocol const& b) {
                      return a.name == b.name && text_of(a.metadata) == text_of(b.metadata);
                    });
}

Blob Member::metadata(std::string_view protocol) const {
  for (auto const& one : protocols) {
    if (one.name == protocol) return one.metadata;
  }
  return nullptr;
}

ClassicGroup::ClassicGroup(std::string id, StoredGroup const* stored) : id_(std::move(id)) {
  if (stored == nullptr) return;
  if (!stored->protocol_type.empty()) protocol_type_ = stored->protocol_type;
  generation_ = stored->generation;
  protocol_ = stored->protocol;
  leader_ = stored->leader;
  state_timestamp_ms_ = stored->state_timestamp_ms;
  for (auto const& from : stored->members) {
    Member member;
    member.id = from.id;
    member.instance_id = from.instance_id;
    member.client_id = from.client_id;
    member.client_host = from.client_host;
    member.rebalance_timeout_ms = from.rebalance_timeout_ms;
    member.session_timeout_ms = from.session_timeout_ms;
    member.protocols = {{stored->protocol.value_or(""), from.subscription}};
    member.assignment = from.assignment;
    add(std::move(member), stored->protocol_type);
  }
  if (!members_.empty()) {
    state_ = GroupState::stable;
    if (!protocol_) protocol_ = "";
    if (!has(leader_.value_or(""))) leader_ = members_.begin()->first;
  }
  find_subscriptions();
}

void ClassicGroup::transition_to(GroupState state, Wall now) {
  previous_state_ = state_;
  state_ = state;
  state_timestamp_ms_ = now.ms;
}

Member* ClassicGroup::find(std::string_view member_id) {
  auto const at = members_.find(member_id);
  return at == members_.end() ? nullptr : &at->second;
}

Member const* ClassicGroup::find(std::string_view member_id) const {
  auto const at = members_.find(member_id);
  return at == members_.end() ? nullptr : &at->second;
}

std::string const* ClassicGroup::static_member(std::string_view instance_id) const {
  auto const at = static_members_.find(instance_id);
  return at == static_members_.end() ? nullptr : &at->second;
}

ErrorCode ClassicGroup::validate_member(std::string_view member_id,
                                        std::optional<std::string> const& instance_id) const {
  if (instance_id) {
    auto const* const current = static_member(*instance_id);
    if (current == nullptr) return ErrorCode::unknown_member_id;
    if (*current != member_id) return ErrorCode::fenced_instance_id;
  }
  return has(member_id) ? ErrorCode::none : ErrorCode::unknown_member_id;
}

bool ClassicGroup::supports(std::string_view protocol_type, std::vector<Protocol> const& protocols) const {
  if (state_ == GroupState::empty) return !protocol_type.empty() && !protocols.empty();
  if (!protocol_type_ || *protocol_type_ != protocol_type) return false;
  return std::any_of(protocols.begin(), protocols.end(), [&](Protocol const& protocol) {
    auto const at = supporters_.find(protocol.name);
    return at != supporters_.end() && at->second == members_.size();
  });
}

void ClassicGroup::count_protocols(Member const& member, int32_t change) {
  std::set<std::string_view> seen;  // a member may name a protocol twice
  for (auto const& protocol : member.protocols) {
    if (!seen.insert(protocol.name).second) continue;
    auto& count = supporters_[protocol.name];
    count = static_cast<size_t>(static_cast<int64_t>(count) + change);
    if (count == 0) supporters_.erase(protocol.name);
  }
}

Member& ClassicGroup::add(Member member, std::string_view protocol_type) {
  MR_ASSERT(!has(member.id));
  MR_ASSERT(!member.join);
  if (member.instance_id) {
    auto const is_first = static_members_.emplace(*member.instance_id, member.id).second;
    MR_ASSERT(is_first);
  }
  if (members_.empty()) protocol_type_ = protocol_type;
  if (!leader_) leader_ = member.id;
  count_protocols(member, +1);
  auto const id = member.id;
  return members_.emplace(id, std::move(member)).first->second;
}

Member ClassicGroup::remove(std::string_view member_id) {
  auto const at = members_.find(member_id);
  MR_ASSERT(at != members_.end());
  auto member = std::move(at->second);
  members_.erase(at);
  count_protocols(member, -1);
  if (member.join) --awaiting_join_count_;
  if (member.instance_id) static_members_.erase(*member.instance_id);
  if (is_leader(member.id)) {
    leader_.reset();
    if (!members_.empty()) leader_ = members_.begin()->first;
  }
  return member;
}

void ClassicGroup::update(Member& member, std::vector<Protocol> protocols, int32_t rebalance_timeout_ms,
                          int32_t session_timeout_ms) {
  count_protocols(member, -1);
  member.protocols = std::move(protocols);
  count_protocols(member, +1);
  member.rebalance_timeout_ms = rebalance_timeout_ms;
  member.session_timeout_ms = session_timeout_ms;
}

Member& ClassicGroup::replace_static(std::string const& instance_id, std::string const& new_id) {
  auto const current = static_members_.find(instance_id);
  MR_ASSERT(current != static_members_.end());
  auto const old_id = current->second;
  auto node = members_.extract(old_id);
  MR_ASSERT(!node.mapped().join);
  MR_ASSERT(!node.mapped().sync);
  node.key() = new_id;
  node.mapped().id = new_id;
  node.mapped().owes_sync = false;
  current->second = new_id;
  if (is_leader(old_id)) leader_ = new_id;
  return members_.insert(std::move(node)).position->second;
}

std::optional<Ticket> ClassicGroup::await_join(Member& member, Ticket ticket) {
  auto const replaced = std::exchange(member.join, ticket);
  if (!replaced) ++awaiting_join_count_;
  return replaced;
}

std::optional<Ticket> ClassicGroup::take_join(Member& member) {
  if (member.join) --awaiting_join_count_;
  return std::exchange(member.join, std::nullopt);
}

bool ClassicGroup::owes_syncs() const {
  return std::any_of(members_.begin(), members_.end(), [](auto const& one) { return one.second.owes_sync; });
}

bool ClassicGroup::elect_joined_leader() {
  if (leader_) {
    if (auto const* const leader = find(*leader_); leader != nullptr && leader->join) return true;
  }
  for (auto const& [id, member] : members_) {
    if (member.join) {
      leader_ = id;
      return true;
    }
  }
  return false;
}

std::string ClassicGroup::select_protocol() const {
  MR_ASSERT(!members_.empty());
  std::map<std::string_view, size_t> votes;
  for (auto const& [id, member] : members_) {
    for (auto const& protocol : member.protocols) {
      auto const at = supporters_.find(protocol.name);
      if (at->second == members_.size()) {
        ++votes[protocol.name];
        break;
      }
    }
  }
  MR_ASSERT(!votes.empty());
  auto const best =
      std::max_element(votes.begin(), votes.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
  return std::string(best->first);
}

namespace {
int32_t next_generation(int32_t generation) {
  return generation == std::numeric_limits<int32_t>::max() ? 1 : generation + 1;
}
}  // namespace

void ClassicGroup::begin_generation(Wall now) {
  MR_ASSERT(!members_.empty());
  generation_ = next_generation(generation_);
  protocol_ = select_protocol();
  find_subscriptions();
  for (auto& [id, member] : members_) member.owes_sync = false;
  transition_to(GroupState::completing_rebalance, now);
}

StoredGroup ClassicGroup::emptied(Wall now) const {
  return {protocol_type_.value_or(""), next_generation(generation_), {}, {}, now.ms, {}};
}

void ClassicGroup::become_empty(StoredGroup const& stored) {
  MR_ASSERT(members_.empty());
  MR_ASSERT(stored.members.empty());
  generation_ = stored.generation;
  protocol_.reset();
  leader_.reset();
  transition_to(GroupState::empty, Wall{stored.state_timestamp_ms});
  is_initial_wait = has_new_member = false;
  find_subscriptions();
}

int32_t ClassicGroup::rebalance_timeout_ms() const {
  int32_t longest = 0;
  for (auto const& [id, member] : members_) longest = std::max(longest, member.rebalance_timeout_ms);
  return longest;
}

StoredGroup ClassicGroup::to_stored() const {
  StoredGroup out{protocol_type_.value_or(""), generation_, protocol_, leader_, state_timestamp_ms_, {}};
  out.members.reserve(members_.size());
  for (auto const& [id, member] : members_) {
    out.members.push_back({id, member.instance_id, member.client_id, member.client_host, member.rebalance_timeout_ms,
                           member.session_timeout_ms, member.metadata(protocol_.value_or("")), member.assignment});
  }
  return out;
}

void ClassicGroup::find_subscriptions() {
  subscribed_topics_.reset();
  if (!uses_consumer_protocol()) return;
  std::set<std::string, std::less<>> topics;
  for (auto const& [id, member] : members_) {
    // All versions begin with the fields of version 0.
    auto const metadata = member.metadata(protocol_.value_or(""));
    Reader in(as_bytes(text_of(metadata)));
    Arena arena;
    protocol::ConsumerProtocolSubscription subscription;
    auto const version = protocol::read_int16_prefix(in);
    if (!version || *version < 0 || !protocol::decode(in, 0, arena, subscription)) return;
    for (auto const topic : subscription.topics) topics.emplace(topic);
  }
  subscribed_topics_ = std::move(topics);
}

bool ClassicGroup::is_subscribed(std::string_view topic) const {
  return subscribed_topics_ ? subscribed_topics_->contains(topic) : uses_consumer_protocol();
}

void ClassicGroup::check_invariants() const {
  MR_ASSERT((state_ == GroupState::empty) == members_.empty());
  size_t joins = 0, instances = 0;
  std::map<std::string_view, size_t> supporters;
  for (auto const& [id, member] : members_) {
    MR_ASSERT(member.id == id);
    MR_ASSERT(!pending_.contains(id));
    MR_ASSERT(!(member.join && member.sync));
    MR_ASSERT(!member.join || state_ == GroupState::preparing_rebalance);
    MR_ASSERT(!member.sync || state_ == GroupState::completing_rebalance);
    // Somebody looks after each member: a timer, or the rebalance that its request waits for.
    MR_ASSERT(member.session.due != Mono::never() || ((member.join || member.sync) && !member.is_new));
    if (member.join) ++joins;
    if (member.instance_id) {
      ++instances;
      auto const* const current = static_member(*member.instance_id);
      MR_ASSERT(current != nullptr && *current == id);
    }
    std::set<std::string_view> names;
    for (auto const& protocol : member.protocols) names.insert(protocol.name);
    for (auto const protocol : names) ++supporters[protocol];
  }
  MR_ASSERT(joins == awaiting_join_count_);
  MR_ASSERT(instances == static_members_.size());
  MR_ASSERT(std::equal(supporters.begin(), supporters.end(), supporters_.begin(), supporters_.end(),
                       [](auto const& a, auto const& b) { return a.first == b.first && a.second == b.second; }));
  if (members_.empty()) return;
  MR_ASSERT(leader_ && has(*leader_));
  MR_ASSERT(protocol_type_.has_value());
  MR_ASSERT(std::any_of(supporters.begin(), supporters.end(),
                        [&](auto const& one) { return one.second == members_.size(); }));
  MR_ASSERT(state_ != GroupState::preparing_rebalance || join_timer.due != Mono::never());
  MR_ASSERT(state_ == GroupState::preparing_rebalance || join_timer.due == Mono::never());
}

std::string ClassicGroup::text() const {
  auto out = fmt::format("{} {} gen {}", id_, name(state_), generation_);
  if (protocol_type_) out += " " + *protocol_type_;
  if (protocol_) out += "/" + *protocol_;
  for (auto const& [id, member] : members_) {
    out += fmt::format(" {}{}", id, is_leader(id) ? "*" : "");
    if (member.instance_id) out += "(" + *member.instance_id + ")";
    if (member.join) out += fmt::format(" join#{}", *member.join);
    if (member.sync) out += fmt::format(" sync#{}", *member.sync);
    if (!text_of(member.assignment).empty()) out += fmt::format("={}", text_of(member.assignment));
  }
  for (auto const& [id, timer] : pending_) out += " ?" + id;
  return out;
}

}  // namespace millrace::coordinator
