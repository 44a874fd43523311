// Replay: the only code that changes an image. What the controller decides, what the log holds and what a snapshot
// holds all pass through it.
#pragma once
#include <optional>

#include "millrace/base/result.h"
#include "millrace/bytes/view.h"
#include "millrace/metadata/delta.h"
#include "millrace/metadata/image.h"

namespace millrace::protocol {
struct PartitionChangeRecord;
}

namespace millrace::metadata {

// What a PartitionChangeRecord holds as its leader when the leadership stays as it is. Any other value, the present
// leader too, begins a new leader epoch.
inline constexpr int32_t kNoLeaderChange = -2;

// The partition after `change`.
PartitionImage changed_partition(PartitionImage const& before, protocol::PartitionChangeRecord const& change);

// Applies the value of one record of the metadata log (frame version, type, version, fields) to `image` and notes
// what it touched in `delta`. An unknown type or version, bytes that do not parse, or a record that does not fit the
// image (a change of a topic that is not there) is an error, and `image` is unchanged. `offset` is the record's own.
Status apply_record(Image& image, ByteView value, Offset offset, ImageDelta& delta);

// Replays a log record by record and knows about metadata transactions: what stands between Begin and End becomes
// visible with End, and with Abort never does.
class Replayer {
 public:
  Replayer() = default;
  explicit Replayer(Image image) : image_(std::move(image)) {}

  // Records come in order of offset. After an error the replayer must not be used on: the log holds something that
  // this node does not understand.
  Status apply(ByteView value, Offset offset, LeaderEpoch epoch, int64_t timestamp_ms);
  // A control record: only moves the offset.
  void skip(Offset offset, LeaderEpoch epoch, int64_t timestamp_ms);

  // With open transactions left out.
  Image const& visible() const { return before_transaction_ ? *before_transaction_ : image_; }
  Image const& image() const { return image_; }
  bool is_in_transaction() const { return before_transaction_.has_value(); }
  // What visible() gained since the last call. Empty while a transaction is open.
  ImageDelta take_delta();

 private:
  Image image_;
  ImageDelta delta_;
  std::optional<Image> before_transaction_;
  ImageDelta delta_before_transaction_;
};

}  // namespace millrace::metadata
