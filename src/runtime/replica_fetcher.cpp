#include "millrace/runtime/replica_fetcher.h"

#include "millrace/base/assert.h"
#include "millrace/protocol/api/list_offsets.h"

namespace millrace::runtime {
namespace {

constexpr int16_t kFetchVersionMin = 13;  // topic ids, the last fetched epoch and where logs diverge
constexpr int16_t kReplicaStateSince = 15;
constexpr int64_t kLatestTimestamp = -1;
constexpr int64_t kEarliestTimestamp = -2;

using protocol::FetchRequest;
using protocol::FetchResponse;

}  // namespace

ReplicaFetcher::ReplicaFetcher(env::Env& env, RunList& run_list, BrokerId self, BrokerId leader,
                               std::atomic<int64_t> const& broker_epoch, ReplicaFetchOptions options)
    : env_(env), run_list_(run_list), self_(self), leader_(leader), broker_epoch_(broker_epoch), options_(options) {}

template <class F>
void ReplicaFetcher::on_reactor(F task) {
  reactor().post([weak = weak_from_this(), task = std::move(task)]() mutable {
    auto const self = weak.lock();
    if (self != nullptr && !self->is_stopped_) task(*self);
  });
}

// ---- Told from outside

void ReplicaFetcher::set_address(std::optional<BrokerAddress> address) {
  on_reactor([address = std::move(address)](ReplicaFetcher& self) {
    if (self.address_ == address) return;
    self.address_ = address;
    self.drop_connection();
    self.connect_backoff_ = {};
    self.connect_at_ = {};
    self.pump();
  });
}

void ReplicaFetcher::registered() {
  on_reactor([](ReplicaFetcher& self) { self.pump(); });
}

void ReplicaFetcher::add(std::shared_ptr<PartitionDriver> partition, LeaderEpoch epoch) {
  on_reactor([partition = std::move(partition), epoch](ReplicaFetcher& self) {
    auto const& id = partition->identity().id;
    auto& part = self.parts_[id];
    if (part.driver == partition && part.epoch == epoch) return;
    part.driver = partition;
    part.epoch = epoch;
    part.backoff = {};
    self.ask_begin(id, part);
  });
}

void ReplicaFetcher::remove(TopicIdPartition id) {
  on_reactor([id](ReplicaFetcher& self) {
    auto const found = self.parts_.find(id);
    if (found == self.parts_.end()) return;
    self.set_state(found->second, State::waiting);
    self.parts_.erase(found);
  });
}

void ReplicaFetcher::stop() {
  on_reactor([](ReplicaFetcher& self) {
    self.is_stopped_ = true;
    self.drop_connection();
    self.reactor().cancel(std::exchange(self.timer_, env::kNoTimer));
    self.parts_.clear();
  });
}

// ---- Asking the drivers

void ReplicaFetcher::set_state(Part& part, State state) {
  if (part.state == State::applying) --applying_;
  if (state == State::applying) ++applying_;
  part.state = state;
}

void ReplicaFetcher::ask_begin(TopicIdPartition const& id, Part& part) {
  set_state(part, State::beginning);
  part.generation = ++generations_;
  part.driver->begin_following(part.epoch, when_applied(id, part), run_list_);
}

// The driver may answer on any thread, at once or after a sync.
FollowDone ReplicaFetcher::when_applied(TopicIdPartition const& id, Part& part) {
  return [weak = weak_from_this(), reactor = &reactor(), id, generation = part.generation](FollowAnswer answer) {
    reactor->post([weak, id, generation, answer] {
      auto const self = weak.lock();
      if (self != nullptr && !self->is_stopped_) self->on_applied(id, generation, answer);
    });
  };
}

void ReplicaFetcher::on_applied(TopicIdPartition const& id, uint64_t generation, FollowAnswer const& answer) {
  auto const found = parts_.find(id);
  if (found == parts_.end() || found->second.generation != generation) return pump();
  auto& part = found->second;
  bool const is_new = part.state == State::beginning;
  switch (answer.what) {
    case FollowAnswer::What::leave:
      set_state(part, State::waiting);
      parts_.erase(found);
      break;
    case FollowAnswer::What::fetch:
      part.position = answer.next;
      set_state(part, State::ready);
      part.backoff = {};
      break;
    case FollowAnswer::What::retry:
      part.position = answer.next;
      back_off(part);
      break;
  }
  if (is_new && is_fetching_) return maybe_interrupt();
  pump();
}

void ReplicaFetcher::back_off(Part& part) {
  set_state(part, State::waiting);
  part.backoff = std::clamp(part.backoff * 2, std::min(kBackoffMin, options_.backoff), options_.backoff);
  part.retry_at = reactor().now() + part.backoff;
}

// ---- The next Fetch

void ReplicaFetcher::arm(Mono when) {
  if (timer_ != env::kNoTimer && timer_at_ <= when) return;
  reactor().cancel(timer_);
  timer_at_ = when;
  timer_ = reactor().call_at(when, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (self == nullptr) return;
    self->timer_ = env::kNoTimer;
    if (self->is_stopped_) return;
    if (self->is_fetching_) self->maybe_interrupt();
    else self->pump();
  });
}

// A partition that comes new while the Fetch waits at the leader: with its session the Fetch cannot be overtaken on its
// connection, so both are given up for new ones.
void ReplicaFetcher::maybe_interrupt() {
  if (!is_fetching_) return pump();
  bool const has_more = std::ranges::any_of(parts_, [](auto const& p) { return p.second.state == State::ready; });
  if (!has_more) return;
  auto const now = reactor().now();
  if (now - fetch_sent_at_ < kParkedAfter) return arm(fetch_sent_at_ + kParkedAfter);
  MR_PROBE(env_.hooks(), "fetcher.interrupted");
  drop_connection();
  pump();
}

void ReplicaFetcher::pump() {
  if (is_stopped_ || is_fetching_ || is_connecting_ || !address_) return;
  if (broker_epoch_.load(std::memory_order_relaxed) < 0) return;
  auto const now = reactor().now();
  if (applying_ > 0 && now - applying_since_ < kStragglerWait) return arm(applying_since_ + kStragglerWait);
  bool has_ready = false;
  auto next_retry = Mono::never();
  for (auto& [id, part] : parts_) {
    if (part.state == State::waiting && part.retry_at <= now) part.state = State::ready;
    if (part.state == State::ready) has_ready = true;
    else if (part.state == State::waiting) next_retry = std::min(next_retry, part.retry_at);
  }
  if (!has_ready) {
    if (next_retry != Mono::never()) arm(next_retry);
    return;
  }
  if (connection_ != nullptr && connection_->is_open()) return send();
  if (connection_ != nullptr) drop_connection();
  if (now < connect_at_) return arm(connect_at_);
  connect();
}

void ReplicaFetcher::connect() {
  is_connecting_ = true;
  client::Options options;
  options.client_id = fmt::format("broker-{}-fetcher", self_);
  options.request_timeout = options_.request_timeout;
  options.response_bytes_max = options_.response_bytes_max + kOversizeBytesMax;
  client::Connection::open(env_.network(), reactor(), address_->host, address_->port, std::move(options),
                           reactor().now() + options_.request_timeout,
                           [weak = weak_from_this(), number = ++connections_](auto opened) {
                             auto const self = weak.lock();
                             if (self == nullptr || self->is_stopped_ || self->connections_ != number) return;
                             self->is_connecting_ = false;
                             if (!opened) return self->lose_connection(opened.error().message);
                             self->connection_ = *std::move(opened);
                             self->pump();
                           });
}

void ReplicaFetcher::lose_connection(std::string const& reason) {
  drop_connection();
  if (connect_backoff_ == Duration{}) env_.log().info("replication", "fetching from broker {}: {}", leader_, reason);
  connect_backoff_ = std::clamp(connect_backoff_ * 2, std::min(kBackoffMin, options_.backoff), options_.backoff);
  connect_at_ = reactor().now() + connect_backoff_;
  pump();
}

void ReplicaFetcher::drop_connection() {
  ++connections_;
  is_connecting_ = false;
  is_fetching_ = false;
  if (connection_ != nullptr) {
    connection_->close();
    // It may be calling us.
    reactor().post([gone = std::exchange(connection_, nullptr)] {});
  }
  close_session();
  for (auto& [id, part] : parts_) {
    if (part.state == State::fetching) part.state = State::ready;
  }
}

void ReplicaFetcher::send() {
  auto const version = connection_->choose_version(ApiKey::fetch, FetchRequest::kValid);
  if (!version || *version < kFetchVersionMin) {
    return lose_connection(fmt::format("it does not serve Fetch {} or later", kFetchVersionMin));
  }
  bool const is_full = session_epoch_ == 0;
  if (is_full) session_.clear();
  auto const now = reactor().now();
  auto earliest_retry = now + options_.wait_max;
  std::map<TopicId, std::vector<FetchRequest::FetchPartition>> asked;
  std::map<TopicId, std::vector<int32_t>> forgotten;
  for (auto& [id, part] : parts_) {
    if (part.state == State::waiting) earliest_retry = std::min(earliest_retry, part.retry_at);
    if (part.state != State::ready) continue;
    part.state = State::fetching;
    auto const [known, is_new] = session_.try_emplace(id, part.position);
    if (!is_new && known->second == part.position) continue;
    known->second = part.position;
    FetchRequest::FetchPartition wire;
    wire.partition = id.partition;
    wire.current_leader_epoch = part.position.leader_epoch.value;
    wire.fetch_offset = part.position.offset.value;
    wire.last_fetched_epoch = part.position.last_epoch.value;
    wire.log_start_offset = part.position.log_start.value;
    wire.partition_max_bytes = options_.partition_bytes_max;
    wire.replica_directory_id = part.driver->directory().directory_id();
    asked[id.topic_id].push_back(wire);
  }
  for (auto it = session_.begin(); it != session_.end();) {
    auto const part = parts_.find(it->first);
    if (part != parts_.end() && part->second.state == State::fetching) {
      ++it;
      continue;
    }
    forgotten[it->first.topic_id].push_back(it->first.partition);
    it = session_.erase(it);
  }

  FetchRequest request;
  if (*version >= kReplicaStateSince) {
    request.replica_state.replica_id = self_.value;
    request.replica_state.replica_epoch = broker_epoch_.load(std::memory_order_relaxed);
  } else {
    request.replica_id = self_.value;
  }
  // Who has to wait for a moment is not to wait for this Fetch as well.
  request.max_wait_ms = static_cast<int32_t>(std::max<int64_t>(to_ms(earliest_retry - now), 1));
  request.min_bytes = options_.bytes_min;
  request.max_bytes = options_.response_bytes_max;
  request.session_id = session_id_;
  request.session_epoch = session_epoch_;
  std::vector<FetchRequest::FetchTopic> topics;
  for (auto& [id, partitions] : asked) {
    auto& topic = topics.emplace_back();
    topic.topic_id = id;
    topic.partitions = partitions;
  }
  std::vector<FetchRequest::ForgottenTopic> gone;
  for (auto& [id, partitions] : forgotten) {
    auto& topic = gone.emplace_back();
    topic.topic_id = id;
    topic.partitions = partitions;
  }
  request.topics = topics;
  request.forgotten_topics_data = gone;
  is_fetching_ = true;
  fetch_sent_at_ = now;
  connection_->call<FetchResponse>(
      request,
      [weak = weak_from_this(), number = connections_](Result<Reply> reply) {
        auto const self = weak.lock();
        if (self == nullptr || self->is_stopped_ || self->connections_ != number) return;
        self->on_reply(std::move(reply));
      },
      *version);
}

// ---- The answer

void ReplicaFetcher::on_reply(Result<Reply> reply) {
  is_fetching_ = false;
  if (!reply) return lose_connection(reply.error().message);
  auto const& message = reply->message;
  if (message.error_code != ErrorCode::none) {
    MR_PROBE(env_.hooks(), "fetcher.session_lost");
    // A session that the leader has dropped, or a request that it refuses as a whole.
    bool const was_in_session = session_epoch_ != 0;
    close_session();
    for (auto& [id, part] : parts_) {
      if (part.state != State::fetching) continue;
      if (was_in_session) part.state = State::ready;
      else back_off(part);
    }
    return pump();
  }
  connect_backoff_ = {};
  if (session_epoch_ == 0) {
    session_id_ = message.session_id;
    session_epoch_ = session_id_ == 0 ? 0 : 1;
  } else {
    session_epoch_ = session_epoch_ == INT32_MAX ? 1 : session_epoch_ + 1;
  }
  applying_since_ = reactor().now();
  for (auto const& topic : message.responses) {
    for (auto const& data : topic.partitions) {
      TopicIdPartition const id{topic.topic_id, data.partition_index};
      auto const found = parts_.find(id);
      if (found != parts_.end() && found->second.state == State::fetching) on_partition(id, found->second, data, reply->frame);
    }
  }
  // Of the others there is nothing new.
  for (auto& [id, part] : parts_) {
    if (part.state == State::fetching) part.state = State::ready;
  }
  pump();
}

void ReplicaFetcher::on_partition(TopicIdPartition const& id, Part& part, FetchResponse::PartitionData const& data,
                                  SharedBytes const& frame) {
  if (data.error_code == ErrorCode::offset_out_of_range) return ask_leaders_range(id, part);
  if (data.error_code != ErrorCode::none) {
    MR_PROBE(env_.hooks(), "fetcher.partition_refused");
    return back_off(part);
  }
  FetchedPart fetched;
  fetched.asked = part.position;
  fetched.high_watermark = Offset(data.high_watermark);
  fetched.log_start = Offset(data.log_start_offset);
  if (data.diverging_epoch.epoch >= 0) {
    fetched.diverging = {LeaderEpoch(data.diverging_epoch.epoch), Offset(data.diverging_epoch.end_offset)};
  }
  if (auto const records = data.records.view(); !records.empty()) {
    fetched.records = frame.slice(static_cast<size_t>(records.data() - frame.data()), records.size());
  }
  set_state(part, State::applying);
  part.generation = ++generations_;
  part.driver->fetched(std::move(fetched), when_applied(id, part), run_list_);
}

// As Kafka: where the leader's log begins and ends decides whether ours is cut or dropped.
void ReplicaFetcher::ask_leaders_range(TopicIdPartition const& id, Part& part) {
  set_state(part, State::applying);
  part.generation = ++generations_;
  struct Range {
    std::optional<Offset> start, end;
    size_t left = 2;
  };
  auto const range = std::make_shared<Range>();
  for (auto const timestamp : {kLatestTimestamp, kEarliestTimestamp}) {
    protocol::ListOffsetsRequest::ListOffsetsPartition partition;
    partition.partition_index = id.partition;
    partition.current_leader_epoch = part.epoch.value;
    partition.timestamp = timestamp;
    protocol::ListOffsetsRequest::ListOffsetsTopic topic;
    topic.name = part.driver->identity().name.topic;
    topic.partitions = {&partition, 1};
    protocol::ListOffsetsRequest request;
    request.replica_id = self_.value;
    request.topics = {&topic, 1};
    request.timeout_ms = static_cast<int32_t>(to_ms(options_.request_timeout));
    connection_->call<protocol::ListOffsetsResponse>(
        request, [weak = weak_from_this(), id, generation = part.generation, timestamp,
                  range](Result<client::Reply<protocol::ListOffsetsResponse>> reply) {
          auto const self = weak.lock();
          if (self == nullptr || self->is_stopped_) return;
          if (reply && reply->message.topics.size() == 1 && reply->message.topics[0].partitions.size() == 1) {
            auto const& data = reply->message.topics[0].partitions[0];
            if (data.error_code == ErrorCode::none && data.offset >= 0) {
              (timestamp == kLatestTimestamp ? range->end : range->start) = Offset(data.offset);
            }
          }
          if (--range->left > 0) return;
          auto const found = self->parts_.find(id);
          if (found == self->parts_.end() || found->second.generation != generation) return;
          if (!range->start || !range->end) {
            // Posted: the connection may be being taken down.
            return self->when_applied(id, found->second)({FollowAnswer::What::retry, found->second.position});
          }
          found->second.driver->fetched_out_of_range(found->second.position, *range->start, *range->end,
                                                     self->when_applied(id, found->second), self->run_list_);
        });
  }
}

}  // namespace millrace::runtime
