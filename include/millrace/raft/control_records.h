// Values of the control records of the metadata log and its snapshots, encoded and decoded.
#pragma once
#include <optional>

#include "millrace/base/result.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/raft/types.h"

namespace millrace::raft {

SharedBytes encode_leader_change(BrokerId leader, std::vector<ReplicaKey> const& voters,
                                 std::vector<ReplicaKey> const& granting);
SharedBytes encode_kraft_version(int16_t version);
SharedBytes encode_voters(VoterSet const& voters);
SharedBytes encode_snapshot_header(int64_t last_contained_log_timestamp_ms);
SharedBytes encode_snapshot_footer();

// Errors: corrupt.
Result<int16_t> decode_kraft_version(ByteView value);
Result<VoterSet> decode_voters(ByteView value);
Result<int64_t> decode_snapshot_header(ByteView value);  // the last contained log timestamp

}  // namespace millrace::raft
