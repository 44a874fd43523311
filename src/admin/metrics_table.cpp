// Every metric, in the order of docs/metrics.md. `kafka` names what Kafka's own dashboards show for the same thing.
#include <charconv>

#include "metrics.h"
#include "millrace/metadata/image.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::admin {

namespace {

constexpr auto kCounter = MetricKind::counter;
constexpr auto kGauge = MetricKind::gauge;
using F = Figures const&;
using S = Samples&;

int64_t in_sync(metadata::PartitionImage const& partition) { return static_cast<int64_t>(partition.isr.size()); }

// As far as the metadata tells it: what was set for the topic, else for the cluster, else 1.
int32_t min_isr_of(metadata::Image const& image, std::string_view topic) {
  static constexpr std::string_view kKey = "min.insync.replicas";
  auto const* text = image.find_config(metadata::ConfigResourceType::topic, topic, kKey);
  if (text == nullptr) text = image.find_config(metadata::ConfigResourceType::broker, "", kKey);
  int32_t value = 1;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

// The partitions of this node whose images `wanted` is true of.
template <class Wanted>
int64_t count_led(F f, Wanted&& wanted) {
  if (f.node.image == nullptr) return 0;
  int64_t count = 0;
  for (auto const& partition : f.node.partitions) {
    if (partition->status() != runtime::PartitionStatus::leader) continue;
    auto const& id = partition->identity().id;
    auto const* image = f.node.image->find_partition(id.topic_id, id.partition);
    if (image == nullptr) continue;
    if constexpr (std::is_invocable_v<Wanted&, metadata::PartitionImage const&>) {
      if (wanted(*image)) ++count;
    } else {
      if (wanted(*image, min_isr_of(*f.node.image, partition->identity().name.topic))) ++count;
    }
  }
  return count;
}

template <class Wanted>
int64_t count_partitions(F f, Wanted&& wanted) {
  int64_t count = 0;
  if (f.node.image == nullptr) return count;
  f.node.image->topics.for_each([&](std::string const&, metadata::TopicImagePtr const& topic) {
    topic->partitions.for_each([&](int32_t, metadata::PartitionImagePtr const& p) { count += wanted(*p) ? 1 : 0; });
  });
  return count;
}

int64_t quorum_end(F f) {
  int64_t end = 0;
  for (auto const& replica : f.node.quorum.voters) {
    if (replica.key.id == f.node_id) end = replica.log_end.value;
  }
  return end;
}

// Of each follower how far it is behind in the partition led here in which it is furthest behind.
void per_follower(F f, S out) {
  std::map<BrokerId, int64_t> lags;
  for (auto const& partition : f.node.partitions) {
    if (partition->status() != runtime::PartitionStatus::leader) continue;
    auto const marks = partition->marks();
    for (auto const& follower : partition->followers()) {
      auto const has = std::max(follower.end_offset, marks.log_start);  // of who was not heard of yet: nothing
      auto& lag = lags[follower.id];
      lag = std::max(lag, marks.end.offset - has);
    }
  }
  for (auto const& [id, lag] : lags) out.add(lag, {{"replica", fmt::format_int(id.value).c_str()}});
}

template <class Value>
void per_quorum_replica(F f, S out, Value&& value) {
  if (!f.is_active_controller) return;
  for (auto const* list : {&f.node.quorum.voters, &f.node.quorum.observers}) {
    for (auto const& replica : *list) out.add(value(replica), {{"replica", fmt::format_int(replica.key.id.value).c_str()}});
  }
}

template <class Value>
void per_topic(F f, S out, Value value) {
  for (auto const& [name, topic] : f.topics) out.add(topic.*value, {{"topic", name}});
}

template <class Value>
void per_lag(F f, S out, Value&& value) {
  for (auto const& group : f.lags) {
    for (auto const& lag : group.partitions) {
      if (!lag.end) continue;
      out.add(value(lag), {{"group", group.id}, {"topic", lag.topic}, {"partition", fmt::format_int(lag.partition).c_str()}});
    }
  }
}

template <class Wanted>
int64_t count_brokers(F f, Wanted&& wanted) {
  int64_t count = 0;
  if (f.node.image != nullptr) f.node.image->brokers.for_each([&](auto const&, auto const& b) { count += wanted(*b) ? 1 : 0; });
  return count;
}

constexpr Metric kMetrics[] = {
    // ---- Requests
    {"requests_total", kCounter, "api", "Requests that came.",
     "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=*; "
     "kafka.server:type=BrokerTopicMetrics,name=TotalProduceRequestsPerSec; "
     "kafka.server:type=BrokerTopicMetrics,name=TotalFetchRequestsPerSec",
     [](F f, S out) { for (auto const& api : f.requests.apis) out.add(api.came, {{"api", api.name}}); }},
    {"request_errors_total", kCounter, "api", "Errors in answers, by API; one answer may tell several.",
     "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=*,error=*; "
     "kafka.server:type=BrokerTopicMetrics,name=FailedProduceRequestsPerSec; "
     "kafka.server:type=BrokerTopicMetrics,name=FailedFetchRequestsPerSec",
     [](F f, S out) { for (auto const& api : f.requests.apis) out.add(api.errors, {{"api", api.name}}); }},
    {"errors_total", kCounter, "error", "Errors in answers, by error; those that never came are left out.",
     "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=*,error=*",
     [](F f, S out) { for (auto const& [name, count] : f.requests.errors) out.add(count, {{"error", name}}); }},
    {"request_seconds", MetricKind::histogram, "api",
     "From the arrival of a request to its answer, waiting included; of APIs that were asked.",
     "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=*; "
     "kafka.network:type=RequestMetrics,name=LocalTimeMs,request=*; "
     "kafka.network:type=RequestMetrics,name=RemoteTimeMs,request=*",
     [](F f, S out) {
       for (auto const& api : f.requests.apis) {
         if (api.timed > 0) out.add_histogram(api, {{"api", api.name}});
       }
     }},
    {"fetches_parked", kGauge, "", "Fetches that wait for enough bytes.",
     "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Fetch",
     [](F f, S out) { out.add(f.requests.parked_fetches); }},
    {"fetch_sessions", kGauge, "", "Fetch sessions of clients and followers.",
     "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions",
     [](F f, S out) { out.add(f.requests.fetch_sessions); }},
    {"fetch_session_partitions", kGauge, "", "Partitions in fetch sessions.",
     "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchPartitionsCached",
     [](F f, S out) { out.add(f.requests.fetch_session_partitions); }},

    // ---- Connections
    {"connections", kGauge, "", "Open connections.", "kafka.server:type=socket-server-metrics,listener=*,connection-count",
     [](F f, S out) { out.add(f.net.connections); }},
    {"connections_accepted_total", kCounter, "", "Connections accepted.",
     "kafka.server:type=socket-server-metrics,listener=*,connection-creation-total",
     [](F f, S out) { out.add(f.net.connections_accepted); }},
    {"connections_refused_total", kCounter, "", "Connections closed at once because of a limit.", "",
     [](F f, S out) { out.add(f.net.connections_refused); }},
    {"received_bytes_total", kCounter, "", "Bytes received from clients and other nodes.",
     "kafka.server:type=socket-server-metrics,listener=*,incoming-byte-total",
     [](F f, S out) { out.add(f.net.bytes_in); }},
    {"sent_bytes_total", kCounter, "", "Bytes of answers.",
     "kafka.server:type=socket-server-metrics,listener=*,outgoing-byte-total",
     [](F f, S out) { out.add(f.net.bytes_out); }},
    {"connections_stalled_total", kCounter, "",
     "Connections closed inside a request because others waited for its memory.", "",
     [](F f, S out) { out.add(f.net.connections_stalled); }},
    {"request_bytes", kGauge, "", "Memory held by requests, complete or not.",
     "kafka.network:type=RequestChannel,name=RequestQueueSize; "
     "kafka.network:type=SocketServer,name=MemoryPoolUsed",
     [](F f, S out) { out.add(f.net.request_bytes); }},
    {"request_bytes_max", kGauge, "", "Memory that requests may hold (`queued.max.request.bytes`).",
     "kafka.network:type=SocketServer,name=MemoryPoolAvailable", [](F f, S out) { out.add(f.net.request_bytes_max); }},

    // ---- Topics
    {"topic_in_bytes_total", kCounter, "topic", "Bytes of record batches appended.",
     "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
     [](F f, S out) { per_topic(f, out, &TopicFigures::bytes_in); }},
    {"topic_in_records_total", kCounter, "topic", "Records appended.",
     "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec",
     [](F f, S out) { per_topic(f, out, &TopicFigures::records_in); }},
    {"topic_out_bytes_total", kCounter, "topic", "Bytes of record batches given to consumers.",
     "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec",
     [](F f, S out) { per_topic(f, out, &TopicFigures::bytes_out); }},
    {"topic_log_bytes", kGauge, "topic", "Bytes of the logs on this node.", "kafka.log:type=Log,name=Size,topic=*,partition=*",
     [](F f, S out) { per_topic(f, out, &TopicFigures::log_bytes); }},
    {"topic_partitions", kGauge, "topic", "Replicas on this node.", "",
     [](F f, S out) { per_topic(f, out, &TopicFigures::partitions); }},

    // ---- Partitions
    {"partitions", kGauge, "", "Partitions with a replica on this node.", "kafka.server:type=ReplicaManager,name=PartitionCount",
     [](F f, S out) { out.add(f.node.state.partitions); }},
    {"partitions_leading", kGauge, "", "Partitions that this node leads.", "kafka.server:type=ReplicaManager,name=LeaderCount",
     [](F f, S out) { out.add(f.node.state.leaders); }},
    {"partitions_opening", kGauge, "", "Partitions whose log is still being opened or recovered.",
     "kafka.log:type=LogManager,name=remainingLogsToRecover,dir=*", [](F f, S out) { out.add(f.node.state.opening); }},
    {"partitions_offline", kGauge, "", "Partitions whose log directory failed.",
     "kafka.server:type=ReplicaManager,name=OfflineReplicaCount", [](F f, S out) { out.add(f.node.state.offline); }},
    {"partitions_under_replicated", kGauge, "", "Partitions led here of which a replica is not in sync.",
     "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions",
     [](F f, S out) { out.add(count_led(f, [](auto const& p) { return p.isr.size() < p.replicas.size(); })); }},
    {"partitions_under_min_isr", kGauge, "", "Partitions led here with fewer replicas in sync than `min.insync.replicas`.",
     "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount",
     [](F f, S out) { out.add(count_led(f, [](auto const& p, int32_t min_isr) { return in_sync(p) < min_isr; })); }},
    {"partitions_at_min_isr", kGauge, "", "Partitions led here with just as many replicas in sync as `min.insync.replicas` wants.",
     "kafka.server:type=ReplicaManager,name=AtMinIsrPartitionCount",
     [](F f, S out) { out.add(count_led(f, [](auto const& p, int32_t min_isr) { return in_sync(p) == min_isr; })); }},
    {"isr_shrinks_total", kCounter, "", "Replicas that fell out of sync, of partitions led here.",
     "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec", [](F f, S out) { out.add(f.node.changes.isr_shrinks); }},
    {"isr_expands_total", kCounter, "", "Replicas that caught up again, of partitions led here.",
     "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec", [](F f, S out) { out.add(f.node.changes.isr_expands); }},
    {"replica_lag_records", kGauge, "replica",
     "By how many records a follower is behind, in the partition led here in which it is furthest behind.",
     "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica; "
     "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=*,topic=*,partition=*",
     [](F f, S out) { per_follower(f, out); }},
    {"partition_takeovers_total", kCounter, "", "Partitions that this node began to lead.", "",
     [](F f, S out) { out.add(f.node.takeovers); }},
    {"partition_takeover_seconds_total", kCounter, "",
     "Time from the metadata that named this node the leader of a partition until it served, summed over those.",
     "kafka.controller:type=ControllerStats,name=LeaderElectionRateAndTimeMs",
     [](F f, S out) { out.add(f.node.takeover_seconds); }},
    {"partition_elections_total", kCounter, "", "Partitions of the cluster that got another leader, as this node learnt.",
     "kafka.controller:type=ControllerStats,name=LeaderElectionRateAndTimeMs",
     [](F f, S out) { out.add(f.node.changes.leaders); }},
    {"partition_elections_unclean_total", kCounter, "", "Those in which the new leader may lack what was acknowledged.",
     "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
     [](F f, S out) { out.add(f.node.changes.unclean_leaders); }},
    {"partitions_not_preferred", kGauge, "", "Partitions led here although another replica is the preferred leader.",
     "kafka.controller:type=KafkaController,name=PreferredReplicaImbalanceCount",
     [](F f, S out) {
       out.add(count_led(f, [](auto const& p) { return !p.replicas.empty() && p.leader != p.replicas.front(); }));
     }},

    // ---- Disks
    {"log_bytes", kGauge, "", "Bytes of all partitions' logs.", "kafka.log:type=Log,name=Size,topic=*,partition=*",
     [](F f, S out) { out.add(f.node.state.log_bytes); }},
    {"log_directories", kGauge, "", "Log directories, the metadata log's included.", "",
     [](F f, S out) { out.add(f.node.state.log_directories); }},
    {"log_directories_offline", kGauge, "", "Log directories out of service.",
     "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
     [](F f, S out) { out.add(f.node.state.offline_directories); }},
    {"disk_bytes", kGauge, "directory", "Size of the file system that a log directory is on.", "",
     [](F f, S out) { for (auto const& d : f.directories) out.add(d.total_bytes, {{"directory", d.path}}); }},
    {"disk_free_bytes", kGauge, "directory", "What is free of it.", "",
     [](F f, S out) { for (auto const& d : f.directories) out.add(d.free_bytes, {{"directory", d.path}}); }},

    // ---- Groups
    {"groups", kGauge, "state", "Groups that this node coordinates.",
     "kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups; "
     "kafka.server:type=group-coordinator-metrics,group-count",
     [](F f, S out) {
       std::map<std::string_view, int64_t> counts{
           {"Empty", 0}, {"PreparingRebalance", 0}, {"CompletingRebalance", 0}, {"Stable", 0}};
       for (auto const& group : f.node.groups.groups) ++counts[group.state];
       for (auto const& [state, count] : counts) out.add(count, {{"state", state}});
     }},
    {"group_members", kGauge, "", "Members of those groups.", "",
     [](F f, S out) {
       int64_t count = 0;
       for (auto const& group : f.node.groups.groups) count += group.member_count;
       out.add(count);
     }},
    {"group_offsets", kGauge, "", "Committed offsets of those groups.",
     "kafka.coordinator.group:type=GroupMetadataManager,name=NumOffsets",
     [](F f, S out) { out.add(f.node.groups.offset_count); }},
    {"group_rebalances_total", kCounter, "", "Generations that groups began.",
     "kafka.server:type=group-coordinator-metrics,group-completed-rebalance-count",
     [](F f, S out) { out.add(f.node.groups.rebalances); }},
    {"coordinators", kGauge, "", "Partitions of __consumer_offsets that this node leads.",
     "kafka.server:type=group-coordinator-metrics,num-partitions,state=active",
     [](F f, S out) { out.add(f.node.groups.coordinators); }},
    {"coordinators_loading", kGauge, "", "Those whose groups are still being read.",
     "kafka.server:type=group-coordinator-metrics,num-partitions,state=loading",
     [](F f, S out) { out.add(f.node.groups.coordinators_loading); }},
    {"coordinator_requests_total", kCounter, "", "Requests that coordinators took.", "",
     [](F f, S out) { out.add(f.node.groups.requests); }},
    {"coordinator_requests_waiting", kGauge, "",
     "Requests that coordinators have not answered yet, members that wait for a rebalance included.",
     "kafka.server:type=group-coordinator-metrics,event-queue-size",
     [](F f, S out) { out.add(f.node.groups.requests_queued); }},
    {"group_lag_records", kGauge, "group, topic, partition", "High watermark less committed offset.",
     "kafka.consumer:type=consumer-fetch-manager-metrics,client-id=*,topic=*,partition=*,records-lag",
     [](F f, S out) { per_lag(f, out, [](auto const& lag) { return static_cast<double>(lag.lag_records); }); }},
    {"group_lag_seconds", kGauge, "group, topic, partition",
     "Time since the first record that is not committed was appended here; 0 when there is none.", "",
     [](F f, S out) { per_lag(f, out, [](auto const& lag) { return static_cast<double>(lag.lag_ms) / 1000; }); }},
    {"group_stuck", kGauge, "group, topic, partition",
     "1 when the lag grew and no commit moved for `millrace.group.stuck.ms`. Only partitions that are.", "",
     [](F f, S out) {
       for (auto const& group : f.lags) {
         for (auto const& lag : group.partitions) {
           if (!lag.is_stuck) continue;
           out.add(1, {{"group", group.id}, {"topic", lag.topic}, {"partition", fmt::format_int(lag.partition).c_str()}});
         }
       }
     }},
    {"group_partitions_stuck", kGauge, "", "How many partitions of groups are stuck.", "",
     [](F f, S out) {
       int64_t count = 0;
       for (auto const& group : f.lags) count += std::ranges::count_if(group.partitions, &runtime::PartitionLag::is_stuck);
       out.add(count);
     }},
    {"group_partitions_left_out", kGauge, "", "Partitions of groups without lag metrics, for `millrace.metrics.group.partitions.max`.",
     "", [](F f, S out) { out.add(f.node.groups.offsets_left_out); }},

    // ---- The cluster's metadata
    {"ready", kGauge, "", "1 when the node serves and every partition is open.", "kafka.server:type=KafkaServer,name=BrokerState",
     [](F f, S out) { out.add(f.is_ready ? 1 : 0); }},
    {"controller_known", kGauge, "", "1 when the metadata quorum has a leader.",
     "kafka.server:type=raft-metrics,current-leader", [](F f, S out) { out.add(f.node.state.has_quorum ? 1 : 0); }},
    {"controller_active", kGauge, "", "1 when this node is the active controller.",
     "kafka.controller:type=KafkaController,name=ActiveControllerCount",
     [](F f, S out) { out.add(f.is_active_controller ? 1 : 0); }},
    {"controller_changes_total", kCounter, "", "Leaders of the metadata quorum that this node has come to know.",
     "kafka.controller:type=KafkaController,name=NewActiveControllersCount",
     [](F f, S out) { out.add(f.node.quorum.leaders_seen); }},
    {"controller_election_seconds_total", kCounter, "", "Time in which this node, having known a leader, knew of none.",
     "kafka.server:type=raft-metrics,election-latency-avg; kafka.server:type=raft-metrics,election-latency-max",
     [](F f, S out) { out.add(static_cast<double>(f.node.quorum.without_leader.count()) / 1e9); }},
    {"metadata_epoch", kGauge, "", "Leader epoch of the metadata log.", "kafka.server:type=raft-metrics,current-epoch",
     [](F f, S out) { out.add(f.node.quorum.epoch.value); }},
    {"metadata_committed_offset", kGauge, "", "High watermark of the metadata log.",
     "kafka.server:type=raft-metrics,high-watermark; kafka.controller:type=KafkaController,name=LastCommittedRecordOffset",
     [](F f, S out) { out.add(f.node.quorum.high_watermark.value); }},
    {"metadata_applied_offset", kGauge, "", "First offset of the metadata log that is not in what requests see.",
     "kafka.server:type=broker-metadata-metrics,last-applied-record-offset",
     [](F f, S out) { if (f.node.image != nullptr) out.add(f.node.image->offset.value + 1); }},
    {"metadata_lag_records", kGauge, "", "Committed records of the metadata log that requests do not see yet.",
     "kafka.server:type=broker-metadata-metrics,last-applied-record-lag-ms",
     [](F f, S out) {
       if (f.node.image != nullptr) {
         out.add(std::max<int64_t>(f.node.quorum.high_watermark.value - f.node.image->offset.value - 1, 0));
       }
     }},
    {"cluster_topics", kGauge, "", "Topics of the cluster.", "kafka.controller:type=KafkaController,name=GlobalTopicCount",
     [](F f, S out) { if (f.node.image != nullptr) out.add(f.node.image->topics.size()); }},
    {"cluster_partitions", kGauge, "", "Partitions of the cluster.",
     "kafka.controller:type=KafkaController,name=GlobalPartitionCount",
     [](F f, S out) { if (f.node.image != nullptr) out.add(f.node.image->partition_count()); }},
    {"cluster_partitions_offline", kGauge, "", "Partitions of the cluster without a leader.",
     "kafka.controller:type=KafkaController,name=OfflinePartitionsCount",
     [](F f, S out) { out.add(count_partitions(f, [](auto const& p) { return p.leader == kNoBroker; })); }},
    {"cluster_partitions_under_replicated", kGauge, "", "Partitions of the cluster of which a replica is not in sync.", "",
     [](F f, S out) { out.add(count_partitions(f, [](auto const& p) { return p.isr.size() < p.replicas.size(); })); }},
    {"quorum_end_offset", kGauge, "replica", "Where the metadata log of a voter or observer ends; told by the active controller.",
     "kafka.server:type=raft-metrics,log-end-offset",
     [](F f, S out) { per_quorum_replica(f, out, [](auto const& r) { return static_cast<double>(r.log_end.value); }); }},
    {"quorum_lag_records", kGauge, "replica", "By how many records it is behind the active controller; told by that one.", "",
     [](F f, S out) {
       per_quorum_replica(f, out, [&](auto const& r) { return static_cast<double>(std::max<int64_t>(quorum_end(f) - r.log_end.value, 0)); });
     }},
    {"cluster_brokers", kGauge, "", "Brokers that serve.", "kafka.controller:type=KafkaController,name=ActiveBrokerCount",
     [](F f, S out) { out.add(count_brokers(f, [](auto const& b) { return !b.is_fenced; })); }},
    {"cluster_brokers_fenced", kGauge, "", "Brokers that are fenced.",
     "kafka.controller:type=KafkaController,name=FencedBrokerCount",
     [](F f, S out) { out.add(count_brokers(f, [](auto const& b) { return b.is_fenced; })); }},

    // ---- The process
    {"cpu_seconds_total", kCounter, "", "Processor time of the process.",
     "java.lang:type=OperatingSystem,attribute=ProcessCpuTime", [](F f, S out) { out.add(f.process.cpu_seconds); }},
    {"resident_bytes", kGauge, "", "Resident memory of the process.", "java.lang:type=Memory,attribute=HeapMemoryUsage",
     [](F f, S out) { out.add(f.process.resident_bytes); }},
    {"start_time_seconds", kGauge, "", "When the process began, since 1970.", "java.lang:type=Runtime,attribute=StartTime",
     [](F f, S out) { out.add(f.process.start_seconds); }},
    {"threads", kGauge, "", "Threads of the process.", "java.lang:type=Threading,attribute=ThreadCount",
     [](F f, S out) { out.add(f.process.threads); }},
    {"descriptors", kGauge, "", "Open file descriptors.", "java.lang:type=OperatingSystem,attribute=OpenFileDescriptorCount",
     [](F f, S out) { out.add(f.process.descriptors); }},
    {"descriptors_max", kGauge, "", "How many there may be.",
     "java.lang:type=OperatingSystem,attribute=MaxFileDescriptorCount", [](F f, S out) { out.add(f.process.descriptors_max); }},
    {"collect_seconds", kGauge, "", "How long the figures of this answer took to gather.", "",
     [](F f, S out) { out.add(f.collect_seconds); }},
};

}  // namespace

std::span<Metric const> metrics() { return kMetrics; }

}  // namespace millrace::admin
