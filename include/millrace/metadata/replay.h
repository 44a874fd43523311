// Replay: the only code that changes an image. What the controller decides, what the log holds and what a snapshot
// holds all pass through it.
#pragma once
#include "millrace/base/result.h"
#include "millrace/bytes/view.h"
#include "millrace/metadata/delta.h"
#include "millrace/metadata/image.h"

namespace millrace::metadata {

// Applies the value of one record of the metadata log (frame version, type, version, fields) to `image` and notes
// what it touched in `delta`. An unknown type or version, bytes that do not parse, or a record that does not fit the
// image (a change of a topic that is not there) is an error, and `image` is unchanged.
// `offset` is the record's own; it becomes the epoch of a broker that registers.
Status apply_record(Image& image, ByteView value, Offset offset, ImageDelta& delta);

}  // namespace millrace::metadata
