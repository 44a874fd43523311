#include "millrace/runtime/topic_config.h"

#include <charconv>

#include "millrace/metadata/config_entries.h"
#include "millrace/metadata/topic_config.h"

namespace millrace::runtime {
namespace {

template <class T>
bool set_number(T& field, std::string_view text) {
  int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
  field = static_cast<T>(value);
  return true;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    auto const comma = list.find(',');
    auto item = list.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// Values are stored as they came, with blanks and signs that were allowed.
void apply_as_checked(TopicConfig& config, std::string_view key, std::string_view value) {
  auto const* setting = metadata::find_topic_setting(key);
  if (setting != nullptr) apply_topic_setting(config, key, metadata::canonical_value(setting->type, value));
}

}  // namespace

bool apply_topic_setting(TopicConfig& config, std::string_view key, std::string_view value) {
  auto& log = config.log;
  if (key == "cleanup.policy") {
    log.is_deleting = has_word(value, "delete");
    log.is_compacting = has_word(value, "compact");
    return true;
  }
  if (key == "message.timestamp.type") {
    config.is_log_append_time = value == "LogAppendTime";
    return true;
  }
  if (key == "compression.type") {
    config.compression_type = value;
    return true;
  }
  if (key == "segment.bytes") return set_number(log.segment_bytes, value);
  if (key == "segment.ms") return set_number(log.segment_age_ms_max, value);
  if (key == "segment.jitter.ms") return set_number(log.segment_jitter_ms_max, value);
  if (key == "segment.index.bytes") return set_number(log.index_bytes_max, value);
  if (key == "index.interval.bytes") return set_number(log.index_interval_bytes, value);
  if (key == "retention.bytes") return set_number(log.retention_bytes, value);
  if (key == "retention.ms") return set_number(log.retention_ms, value);
  if (key == "delete.retention.ms") return set_number(log.delete_retention_ms, value);
  if (key == "min.compaction.lag.ms") return set_number(log.compaction_lag_ms_min, value);
  if (key == "max.compaction.lag.ms") return set_number(log.compaction_lag_ms_max, value);
  if (key == "min.cleanable.dirty.ratio") {
    double ratio = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), ratio);
    if (error != std::errc() || end != value.data() + value.size() || !(ratio >= 0 && ratio <= 1)) return false;
    log.cleanable_dirty_ratio_min = ratio;
    return true;
  }
  if (key == "max.message.bytes") return set_number(config.message_bytes_max, value);
  if (key == "max.decompressed.message.bytes") return set_number(config.decompressed_bytes_max, value);
  if (key == "min.insync.replicas") return set_number(config.min_in_sync, value);
  if (key == "message.timestamp.before.max.ms") return set_number(config.timestamp_before_ms_max, value);
  if (key == "message.timestamp.after.max.ms") return set_number(config.timestamp_after_ms_max, value);
  if (key == "compression.gzip.level") return set_number(config.gzip_level, value);
  if (key == "compression.lz4.level") return set_number(config.lz4_level, value);
  if (key == "compression.zstd.level") return set_number(config.zstd_level, value);
  if (key == "flush.messages") return set_number(config.flush_messages, value);
  if (key == "flush.ms") return set_number(config.flush_ms, value);
  if (key == "file.delete.delay.ms") return set_number(config.file_delete_delay_ms, value);
  return false;
}

void finish_topic_config(TopicConfig& config) {
  config.codec.reset();
  config.codec_level.reset();
  auto const& type = config.compression_type;
  if (type == "uncompressed") config.codec = Codec::none;
  if (type == "snappy") config.codec = Codec::snappy;
  if (type == "gzip") {
    config.codec = Codec::gzip;
    config.codec_level = config.gzip_level;
  }
  if (type == "lz4") {
    config.codec = Codec::lz4;
    config.codec_level = config.lz4_level;
  }
  if (type == "zstd") {
    config.codec = Codec::zstd;
    config.codec_level = config.zstd_level;
  }
}

TopicConfig topic_defaults_with_cluster_configs(TopicConfig const& of_file, metadata::Image const& image, BrokerId node) {
  auto out = of_file;
  for (auto const& setting : metadata::topic_settings()) {
    auto const effective = metadata::effective_topic_config(image, node, {}, "", setting);
    bool const is_of_cluster = effective.source == metadata::ConfigSource::dynamic_broker ||
                               effective.source == metadata::ConfigSource::dynamic_default_broker;
    if (is_of_cluster) apply_as_checked(out, setting.name, effective.value);
  }
  constexpr std::string_view kProducerExpiry = "producer.id.expiration.ms";
  for (auto const& name : {std::string(), fmt::format("{}", node)}) {
    auto const* value = image.find_config(metadata::ConfigResourceType::broker, name, kProducerExpiry);
    if (value != nullptr) set_number(out.log.producer_expiry_ms, metadata::canonical_value(SettingType::int64, *value));
  }
  return out;
}

TopicConfigPtr resolve_topic_config(TopicConfig const& defaults, metadata::ConfigMap const* settings) {
  auto config = std::make_shared<TopicConfig>(defaults);
  if (settings != nullptr) {
    settings->for_each([&](std::string const& key, std::string const& value) { apply_as_checked(*config, key, value); });
  }
  finish_topic_config(*config);
  return config;
}

}  // namespace millrace::runtime
