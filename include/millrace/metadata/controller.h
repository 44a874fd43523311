// The controller's decisions, pure: the image as of the last record that was decided (the tip), one request, the time
// → records and an answer. It changes nothing replicated itself: its driver appends the records, replays them into
// the tip before the next decision, and lets the answer go once the tip that it saw is committed. Not thread-safe.
#pragma once
#include <functional>
#include <map>

#include "millrace/base/hooks.h"
#include "millrace/base/time.h"
#include "millrace/metadata/controller_api.h"
#include "millrace/metadata/fencing.h"
#include "millrace/metadata/image.h"
#include "millrace/metadata/mutation_quotas.h"
#include "millrace/metadata/records.h"

namespace millrace::metadata {

inline constexpr int32_t kPartitionsPerRequestMax = 10'000;
inline constexpr size_t kElectionsPerPassMax = 1000;

struct ControllerConfig {
  BrokerId node_id;
  // Of this process. What is registered as `node_id` under another one is gone: this one has the node's metadata directory.
  Uuid incarnation_id;
  std::string cluster_id;
  int32_t default_partition_count = 1;     // num.partitions
  int16_t default_replication_factor = 1;  // default.replication.factor
  int32_t min_isr = 1;                     // min.insync.replicas of the node's file; recorded at bootstrap
  Duration broker_session = 9s;            // broker.session.timeout.ms
  QuotaWindows mutation_windows;           // controller.quota.window.num, controller.quota.window.size.seconds
  StaticConfigs statics;
  Hooks* hooks = &Hooks::none();           // outlives the controller
  std::shared_ptr<BrokerSettings const> settings = std::make_shared<BrokerSettings const>();  // keys of brokers
};

struct Decision {
  RecordList records;        // empty: nothing changes
  ControllerAnswer answer;
  // One batch, all or nothing. Else the records may go into several batches, for each of them alone leaves the image
  // in order: what a lost controller left out is decided again by the next.
  bool is_atomic = true;
};

class Controller {
 public:
  // `make_uuid` gives topic ids; never a reserved one.
  Controller(ControllerConfig config, std::function<Uuid()> make_uuid);

  // The records that a cluster without any begins with (a metadata transaction: all or nothing). `formatted` are the
  // values that formatting left in the bootstrap checkpoint; none: what a freshly formatted 4.4 has.
  RecordList bootstrap_records(RecordList const& formatted = {}) const;
  // The feature levels of a new cluster, as formatting writes them.
  static RecordList default_feature_records();

  Decision decide(Image const& tip, ControllerRequest const& request, Mono now);
  // Fences brokers that have not been heard of for a session, and what this node's process before this one was registered
  // as; at most one a call. This process itself is not watched: it is here. Not atomic.
  RecordList fence_stale_brokers(Image const& tip, Mono now);
  // The same for who is proved to be gone before its session is over (fencing.h). Not atomic.
  RecordList on_fencing_event(Image const& tip, fencing::Event const& event, Mono now);
  // Gives leaderships back to the first replicas, and leaders to partitions without one that may have one: what an
  // unfinished decision left, or was not allowed before. At most `count_max` partitions. Not atomic.
  RecordList balance_leaders(Image const& tip, size_t count_max) const;
  RecordList elect_missing_leaders(Image const& tip, size_t count_max) const;
  // Listeners to be tried, since the last call. Never this node's own.
  std::vector<fencing::Probe> take_probes();
  // While another controller leads: reaches for brokers, so that it is known who could be reached when this one takes
  // over.
  void observe_brokers(Image const& image, Mono now);
  // Every broker has a session from now on: leadership begins.
  void reset_sessions(Image const& tip, Mono now);

  ControllerConfig const& config() const { return config_; }
  // The node's file was read again.
  void set_statics(StaticConfigs statics) { config_.statics = std::move(statics); }

 private:
  Decision decide(Image const& tip, CreateTopics const& request, Mono now);
  Decision decide(Image const& tip, DeleteTopics const& request, Mono now);
  Decision decide(Image const& tip, CreatePartitions const& request, Mono now);
  Decision decide(Image const& tip, RegisterBroker const& request, Mono now);
  Decision decide(Image const& tip, BrokerHeartbeat const& request, Mono now);
  Decision decide(Image const& tip, UnregisterBroker const& request, Mono now);
  Decision decide(Image const& tip, RegisterController const& request, Mono now);
  Decision decide(Image const& tip, UnregisterController const& request, Mono now);
  Decision decide(Image const& tip, AllocateProducerIds const& request, Mono now);
  Decision decide(Image const& tip, UpdateFeatures const& request, Mono now);
  Decision decide(Image const& tip, CreateInternalTopic const& request, Mono now);
  Decision decide(Image const& tip, AlterConfigs const& request, Mono now);
  Decision decide(Image const& tip, AlterClientQuotas const& request, Mono now);
  Decision decide(Image const& tip, AlterUserScramCredentials const& request, Mono now);
  Decision decide(Image const& tip, AlterPartition const& request, Mono now);
  Decision decide(Image const& tip, ElectLeaders const& request, Mono now);
  Decision decide(Image const& tip, AssignReplicasToDirectories const& request, Mono now);
  ApiError alter_configs(Image const& tip, AlterConfigs const& request, ConfigResourceChange const& change,
                         RecordList& out) const;
  ApiError elect_leader(Image const& tip, TopicImage const* topic, std::string_view name, int32_t index, bool is_unclean,
                        RecordList& out) const;
  PartitionIsrChanged change_isr(Image const& tip, BrokerId broker, PartitionIsrChange const& change, RecordList& out) const;
  TopicCreated create_topic(Image const& tip, TopicCreation const& topic, MutationQuotas::Request& quota, RecordList& out);

  enum class BrokerState : uint8_t { fenced, unfenced, shutting_down, may_stop };
  BrokerState next_state(Image const& tip, BrokerImage const& broker, BrokerHeartbeat const& request) const;
  int64_t lowest_active_offset(Image const& tip) const;
  bool is_alive(BrokerImage const& broker, Mono now) const;
  void add_fence(Image const& tip, BrokerImage const& broker, RecordList& out) const;

  struct Heartbeats {
    int64_t metadata_offset = -1;
    int64_t shutdown_offset = -1;  // where its leaderships were moved away
  };

  ControllerConfig config_;
  std::function<Uuid()> make_uuid_;
  Fencing fencing_;                            // soft
  fencing::Effects fencing_effects_;           // until take_probes()
  std::map<BrokerId, Heartbeats> heartbeats_;  // soft
  MutationQuotas mutation_quotas_;             // soft
};

}  // namespace millrace::metadata
