#include "settings_rules.h"

namespace millrace::server {

namespace {

// Kafka refuses to start when `low` is above `high`.
struct Order {
  std::string_view low;
  std::string_view high;
};
constexpr Order kOrders[] = {
    {"group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
    {"group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"},
    {"group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
    {"group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"},
    {"group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
    {"group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"},
    {"group.share.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
    {"group.share.min.assignment.interval.ms", "group.share.assignment.interval.ms"},
    {"group.share.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
    {"group.share.min.heartbeat.interval.ms", "group.share.heartbeat.interval.ms"},
    {"group.share.session.timeout.ms", "group.share.max.session.timeout.ms"},
    {"group.share.min.session.timeout.ms", "group.share.session.timeout.ms"},
    {"group.share.delivery.count.limit", "group.share.max.delivery.count.limit"},
    {"group.share.min.delivery.count.limit", "group.share.delivery.count.limit"},
    {"group.share.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
    {"group.share.min.record.lock.duration.ms", "group.share.record.lock.duration.ms"},
    {"group.share.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
    {"group.share.min.partition.max.record.locks", "group.share.partition.max.record.locks"},
    {"group.share.max.size", "group.share.max.share.sessions"},
    {"group.streams.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
    {"group.streams.min.assignment.interval.ms", "group.streams.assignment.interval.ms"},
    {"group.streams.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
    {"group.streams.min.heartbeat.interval.ms", "group.streams.heartbeat.interval.ms"},
    {"group.streams.session.timeout.ms", "group.streams.max.session.timeout.ms"},
    {"group.streams.min.session.timeout.ms", "group.streams.session.timeout.ms"},
    {"group.streams.num.standby.replicas", "group.streams.max.standby.replicas"},
    {"group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"},
    {"group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"},
    {"replica.fetch.wait.max.ms", "replica.socket.timeout.ms"},
    {"replica.fetch.wait.max.ms", "replica.lag.time.max.ms"},
};

class Rules {
 public:
  explicit Rules(Configuration const& configuration) : configuration_(configuration) {}

  std::vector<std::string> check() {
    for (auto const& order : kOrders) check_order(order);
    check_times();
    check_network();
    check_cleaner();
    check_lists();
    return std::move(problems_);
  }

 private:
  int64_t integer(std::string_view key) const { return configuration_.integer(key); }
  bool has(std::string_view key) const { return configuration_.text(key).has_value(); }

  // "server.properties:3: key=value"; a default is said to be one.
  std::string said(std::string_view key) const {
    auto const found = configuration_.values().find(key);
    if (found == configuration_.values().end()) return fmt::format("{}={} (the default)", key, configuration_.text_or_empty(key));
    return fmt::format("{}: {}={}", found->second.place, key, found->second.text);
  }
  void fail(std::string_view key, std::string_view what) { problems_.push_back(fmt::format("{} {}", said(key), what)); }

  // The default of the pair's other half can break it too: it is named, as it is not in the file.
  void check_order(Order const& order) {
    if (integer(order.low) <= integer(order.high)) return;
    bool const low_is_set = configuration_.is_set(order.low);
    fail(low_is_set ? order.low : order.high,
         fmt::format("must be at {} {}; change one of the two", low_is_set ? "most" : "least",
                     said(low_is_set ? order.high : order.low)));
  }

  void check_times() {
    for (std::string_view const key : {"log.retention.ms", "log.retention.minutes", "log.retention.hours"}) {
      if (!has(key)) continue;
      if (integer(key) == 0) fail(key, "must be at least 1, or negative for no limit; leave the key out for a week");
      break;  // the finest one counts, as in Kafka
    }
    for (std::string_view const key : {"log.roll.ms", "log.roll.hours"}) {
      if (!has(key)) continue;
      if (integer(key) < 1) fail(key, "must be at least 1; leave the key out for a week");
      break;
    }
    for (std::string_view const key : {"log.roll.jitter.ms", "log.roll.jitter.hours"}) {
      if (!has(key)) continue;
      if (integer(key) < 0) fail(key, "must be at least 0; leave the key out for no jitter");
      break;
    }
  }

  void check_network() {
    if (auto const bytes = integer("queued.max.request.bytes"); bytes > 0 && bytes < integer("socket.request.max.bytes")) {
      fail("queued.max.request.bytes", fmt::format("must be at least {}, or -1 for a share of the machine's memory; raise "
                                                   "it or lower the other", said("socket.request.max.bytes")));
    }
    auto const idle_ms = integer("connections.max.idle.ms");
    if (idle_ms >= 0 && integer("connection.failed.authentication.delay.ms") >= idle_ms) {
      fail("connections.max.idle.ms", fmt::format("must be more than {}, or negative for no limit",
                                                  said("connection.failed.authentication.delay.ms")));
    }
    if (integer("max.connections.per.ip") == 0 && configuration_.text_or_empty("max.connections.per.ip.overrides").empty()) {
      fail("max.connections.per.ip", "lets nobody connect; name who may in max.connections.per.ip.overrides (ADDRESS:COUNT,...)");
    }
  }

  void check_cleaner() {
    constexpr int64_t kBytesPerThread = 1 << 20;
    auto const bytes = integer("log.cleaner.dedupe.buffer.size");
    auto const threads = integer("log.cleaner.threads");
    if (threads < 1 || bytes / threads < kBytesPerThread) {
      auto const fits = threads >= 1 && threads <= INT32_MAX / kBytesPerThread;
      if (!fits) return fail("log.cleaner.threads", "must be at least 1, with 1 MiB of log.cleaner.dedupe.buffer.size for each");
      fail("log.cleaner.dedupe.buffer.size", fmt::format("must be at least 1 MiB for each of {}; give it {}",
                                                         said("log.cleaner.threads"), kBytesPerThread * threads));
    }
  }

  void check_lists() {
    for (std::string_view const key :
         {"advertised.listeners", "group.consumer.assignors", "group.coordinator.rebalance.protocols", "group.share.assignors",
          "group.streams.assignors", "log.dir", "remote.log.metadata.manager.class.name", "remote.log.metadata.manager.impl.prefix",
          "remote.log.metadata.manager.listener.name", "remote.log.storage.manager.class.name",
          "remote.log.storage.manager.impl.prefix"}) {
      if (configuration_.is_set(key) && configuration_.list(key).empty()) fail(key, "must not be empty; leave it out for the default");
    }
    for (std::string_view const key : {"offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"}) {
      if (auto const id = integer(key); id < 0 || id > 4) {
        fail(key, "must be 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)");
      }
    }
  }

  Configuration const& configuration_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> broken_rules(Configuration const& configuration) { return Rules(configuration).check(); }

std::vector<std::string> odd_values(Configuration const& configuration) {
  std::vector<std::string> warnings;
  for (std::string_view const key : {"log.retention.ms", "log.retention.minutes", "log.retention.hours"}) {
    auto const found = configuration.values().find(key);
    if (found == configuration.values().end() || configuration.integer(key) >= -1) continue;
    warnings.push_back(fmt::format("{}: {}={} means no limit, as any negative value does; write -1 if that is meant",
                                   found->second.place, key, found->second.text));
  }
  auto const heartbeat_ms = configuration.integer("broker.heartbeat.interval.ms");
  auto const session_ms = configuration.integer("broker.session.timeout.ms");
  if (heartbeat_ms > session_ms / 2) {
    warnings.push_back(fmt::format("broker.heartbeat.interval.ms={} is more than half of broker.session.timeout.ms={}: a broker "
                                   "whose heartbeat is late once is fenced; lower the one or raise the other",
                                   heartbeat_ms, session_ms));
  }
  return warnings;
}

}  // namespace millrace::server
