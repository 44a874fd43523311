// ImageDelta: which parts of an image a run of records touched. Names what may differ, not how: readers compare
// `before` and `after`, the two images that a publication carries.
#pragma once
#include <map>
#include <set>
#include <string>

#include "millrace/metadata/image.h"

namespace millrace::metadata {

struct TopicDelta {
  std::string name;
  bool is_created = false;         // not in `before` under this id
  bool is_deleted = false;         // not in `after`
  std::set<int32_t> partitions;    // created or changed; on deletion all that there were
};

struct ImageDelta {
  std::map<TopicId, TopicDelta> topics;
  std::set<BrokerId> brokers;
  std::set<int32_t> controllers;
  std::set<ConfigResource> configs;
  std::set<std::string> features;
  bool has_quotas = false;
  bool has_scram = false;
  bool has_acls = false;
  bool has_delegation_tokens = false;
  bool has_producer_ids = false;
  // Everything may differ: the image came from a snapshot. The sets above are then filled by comparison.
  bool is_from_snapshot = false;

  bool empty() const;
  // Afterwards this covers both runs, `later` being the second.
  void merge(ImageDelta const& later);
};

// What subscribers get, in the order of publication.
struct Publication {
  ImagePtr before;  // an empty image at the first publication; never null
  ImagePtr after;
  ImageDelta delta;
};

// Compares two images part by part; only topics whose object differs are
// looked into.
ImageDelta compare_images(Image const& before, Image const& after);

}  // namespace millrace::metadata
