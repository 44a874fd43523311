#include "controller_wire.h"

#include <map>

#include "millrace/protocol/api/allocate_producer_ids.h"
#include "millrace/protocol/api/alter_partition.h"
#include "millrace/protocol/api/assign_replicas_to_dirs.h"
#include "millrace/protocol/api/broker_heartbeat.h"
#include "millrace/protocol/api/broker_registration.h"
#include "millrace/protocol/api/controller_registration.h"
#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/envelope.h"

namespace millrace::runtime {
namespace {

using protocol::encode_request;

metadata::ApiError error_of_code(ErrorCode code) { return {code, std::nullopt}; }

template <class Wire, class From>
Array<Wire> endpoints(Arena& arena, std::vector<From> const& from) {
  auto out = arena.array<Wire>(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    out[i].name = from[i].listener;
    out[i].host = from[i].host;
    out[i].port = from[i].port;
    out[i].security_protocol = from[i].security_protocol;
  }
  return out;
}

template <class Wire>
Array<Wire> features(Arena& arena, std::vector<metadata::SupportedFeature> const& from) {
  auto out = arena.array<Wire>(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    out[i].name = from[i].name;
    out[i].min_supported_version = from[i].level_min;
    out[i].max_supported_version = from[i].level_max;
  }
  return out;
}

Array<Uuid> uuids(Arena& arena, std::vector<DirectoryId> const& from) {
  auto out = arena.array<Uuid>(from.size());
  std::copy(from.begin(), from.end(), out.begin());
  return out;
}

// ---- one pair of functions for each question: what is sent, and what the answer says

struct NoWire {};

struct RegistrationWire {
  using Request = protocol::BrokerRegistrationRequest;
  using Response = protocol::BrokerRegistrationResponse;
  static Request request(Arena& arena, metadata::RegisterBroker const& from) {
    Request out;
    out.broker_id = from.id.value;
    out.cluster_id = from.cluster_id;
    out.incarnation_id = from.incarnation_id;
    out.listeners = endpoints<Request::Listener>(arena, from.endpoints);
    out.features = features<Request::Feature>(arena, from.features);
    out.rack = from.rack ? std::optional<Str>(*from.rack) : std::nullopt;
    out.is_migrating_zk_broker = from.is_migrating_zk_broker;
    out.log_dirs = uuids(arena, from.directories);
    out.previous_broker_epoch = from.previous_broker_epoch;
    return out;
  }
  static metadata::RegisterBrokerAnswer answer(Response const& from) {
    return {error_of_code(from.error_code), from.broker_epoch};
  }
};

struct HeartbeatWire {
  using Request = protocol::BrokerHeartbeatRequest;
  using Response = protocol::BrokerHeartbeatResponse;
  static Request request(Arena& arena, metadata::BrokerHeartbeat const& from) {
    Request out;
    out.broker_id = from.id.value;
    out.broker_epoch = from.epoch;
    out.current_metadata_offset = from.metadata_offset;
    out.want_fence = from.want_fence;
    out.want_shut_down = from.want_shut_down;
    if (from.offline_directories) out.offline_log_dirs = uuids(arena, *from.offline_directories);
    if (from.cordoned_directories) out.cordoned_log_dirs = uuids(arena, *from.cordoned_directories);
    return out;
  }
  static metadata::BrokerHeartbeatAnswer answer(Response const& from) {
    return {error_of_code(from.error_code), from.is_caught_up, from.is_fenced, from.should_shut_down};
  }
};

struct ControllerRegistrationWire {
  using Request = protocol::ControllerRegistrationRequest;
  using Response = protocol::ControllerRegistrationResponse;
  static Request request(Arena& arena, metadata::RegisterController const& from) {
    Request out;
    out.controller_id = from.controller.id;
    out.incarnation_id = from.controller.incarnation_id;
    out.zk_migration_ready = from.controller.is_zk_migration_ready;
    out.listeners = endpoints<Request::Listener>(arena, from.controller.endpoints);
    out.features = features<Request::Feature>(arena, from.controller.features);
    return out;
  }
  static metadata::RegisterControllerAnswer answer(Response const& from) { return {error_of_code(from.error_code)}; }
};

struct ProducerIdsWire {
  using Request = protocol::AllocateProducerIdsRequest;
  using Response = protocol::AllocateProducerIdsResponse;
  static Request request(Arena&, metadata::AllocateProducerIds const& from) {
    Request out;
    out.broker_id = from.broker.value;
    out.broker_epoch = from.broker_epoch;
    return out;
  }
  static metadata::AllocateProducerIdsAnswer answer(Response const& from) {
    return {error_of_code(from.error_code), ProducerId{from.producer_id_start}, from.producer_id_len};
  }
};

// Questions about many partitions go out by topic, and each answer is put where its question was.
struct AlterPartitionWire {
  using Request = protocol::AlterPartitionRequest;
  using Response = protocol::AlterPartitionResponse;
  static constexpr int16_t kFirstVersionWithEpochs = 3;

  static Request request(Arena& arena, metadata::AlterPartition const& from) {
    std::map<TopicId, std::vector<metadata::PartitionIsrChange const*>> by_topic;
    for (auto const& change : from.partitions) by_topic[change.topic].push_back(&change);
    Request out;
    out.broker_id = from.broker.value;
    out.broker_epoch = from.broker_epoch;
    out.topics = arena.array<Request::TopicData>(by_topic.size());
    size_t t = 0;
    for (auto const& [id, changes] : by_topic) {
      auto& topic = out.topics[t++];
      topic.topic_id = id;
      topic.partitions = arena.array<Request::PartitionData>(changes.size());
      for (size_t i = 0; i < changes.size(); ++i) {
        auto const& change = *changes[i];
        auto& partition = topic.partitions[i];
        partition.partition_index = change.partition;
        partition.leader_epoch = change.leader_epoch.value;
        partition.partition_epoch = change.partition_epoch;
        partition.leader_recovery_state = static_cast<int8_t>(change.recovery_state);
        partition.new_isr_with_epochs = arena.array<Request::BrokerState>(change.isr.size());
        for (size_t m = 0; m < change.isr.size(); ++m) {
          partition.new_isr_with_epochs[m] = {change.isr[m].id.value, change.isr[m].broker_epoch};
        }
      }
    }
    return out;
  }
  // Version 2 names the members alone.
  static void fit(Arena& arena, Request& request, int16_t version) {
    if (version >= kFirstVersionWithEpochs) return;
    for (auto& topic : request.topics) {
      for (auto& partition : topic.partitions) {
        partition.new_isr = arena.array<int32_t>(partition.new_isr_with_epochs.size());
        for (size_t i = 0; i < partition.new_isr.size(); ++i) {
          partition.new_isr[i] = partition.new_isr_with_epochs[i].broker_id;
        }
        partition.new_isr_with_epochs = {};
      }
    }
  }
  static metadata::AlterPartitionAnswer answer(Response const& from, metadata::AlterPartition const& asked) {
    metadata::AlterPartitionAnswer out{error_of_code(from.error_code), {}};
    if (!out.error.ok()) return out;
    std::map<std::pair<TopicId, int32_t>, Response::PartitionData const*> found;
    for (auto const& topic : from.topics) {
      for (auto const& partition : topic.partitions) found[{TopicId{topic.topic_id}, partition.partition_index}] = &partition;
    }
    for (auto const& change : asked.partitions) {
      auto& to = out.partitions.emplace_back();
      to.topic = change.topic;
      to.partition = change.partition;
      auto const at = found.find({change.topic, change.partition});
      if (at == found.end()) {
        to.error = ErrorCode::unknown_server_error;
        continue;
      }
      auto const& partition = *at->second;
      to.error = partition.error_code;
      to.leader = BrokerId{partition.leader_id};
      to.leader_epoch = LeaderEpoch{partition.leader_epoch};
      for (auto const id : partition.isr) to.isr.emplace_back(id);
      to.recovery_state = static_cast<metadata::LeaderRecoveryState>(partition.leader_recovery_state);
      to.partition_epoch = partition.partition_epoch;
    }
    return out;
  }
};

struct DirectoriesWire {
  using Request = protocol::AssignReplicasToDirsRequest;
  using Response = protocol::AssignReplicasToDirsResponse;
  using Place = std::tuple<DirectoryId, TopicId, int32_t>;

  static Request request(Arena& arena, metadata::AssignReplicasToDirectories const& from) {
    std::map<DirectoryId, std::map<TopicId, std::vector<int32_t>>> by_directory;
    for (auto const& replica : from.replicas) by_directory[replica.directory][replica.topic].push_back(replica.partition);
    Request out;
    out.broker_id = from.broker.value;
    out.broker_epoch = from.broker_epoch;
    out.directories = arena.array<Request::DirectoryData>(by_directory.size());
    size_t d = 0;
    for (auto const& [directory_id, by_topic] : by_directory) {
      auto& directory = out.directories[d++];
      directory.id = directory_id;
      directory.topics = arena.array<Request::TopicData>(by_topic.size());
      size_t t = 0;
      for (auto const& [topic_id, partitions] : by_topic) {
        auto& topic = directory.topics[t++];
        topic.topic_id = topic_id;
        topic.partitions = arena.array<Request::PartitionData>(partitions.size());
        for (size_t i = 0; i < partitions.size(); ++i) topic.partitions[i].partition_index = partitions[i];
      }
    }
    return out;
  }
  static metadata::AssignReplicasToDirectoriesAnswer answer(Response const& from,
                                                            metadata::AssignReplicasToDirectories const& asked) {
    metadata::AssignReplicasToDirectoriesAnswer out{error_of_code(from.error_code), {}};
    if (!out.error.ok()) return out;
    std::map<Place, ErrorCode> found;
    for (auto const& directory : from.directories) {
      for (auto const& topic : directory.topics) {
        for (auto const& partition : topic.partitions) {
          found[{DirectoryId{directory.id}, TopicId{topic.topic_id}, partition.partition_index}] = partition.error_code;
        }
      }
    }
    for (auto const& replica : asked.replicas) {
      auto const at = found.find({replica.directory, replica.topic, replica.partition});
      out.replicas.emplace_back(replica, at == found.end() ? ErrorCode::unknown_server_error : at->second);
    }
    return out;
  }
};

struct CreateTopicsWire {
  using Request = protocol::CreateTopicsRequest;
  using Response = protocol::CreateTopicsResponse;
  static Request request(Arena& arena, metadata::CreateTopics const& from) {
    Request out;
    out.topics = arena.array<Request::CreatableTopic>(from.topics.size());
    for (size_t i = 0; i < from.topics.size(); ++i) {
      auto const& topic = from.topics[i];
      auto& to = out.topics[i];
      to.name = topic.name;
      to.num_partitions = topic.partition_count;
      to.replication_factor = topic.replication_factor;
      to.configs = arena.array<Request::CreatableTopicConfig>(topic.configs.size());
      for (size_t c = 0; c < topic.configs.size(); ++c) {
        to.configs[c].name = topic.configs[c].first;
        to.configs[c].value = topic.configs[c].second ? std::optional<Str>(*topic.configs[c].second) : std::nullopt;
      }
    }
    out.validate_only = from.validate_only;
    return out;
  }
  static metadata::CreateTopicsAnswer answer(Response const& from) {
    metadata::CreateTopicsAnswer out;
    for (auto const& topic : from.topics) {
      auto& to = out.topics.emplace_back();
      to.name = std::string(topic.name);
      to.error = error_of_code(topic.error_code);
      if (topic.error_message) to.error.message = std::string(*topic.error_message);
      to.id = topic.topic_id;
      if (topic.error_code == ErrorCode::not_controller) out.error = to.error;
    }
    return out;
  }
};

template <class R>
struct WireOf {
  using Type = NoWire;
};
template <>
struct WireOf<metadata::RegisterBroker> {
  using Type = RegistrationWire;
};
template <>
struct WireOf<metadata::BrokerHeartbeat> {
  using Type = HeartbeatWire;
};
template <>
struct WireOf<metadata::RegisterController> {
  using Type = ControllerRegistrationWire;
};
template <>
struct WireOf<metadata::AllocateProducerIds> {
  using Type = ProducerIdsWire;
};
template <>
struct WireOf<metadata::AlterPartition> {
  using Type = AlterPartitionWire;
};
template <>
struct WireOf<metadata::AssignReplicasToDirectories> {
  using Type = DirectoriesWire;
};
template <>
struct WireOf<metadata::CreateTopics> {
  using Type = CreateTopicsWire;
};

// Takes the header and the body of an answer apart; none: it is not that.
template <class Response>
bool read_answer(SharedBytes const& frame, int16_t version, Arena& arena, Response& out) {
  Reader in(frame.view());
  protocol::ResponseHeader header;
  auto const header_version = protocol::api_info(Response::kKey).response_header_version(version);
  return protocol::decode(in, header_version, arena, header).ok() && protocol::decode(in, version, arena, out).ok();
}

class QuestionCall final : public ControllerCall {
 public:
  using Done = Callback<void(metadata::ControllerAnswer)>;
  using RunHere = Callback<void(metadata::ControllerRequest, Mono, Done)>;

  QuestionCall(metadata::ControllerRequest request, Mono at, Done done, RunHere run_here)
      : ControllerCall(at), request_(std::move(request)), done_(std::move(done)), run_here_(std::move(run_here)) {}

  Result<SharedBytes> encode(client::Connection const& peer, int32_t correlation_id) override {
    return std::visit(
        [&]<class R>(R const& request) -> Result<SharedBytes> {
          using Wire = typename WireOf<R>::Type;
          if constexpr (std::is_same_v<Wire, NoWire>) {
            return Error{ErrorKind::unsupported, "this question is not asked of another process"};
          } else {
            using Request = typename Wire::Request;
            MR_TRY_ASSIGN(version_, peer.choose_version(Request::kKey, Request::kValid));
            Arena arena;
            auto wire = Wire::request(arena, request);
            if constexpr (requires { Wire::fit(arena, wire, version_); }) Wire::fit(arena, wire, version_);
            return encode_request(correlation_id, Str(peer.options().client_id), version_, wire);
          }
        },
        request_);
  }

  bool answered(SharedBytes frame) override {
    std::optional<metadata::ControllerAnswer> answer;
    std::visit(
        [&]<class R>(R const& request) {
          using Wire = typename WireOf<R>::Type;
          if constexpr (!std::is_same_v<Wire, NoWire>) {
            Arena arena;
            typename Wire::Response response;
            if (!read_answer(frame, version_, arena, response)) return;
            if constexpr (requires { Wire::answer(response, request); }) {
              answer = Wire::answer(response, request);
            } else {
              answer = Wire::answer(response);
            }
          }
        },
        request_);
    if (!answer || metadata::error_of(*answer).code == ErrorCode::not_controller) return false;
    std::move(done_)(*std::move(answer));
    return true;
  }

  void run_here() override { std::move(run_here_)(std::move(request_), deadline, std::move(done_)); }

  void fail(ErrorCode error) override {
    auto answer = metadata::error_answer(request_, error_of_code(error));
    std::move(done_)(std::move(answer));
  }

 private:
  metadata::ControllerRequest request_;
  Done done_;
  RunHere run_here_;
  int16_t version_ = 0;
};

class ForwardCall final : public ControllerCall {
 public:
  ForwardCall(SharedBytes frame, ForwardedFrom from, Mono at, Callback<void(std::optional<SharedBytes>)> done)
      : ControllerCall(at), frame_(std::move(frame)), from_(std::move(from)), done_(std::move(done)) {}

  Result<SharedBytes> encode(client::Connection const& peer, int32_t correlation_id) override {
    MR_TRY_ASSIGN(auto const version, peer.choose_version(ApiKey::envelope, protocol::EnvelopeRequest::kValid));
    protocol::EnvelopeRequest request;
    request.request_data = frame_.view();
    request.request_principal = from_.principal.view();
    request.client_host_address = ByteView(from_.address);
    return encode_request(correlation_id, Str(peer.options().client_id), version, request);
  }

  bool answered(SharedBytes frame) override {
    Arena arena;
    protocol::EnvelopeResponse response;
    if (!read_answer(frame, 0, arena, response)) return false;
    if (response.error_code == ErrorCode::not_controller) return false;
    if (response.error_code != ErrorCode::none || !response.response_data) {
      std::move(done_)(std::nullopt);
      return true;
    }
    auto const data = *response.response_data;
    std::move(done_)(frame.slice(static_cast<size_t>(data.data() - frame.data()), data.size()));
    return true;
  }

  void run_here() override { std::move(done_)(std::nullopt); }
  void fail(ErrorCode) override { std::move(done_)(std::nullopt); }

 private:
  SharedBytes frame_;
  ForwardedFrom from_;
  Callback<void(std::optional<SharedBytes>)> done_;
};

}  // namespace

ControllerCallPtr make_controller_call(metadata::ControllerRequest request, Mono deadline,
                                       Callback<void(metadata::ControllerAnswer)> done, QuestionCall::RunHere run_here) {
  return std::make_unique<QuestionCall>(std::move(request), deadline, std::move(done), std::move(run_here));
}

bool can_cross_processes(metadata::ControllerRequest const& request) {
  return std::visit(
      []<class R>(R const&) { return !std::is_same_v<typename WireOf<R>::Type, NoWire>; }, request);
}

ControllerChannel::Line line_of(metadata::ControllerRequest const& request) {
  using Line = ControllerChannel::Line;
  if (std::holds_alternative<metadata::CreateTopics>(request)) return Line::created;
  bool const is_of_life = std::holds_alternative<metadata::RegisterBroker>(request) ||
                          std::holds_alternative<metadata::BrokerHeartbeat>(request) ||
                          std::holds_alternative<metadata::RegisterController>(request);
  return is_of_life ? Line::lifecycle : Line::partitions;
}

ControllerCallPtr make_forward_call(SharedBytes frame, ForwardedFrom from, Mono deadline,
                                    Callback<void(std::optional<SharedBytes>)> done) {
  return std::make_unique<ForwardCall>(std::move(frame), std::move(from), deadline, std::move(done));
}

}  // namespace millrace::runtime
