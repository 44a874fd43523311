// What tells one image from another, as metadata::fingerprint does, but quick for the images of one node, each of which
// shares most of its parts with the one before it.
#pragma once
#include <map>

#include "millrace/metadata/image.h"

namespace millrace::sim {

class ImagePrints {
 public:
  // Equal for equal images, of whatever node. `image` is the next of this node.
  uint64_t of(metadata::Image const& image);

 private:
  struct Topic {
    metadata::TopicImagePtr image;  // held, so that no other gets its address
    uint64_t print;
  };
  uint64_t of_topic(metadata::TopicImagePtr const& topic) const;

  metadata::Image rest_;  // the last image without its topics and quotas
  uint64_t rest_print_ = 0;
  metadata::PersistentMap<metadata::QuotaEntityKey, metadata::QuotaMap> quotas_;
  uint64_t quotas_print_ = 0;
  std::map<metadata::TopicImage const*, Topic> topics_;
};

}  // namespace millrace::sim
