#include "millrace/metadata/image.h"

#include <tuple>

#include "millrace/base/assert.h"

namespace millrace::metadata {

Endpoint const* BrokerImage::find_endpoint(std::string_view listener) const {
  for (auto const& endpoint : endpoints)
    if (endpoint.listener == listener) return &endpoint;
  return nullptr;
}

bool BrokerImage::has_online_directory(DirectoryId const& directory) const {
  if (directory == kDirectoryUnassigned || directory == kDirectoryMigrating) return true;
  if (directory == kDirectoryLost) return false;
  return directories.empty() || std::binary_search(directories.begin(), directories.end(), directory);
}

bool operator==(BrokerImage const& a, BrokerImage const& b) {
  auto const facts = [](BrokerImage const& x) {
    return std::tie(x.id, x.epoch, x.incarnation_id, x.endpoints, x.features, x.rack, x.is_fenced,
                    x.is_in_controlled_shutdown, x.directories, x.cordoned_directories);
  };
  return facts(a) == facts(b);
}

bool PartitionImage::has_replica(BrokerId broker) const {
  return std::find(replicas.begin(), replicas.end(), broker) != replicas.end();
}

bool PartitionImage::is_in_isr(BrokerId broker) const { return std::find(isr.begin(), isr.end(), broker) != isr.end(); }

DirectoryId PartitionImage::directory_of(BrokerId broker) const {
  for (size_t i = 0; i < replicas.size() && i < directories.size(); ++i)
    if (replicas[i] == broker) return directories[i];
  return kDirectoryUnassigned;
}

PartitionImage const* TopicImage::find_partition(int32_t index) const {
  auto const* found = partitions.find(index);
  return found == nullptr ? nullptr : found->get();
}

BrokerImage const* Image::find_broker(BrokerId id) const {
  auto const* found = brokers.find(id);
  return found == nullptr ? nullptr : found->get();
}

TopicImage const* Image::find_topic(std::string_view name) const {
  auto const* found = topics.find(name);
  return found == nullptr ? nullptr : found->get();
}

TopicImage const* Image::find_topic(TopicId const& id) const {
  auto const* found = topics_by_id.find(id);
  return found == nullptr ? nullptr : found->get();
}

PartitionImage const* Image::find_partition(std::string_view topic, int32_t partition) const {
  auto const* found = find_topic(topic);
  return found == nullptr ? nullptr : found->find_partition(partition);
}

PartitionImage const* Image::find_partition(TopicId const& topic, int32_t partition) const {
  auto const* found = find_topic(topic);
  return found == nullptr ? nullptr : found->find_partition(partition);
}

ConfigMap const* Image::find_configs(ConfigResourceType type, std::string_view name) const {
  return configs.find(ConfigResource{type, std::string(name)});
}

std::string const* Image::find_config(ConfigResourceType type, std::string_view name, std::string_view key) const {
  auto const* set = find_configs(type, name);
  return set == nullptr ? nullptr : set->find(key);
}

int16_t Image::feature_level(std::string_view name) const {
  auto const* level = features.find(name);
  return level == nullptr ? int16_t{0} : *level;
}

size_t Image::partition_count() const {
  size_t count = 0;
  topics.for_each([&](auto const&, TopicImagePtr const& topic) { count += topic->partitions.size(); });
  return count;
}

namespace {

void check_partition(TopicImage const& topic, int32_t index, PartitionImage const& p) {
  auto const is_subset = [&](std::vector<BrokerId> const& part) {
    return std::all_of(part.begin(), part.end(), [&](BrokerId b) { return p.has_replica(b); });
  };
  MR_ASSERT_VALUES(!p.replicas.empty(), "{}-{}", topic.name, index);
  MR_ASSERT_VALUES(p.directories.size() == p.replicas.size(), "{}-{}", topic.name, index);
  MR_ASSERT_VALUES(is_subset(p.isr), "{}-{}", topic.name, index);
  MR_ASSERT_VALUES(is_subset(p.elr), "{}-{}", topic.name, index);
  MR_ASSERT_VALUES(p.leader == kNoBroker || p.is_in_isr(p.leader), "{}-{} leader {}", topic.name, index, p.leader);
  MR_ASSERT_VALUES(p.leader_epoch.value >= 0, "{}-{}", topic.name, index);
  MR_ASSERT_VALUES(p.partition_epoch >= p.leader_epoch.value, "{}-{} partition epoch {} leader epoch {}", topic.name, index,
                   p.partition_epoch, p.leader_epoch);
  for (auto broker : p.elr) MR_ASSERT_VALUES(!p.is_in_isr(broker), "{}-{} broker {}", topic.name, index, broker);
}

void check_indexes(Image const& image) {
  size_t leaderless_topics = 0;
  image.topics_by_id.for_each([&](TopicId const& id, TopicImagePtr const& topic) {
    int32_t leaderless = 0;
    topic->partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      if (partition->leader == kNoBroker) ++leaderless;
      for (auto broker : partition->replicas) {
        auto const* topics = image.topics_by_broker.find(broker);
        MR_ASSERT_VALUES(topics != nullptr && topics->contains(id), "{}-{} broker {}", topic->name, index, broker);
      }
    });
    auto const* counted = image.leaderless_counts.find(id);
    MR_ASSERT_VALUES((counted == nullptr ? 0 : *counted) == leaderless, "{} has {} without leader", topic->name, leaderless);
    leaderless_topics += leaderless > 0 ? 1 : 0;
  });
  MR_ASSERT(leaderless_topics == image.leaderless_counts.size());
  image.topics_by_broker.for_each([&](BrokerId broker, PersistentMap<TopicId, bool> const& topics) {
    MR_ASSERT_VALUES(!topics.empty(), "broker {}", broker);
    topics.for_each([&](TopicId const& id, bool) {
      MR_ASSERT_VALUES(image.find_topic(id) != nullptr, "broker {} topic {}", broker, id);
    });
  });
}

}  // namespace

void Image::check_invariants() const {
  MR_ASSERT(brokers.is_well_formed());
  MR_ASSERT(topics.is_well_formed());
  MR_ASSERT(topics_by_id.is_well_formed());
  MR_ASSERT(configs.is_well_formed());
  MR_ASSERT(topics.size() == topics_by_id.size());
  topics.for_each([&](std::string const& name, TopicImagePtr const& topic) {
    MR_ASSERT(name == topic->name);
    MR_ASSERT(find_topic(topic->id) == topic.get());
    int32_t expected = 0;
    topic->partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      MR_ASSERT_VALUES(index == expected++, "{}-{}", name, index);
      check_partition(*topic, index, *partition);
    });
  });
  configs.for_each([](ConfigResource const&, ConfigMap const& set) { MR_ASSERT(!set.empty()); });
  check_indexes(*this);
}

}  // namespace millrace::metadata
