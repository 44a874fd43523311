#include "millrace/runtime/metadata_publisher.h"

namespace millrace::runtime {

MetadataPublisher::MetadataPublisher() : published_(std::make_shared<metadata::Image const>()) {}

void MetadataPublisher::publish(metadata::Image image, metadata::ImageDelta delta) {
  MR_ASSERT(image.offset >= (next_ ? next_->offset : published_->offset));
  next_ = std::move(image);
  next_delta_.merge(delta);
  if (!is_publishing_) start();
}

void MetadataPublisher::start() {
  is_publishing_ = true;
  metadata::Publication publication;
  publication.before = published_;
  publication.after = std::make_shared<metadata::Image const>(*std::move(next_));
  publication.delta = std::exchange(next_delta_, {});
  next_.reset();
  for (auto const& subscriber : subscribers_) subscriber(publication);
  auto image = publication.after;
  if (!finisher_) return finish(std::move(image));
  finisher_(image, [this, image] { finish(image); });
}

void MetadataPublisher::finish(metadata::ImagePtr image) {
  published_ = std::move(image);
  is_publishing_ = false;
  if (on_published_) on_published_(published_);
  if (next_ && !is_publishing_) start();
}

}  // namespace millrace::runtime
