// Any bytes as a metadata record, as `quorum-state` and as a control record of the quorum. Proves that nothing reads out
// of bounds, that a refused record leaves the image as it was, and that an accepted one leaves an image that its own
// snapshot rebuilds.
//
// Input: the first byte chooses the use. As records the rest is a run of (one byte of length, record value), replayed
// in order into one image.
#include <cstdlib>
#include <vector>

#include "millrace/metadata/replay.h"
#include "millrace/metadata/snapshot.h"
#include "millrace/raft/control_records.h"
#include "millrace/raft/quorum_state.h"

namespace millrace {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void replay_records(ByteView bytes) {
  metadata::Image image;
  metadata::ImageDelta delta;
  for (int64_t offset = 0; !bytes.empty(); ++offset) {
    auto const size = std::min(static_cast<size_t>(bytes.front()), bytes.size() - 1);
    auto const value = bytes.subspan(1, size);
    bytes = bytes.subspan(1 + size);
    auto const before = metadata::fingerprint(image);
    if (!metadata::apply_record(image, value, Offset{offset}, delta)) require(metadata::fingerprint(image) == before);
  }
  metadata::Image again;
  auto const snapshot = metadata::snapshot_records(image);
  for (auto const& value : snapshot.values()) require(metadata::apply_record(again, value.view(), Offset{0}, delta).ok());
  require(metadata::fingerprint(again) == metadata::fingerprint(image));
}

void read_quorum_state(ByteView bytes) {
  auto const state = raft::parse_quorum_state(as_text(bytes));
  if (!state) return;
  auto const again = raft::parse_quorum_state(raft::format_quorum_state(*state, 1, {}));
  require(again.ok() && *again == *state);
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  ByteView const bytes(reinterpret_cast<std::byte const*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: read_quorum_state(bytes); break;
    case 1:
      static_cast<void>(raft::decode_voters(bytes).ok());
      static_cast<void>(raft::decode_kraft_version(bytes).ok());
      static_cast<void>(raft::decode_snapshot_header(bytes).ok());
      break;
    default: replay_records(bytes); break;
  }
  return 0;
}
