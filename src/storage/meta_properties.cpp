#include "meta_properties.h"

#include "checkpoint_text.h"

namespace millrace::storage {
namespace {

std::string_view trim(std::string_view text) {
  auto const first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// As Java's Date prints it, in UTC.
std::string java_date(Wall now) {
  constexpr std::array<char const*, 7> kDays = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
  constexpr std::array<char const*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::chrono::sys_seconds const at{std::chrono::seconds(now.ms / 1000)};
  auto const day = std::chrono::floor<std::chrono::days>(at);
  std::chrono::year_month_day const date{day};
  std::chrono::hh_mm_ss const time{at - day};
  return fmt::format(
      "{} {} {:02} {:02}:{:02}:{:02} UTC {}", kDays[static_cast<size_t>((day.time_since_epoch().count() % 7 + 7) % 7)],
      kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<unsigned>(date.day()), time.hours().count(),
      time.minutes().count(), time.seconds().count(), static_cast<int>(date.year()));
}

}  // namespace

std::string MetaProperties::text(Wall now) const {
  auto out = fmt::format("#\n#{}\nnode.id={}\n", java_date(now), node_id);
  if (directory_id) out += fmt::format("directory.id={}\n", *directory_id);
  return out + fmt::format("version=1\ncluster.id={}\n", cluster_id);
}

Result<MetaProperties> MetaProperties::parse(std::string_view text) {
  MetaProperties out;
  std::optional<int32_t> version, node_id;
  while (!text.empty()) {
    auto const end = text.find('\n');
    auto const line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.empty() || line.front() == '#' || line.front() == '!') continue;
    auto const equals = line.find_first_of("=:");
    if (equals == std::string_view::npos) continue;
    auto const key = trim(line.substr(0, equals));
    auto const value = trim(line.substr(equals + 1));
    if (key == "version") version = parse_number<int32_t>(value);
    if (key == "node.id") node_id = parse_number<int32_t>(value);
    if (key == "cluster.id") out.cluster_id = value;
    if (key == "directory.id") {
      auto id = Uuid::parse(value);
      if (!id) return Error{ErrorKind::corrupt, "meta.properties: directory.id is no id"};
      out.directory_id = *id;
    }
  }
  if (!version) return Error{ErrorKind::corrupt, "meta.properties has no version"};
  if (*version != 1) {
    return Error{ErrorKind::unsupported,
                 fmt::format("meta.properties is of version {}, this program knows version 1", *version)};
  }
  if (!node_id || *node_id < 0) return Error{ErrorKind::corrupt, "meta.properties has no node.id"};
  if (out.cluster_id.empty()) return Error{ErrorKind::corrupt, "meta.properties has no cluster.id"};
  out.node_id = BrokerId(*node_id);
  return out;
}

std::string partition_metadata_text(TopicId topic_id) { return fmt::format("version: 0\ntopic_id: {}", topic_id); }

Result<TopicId> parse_partition_metadata(std::string_view text) {
  constexpr std::string_view kVersion = "version: ";
  constexpr std::string_view kTopicId = "topic_id: ";
  auto const end = text.find('\n');
  auto const first = trim(text.substr(0, end));
  auto const second = end == std::string_view::npos ? std::string_view{} : trim(text.substr(end + 1));
  if (!first.starts_with(kVersion) || !second.starts_with(kTopicId)) {
    return Error{ErrorKind::corrupt, "partition.metadata is not two lines of version and topic_id"};
  }
  if (first.substr(kVersion.size()) != "0")
    return Error{ErrorKind::unsupported, "partition.metadata is of an unknown version"};
  return Uuid::parse(second.substr(kTopicId.size()));
}

}  // namespace millrace::storage
