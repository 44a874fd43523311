#include "sim/run/image_prints.h"

#include <bit>

#include "millrace/metadata/snapshot.h"

namespace millrace::sim {
namespace {

using metadata::mix_priority;
using metadata::PersistentMap;
using metadata::QuotaEntityKey;
using metadata::QuotaMap;

bool share_the_rest(metadata::Image const& a, metadata::Image const& b) {
  return a.features.is_same_tree(b.features) && a.brokers.is_same_tree(b.brokers) && a.controllers.is_same_tree(b.controllers) &&
         a.configs.is_same_tree(b.configs) && a.scram.is_same_tree(b.scram) &&
         a.acls.is_same_tree(b.acls) && a.delegation_tokens.is_same_tree(b.delegation_tokens) &&
         a.next_producer_id == b.next_producer_id;
}

// An admin writes a quota for each user that it makes up: hundreds, of which one changes.
uint64_t print_of(PersistentMap<QuotaEntityKey, QuotaMap> const& quotas) {
  uint64_t print = quotas.size();
  quotas.for_each([&](QuotaEntityKey const& entity, QuotaMap const& values) {
    print = mix_priority(print ^ std::hash<QuotaEntityKey>{}(entity));
    values.for_each([&](std::string const& name, double value) {
      print = mix_priority(print ^ std::hash<std::string>{}(name) ^ std::bit_cast<uint64_t>(value));
    });
  });
  return print;
}

}  // namespace

uint64_t ImagePrints::of(metadata::Image const& image) {
  if (rest_print_ == 0 || !share_the_rest(image, rest_)) {
    if (!image.features.is_same_tree(rest_.features)) topics_.clear();  // they decide how a topic is written
    rest_ = image;
    rest_.topics = {};
    rest_.topics_by_id = {};
    rest_.quotas = {};
    rest_print_ = metadata::fingerprint(rest_);
  }
  if (!image.quotas.is_same_tree(quotas_)) {
    quotas_ = image.quotas;
    quotas_print_ = print_of(quotas_);
  }
  auto print = mix_priority(rest_print_ ^ quotas_print_);
  std::map<metadata::TopicImage const*, Topic> topics;
  image.topics.for_each([&](std::string const&, metadata::TopicImagePtr const& topic) {
    auto const known = topics_.find(topic.get());
    auto const of_it = known != topics_.end() ? known->second.print : of_topic(topic);
    topics.try_emplace(topic.get(), Topic{topic, of_it});
    print = mix_priority(print ^ of_it);
  });
  topics_ = std::move(topics);
  return print;
}

uint64_t ImagePrints::of_topic(metadata::TopicImagePtr const& topic) const {
  metadata::Image alone;
  alone.features = rest_.features;
  alone.topics.set(topic->name, topic);
  return metadata::fingerprint(alone);
}

}  // namespace millrace::sim
