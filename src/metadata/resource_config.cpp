#include "millrace/metadata/resource_config.h"

#include <algorithm>
#include <array>

namespace millrace::metadata {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
using Check = TopicSetting::Check;
using T = SettingType;

constexpr TopicSetting number(std::string_view name, std::string_view default_text, int64_t minimum,
                              std::string_view broker_key, bool is_internal = false) {
  return {name, T::int32, default_text, Check::range, minimum, kHighest, "", broker_key, is_internal};
}
constexpr TopicSetting boolean(std::string_view name, std::string_view default_text, std::string_view broker_key,
                               bool is_internal) {
  return {name, T::boolean, default_text, Check::none, kLowest, kHighest, "", broker_key, is_internal};
}

constexpr std::array kGroupSettings{
    number("consumer.assignment.interval.ms", "1000", 0, "group.consumer.assignment.interval.ms"),
    boolean("consumer.assignor.offload.enable", "true", "group.consumer.assignor.offload.enable", true),
    number("consumer.heartbeat.interval.ms", "5000", 1, "group.consumer.heartbeat.interval.ms"),
    number("consumer.session.timeout.ms", "45000", 1, "group.consumer.session.timeout.ms"),
    boolean("errors.deadletterqueue.copy.record.enable", "false", "", false),
    TopicSetting{"errors.deadletterqueue.topic.name", T::string, "", Check::none, kLowest, kHighest, "", "", false},
    number("share.assignment.interval.ms", "1000", 0, "group.share.assignment.interval.ms"),
    boolean("share.assignor.offload.enable", "true", "group.share.assignor.offload.enable", true),
    TopicSetting{"share.auto.offset.reset", T::string, "latest", Check::none, kLowest, kHighest, "", "", false},
    number("share.delivery.count.limit", "5", 2, "group.share.delivery.count.limit"),
    number("share.heartbeat.interval.ms", "5000", 1, "group.share.heartbeat.interval.ms"),
    TopicSetting{"share.isolation.level", T::string, "read_uncommitted", Check::one_of, kLowest, kHighest,
                 "read_committed, read_uncommitted", "", false},
    number("share.partition.max.record.locks", "2000", 100, "group.share.partition.max.record.locks"),
    number("share.record.lock.duration.ms", "30000", 1000, "group.share.record.lock.duration.ms"),
    boolean("share.renew.acknowledge.enable", "true", "", false),
    number("share.session.timeout.ms", "45000", 1, "group.share.session.timeout.ms"),
    TopicSetting{"streams.acceptable.recovery.lag", T::int64, "10000", Check::range, 0, kHighest, "",
                 "group.streams.acceptable.recovery.lag", true},
    number("streams.assignment.interval.ms", "1000", 0, "group.streams.assignment.interval.ms"),
    TopicSetting{"streams.assignor.name", T::string, "", Check::none, kLowest, kHighest, "", "group.streams.assignors",
                 false},
    boolean("streams.assignor.offload.enable", "true", "group.streams.assignor.offload.enable", true),
    number("streams.heartbeat.interval.ms", "5000", 1, "group.streams.heartbeat.interval.ms"),
    number("streams.initial.rebalance.delay.ms", "3000", 0, "group.streams.initial.rebalance.delay.ms"),
    number("streams.num.standby.replicas", "0", 0, "group.streams.num.standby.replicas"),
    number("streams.num.warmup.replicas", "2", 0, "group.streams.num.warmup.replicas", true),
    TopicSetting{"streams.rack.aware.assignment.tags", T::list, "", Check::none, kLowest, kHighest, "",
                 "group.streams.rack.aware.assignment.tags", false},
    number("streams.session.timeout.ms", "45000", 1, "group.streams.session.timeout.ms"),
    number("streams.task.offset.interval.ms", "60000", 1, "group.streams.task.offset.interval.ms", true),
};

constexpr std::array kClientMetricsSettings{
    TopicSetting{"interval.ms", T::int32, "300000", Check::none, kLowest, kHighest, "", "", false},
    TopicSetting{"match", T::list, "", Check::none, kLowest, kHighest, "", "", false},
    TopicSetting{"metrics", T::list, "", Check::none, kLowest, kHighest, "", "", false},
};

TopicSetting const* find_in(std::span<TopicSetting const> settings, std::string_view name) {
  auto const found = std::ranges::lower_bound(settings, name, {}, &TopicSetting::name);
  return found != settings.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

std::span<TopicSetting const> group_settings() { return kGroupSettings; }
std::span<TopicSetting const> client_metrics_settings() { return kClientMetricsSettings; }
TopicSetting const* find_group_setting(std::string_view name) { return find_in(kGroupSettings, name); }

}  // namespace millrace::metadata
