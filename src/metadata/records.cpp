#include "millrace/metadata/records.h"

#include "millrace/bytes/cursor.h"
#include "millrace/metadata/features.h"
#include "millrace/protocol/features.h"

namespace millrace::metadata {
namespace {

constexpr size_t kFramePrefixBytesMax = 15;  // three unsigned varints

}  // namespace

SharedBytes encode_record(protocol::MessageTable const& table, void const* record, int16_t version) {
  auto const size = protocol::encoded_size(table, record, version);
  MR_ASSERT_VALUES(size.ok(), "{} v{}: {}", table.name(), version, size.error().message);
  std::array<std::byte, kFramePrefixBytesMax> prefix_bytes;
  Writer prefix(prefix_bytes);
  prefix.uvarint(kRecordFrameVersion);
  prefix.uvarint(static_cast<uint32_t>(table.key()));
  prefix.uvarint(static_cast<uint32_t>(version));
  auto out = SharedBytes::allocate(prefix.position() + size->bytes);
  Writer writer(out.mutable_view());
  writer.bytes(prefix.written());
  protocol::encode(table, record, version, writer);
  MR_ASSERT(writer.remaining() == 0);
  return out;
}

size_t RecordList::bytes() const {
  size_t sum = 0;
  for (auto const& value : values_) sum += value.size();
  return sum;
}

namespace {

protocol::MetadataVersion const& version_info(int16_t metadata_version) {
  auto const* known = protocol::find_metadata_version(std::max(metadata_version, kMetadataVersionMin));
  MR_ASSERT_VALUES(known != nullptr, "metadata.version {}", metadata_version);
  return *known;
}

}  // namespace

int16_t register_broker_record_version(int16_t metadata_version) {
  return version_info(metadata_version).register_broker_record;
}
int16_t partition_record_version(int16_t metadata_version) { return version_info(metadata_version).partition_record; }
int16_t partition_change_record_version(int16_t metadata_version) {
  return version_info(metadata_version).partition_change_record;
}

}  // namespace millrace::metadata
