// What a follower takes over of the records that its leader sent: whole batches that continue its log, checked, as they
// are.
#pragma once
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/bytes/view.h"

namespace millrace::replication {

struct FetchedBatches {
  std::vector<ByteView> batches;
  // The first one begins below the log's end: the leader's log starts inside it. Only for a log that holds nothing.
  bool begins_below = false;
  Offset first;
};

// `end` is the log's end, `leader_epoch` what was fetched under: batches of a later epoch belong to a leader that this
// replica has not heard of, and are left for then. corrupt: a checksum is wrong, or offsets do not continue the log.
Result<FetchedBatches> check_fetched(ByteView records, Offset end, bool is_log_empty, LeaderEpoch leader_epoch);

}  // namespace millrace::replication
