#include "millrace/metadata/delta.h"

namespace millrace::metadata {
namespace {

// Calls `differs(key)` for each key whose value is not equal, or that only one of the two maps has.
template <class K, class V, class Equal, class F>
void compare_maps(PersistentMap<K, V> const& before, PersistentMap<K, V> const& after, Equal equal, F differs) {
  if (before.is_same_tree(after)) return;
  before.for_each([&](K const& key, V const& value) {
    auto const* now = after.find(key);
    if (now == nullptr || !equal(value, *now)) differs(key);
  });
  after.for_each([&](K const& key, V const&) {
    if (!before.contains(key)) differs(key);
  });
}

auto const kSamePointee = [](auto const& a, auto const& b) { return a == b || *a == *b; };
auto const kSameValue = [](auto const& a, auto const& b) { return a == b; };

template <class K, class V>
bool is_equal(PersistentMap<K, V> const& a, PersistentMap<K, V> const& b) {
  bool equal = true;
  compare_maps(a, b, kSameValue, [&](K const&) { equal = false; });
  return equal;
}

void add_all_partitions(TopicImage const& topic, TopicDelta& delta) {
  topic.partitions.for_each([&](int32_t index, PartitionImagePtr const&) { delta.partitions.insert(index); });
}

void compare_topics(Image const& before, Image const& after, ImageDelta& delta) {
  auto const differs = [&](TopicId const& id) {
    auto const* was = before.find_topic(id);
    auto const* is = after.find_topic(id);
    TopicDelta topic;
    topic.name = is != nullptr ? is->name : was->name;
    topic.is_created = was == nullptr;
    topic.is_deleted = is == nullptr;
    if (was != nullptr && is != nullptr) {
      compare_maps(was->partitions, is->partitions, kSamePointee, [&](int32_t index) { topic.partitions.insert(index); });
      if (topic.partitions.empty()) return;
    } else {
      add_all_partitions(is != nullptr ? *is : *was, topic);
    }
    delta.topics.emplace(id, std::move(topic));
  };
  compare_maps(before.topics_by_id, after.topics_by_id, [](auto const& a, auto const& b) { return a == b; }, differs);
}

}  // namespace

bool ImageDelta::empty() const {
  return topics.empty() && brokers.empty() && controllers.empty() && configs.empty() && features.empty() && !has_quotas &&
         !has_scram && !has_acls && !has_delegation_tokens && !has_producer_ids && !is_from_snapshot;
}

void ImageDelta::merge(ImageDelta const& later) {
  for (auto const& [id, topic] : later.topics) {
    auto const [entry, is_new] = topics.try_emplace(id, topic);
    if (is_new) continue;
    auto& mine = entry->second;
    mine.partitions.insert(topic.partitions.begin(), topic.partitions.end());
    mine.is_deleted |= topic.is_deleted;
    if (mine.is_created && mine.is_deleted) topics.erase(entry);  // neither image has it
  }
  brokers.insert(later.brokers.begin(), later.brokers.end());
  controllers.insert(later.controllers.begin(), later.controllers.end());
  configs.insert(later.configs.begin(), later.configs.end());
  features.insert(later.features.begin(), later.features.end());
  has_quotas |= later.has_quotas;
  has_scram |= later.has_scram;
  has_acls |= later.has_acls;
  has_delegation_tokens |= later.has_delegation_tokens;
  has_producer_ids |= later.has_producer_ids;
  is_from_snapshot |= later.is_from_snapshot;
}

ImageDelta compare_images(Image const& before, Image const& after) {
  ImageDelta delta;
  compare_topics(before, after, delta);
  compare_maps(before.brokers, after.brokers, kSamePointee, [&](BrokerId id) { delta.brokers.insert(id); });
  compare_maps(before.controllers, after.controllers, kSamePointee, [&](int32_t id) { delta.controllers.insert(id); });
  compare_maps(before.configs, after.configs, [](auto const& a, auto const& b) { return is_equal(a, b); },
               [&](ConfigResource const& resource) { delta.configs.insert(resource); });
  compare_maps(before.features, after.features, kSameValue, [&](std::string const& name) { delta.features.insert(name); });
  compare_maps(before.quotas, after.quotas, [](auto const& a, auto const& b) { return is_equal(a, b); },
               [&](QuotaEntityKey const&) { delta.has_quotas = true; });
  delta.has_scram = !is_equal(before.scram, after.scram);
  delta.has_acls = !is_equal(before.acls, after.acls);
  delta.has_delegation_tokens = !is_equal(before.delegation_tokens, after.delegation_tokens);
  delta.has_producer_ids = before.next_producer_id != after.next_producer_id;
  return delta;
}

}  // namespace millrace::metadata
