// Where new replicas go, as Kafka's striped placement has it: first replicas spread over the brokers that are up, the
// replicas of one partition over racks, brokers that are fenced last.
#pragma once
#include <vector>

#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/metadata/image.h"

namespace millrace::metadata {

// The directory that a new replica on `id` is assigned to: the only one there is, else none yet.
DirectoryId default_directory(Image const& image, BrokerId id);

// A replica set for each of `count` partitions; the first member of each is not fenced. Brokers that shut down, and those
// that take nothing new in any directory, are left out.
Result<std::vector<std::vector<BrokerId>>> place_replicas(Image const& image, int32_t count, int16_t replication_factor,
                                                          Random random);

}  // namespace millrace::metadata
