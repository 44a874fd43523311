// The file `quorum-state`: one JSON object. Version 0 is written under kraft.version 0 (static voters), 1 under 1.
#pragma once
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/raft/types.h"

namespace millrace::raft {

inline constexpr std::string_view kQuorumStateFile = "quorum-state";
inline constexpr int64_t kQuorumStateBytesMax = 1 << 20;

// As Kafka writes it, without a line end. `voters` are named in version 0 only.
std::string format_quorum_state(ElectionState const& state, int16_t data_version, VoterSet const& voters);
// Accepts versions 0 and 1, fields in any order, unknown fields. Errors: corrupt, unsupported (version).
Result<ElectionState> parse_quorum_state(std::string_view text);

}  // namespace millrace::raft
