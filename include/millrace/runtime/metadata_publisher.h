// Hands each new image to this node, in one order: subscribers (configuration, partitions, coordinators, ...), then
// the copies that requests see. Belongs to the control reactor. Publishing never waits for a disk; images that come
// while one is on its way are published together afterwards.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/base/task.h"
#include "millrace/metadata/delta.h"

namespace millrace::runtime {

class MetadataPublisher {
 public:
  using Subscriber = std::function<void(metadata::Publication const&)>;
  // Gives every thread its copy; `done` runs on the control reactor when all have it.
  using Finisher = std::function<void(metadata::ImagePtr, Task done)>;

  MetadataPublisher();

  // Before the first publication.
  void subscribe(Subscriber subscriber) { subscribers_.push_back(std::move(subscriber)); }
  void set_finisher(Finisher finisher) { finisher_ = std::move(finisher); }
  // Called with each image that all threads have.
  void set_on_published(std::function<void(metadata::ImagePtr const&)> on_published) { on_published_ = std::move(on_published); }

  // `image` follows the one of the call before; `delta` is the difference.
  void publish(metadata::Image image, metadata::ImageDelta delta);

  metadata::ImagePtr const& published() const { return published_; }  // by all threads

 private:
  void start();
  void finish(metadata::ImagePtr image);

  std::vector<Subscriber> subscribers_;
  Finisher finisher_;
  std::function<void(metadata::ImagePtr const&)> on_published_;
  metadata::ImagePtr published_;
  std::optional<metadata::Image> next_;
  metadata::ImageDelta next_delta_;
  bool is_publishing_ = false;
};

}  // namespace millrace::runtime
