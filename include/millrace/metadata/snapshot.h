// An image as the records that rebuild it, and its fingerprint.
#pragma once
#include <cstdint>

#include "millrace/metadata/image.h"
#include "millrace/metadata/records.h"

namespace millrace::metadata {

// Replaying the records from an empty image gives an image with the same fingerprint. In the order in which Kafka
// writes its snapshots: features, brokers, controllers, topics, configs, quotas, producer ids, ACLs, SCRAM, tokens.
RecordList snapshot_records(Image const& image);

// Equal for equal contents, however they were reached; the offset is not part of it. O(size).
uint64_t fingerprint(Image const& image);

}  // namespace millrace::metadata
