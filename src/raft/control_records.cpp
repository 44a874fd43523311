#include "millrace/raft/control_records.h"

#include <algorithm>

#include "millrace/protocol/message.h"
#include "millrace/protocol/records/control.h"

namespace millrace::raft {
namespace {

constexpr size_t kArenaBytesMax = 1 << 20;

template <class Record>
SharedBytes encode(Record const& record, int16_t version = 0) {
  auto encoded = protocol::encode_body(record, version);
  MR_ASSERT_VALUES(encoded.ok(), "{}", encoded.error().message);
  return *std::move(encoded);
}

template <class Record>
Status decode(ByteView value, Arena& arena, Record& record) {
  Reader in(value);
  if (auto status = protocol::decode(in, 0, arena, record); !status) {
    return Error{ErrorKind::corrupt, fmt::format("read a control record of the metadata log: {}", status.error().message)};
  }
  return {};
}

std::vector<protocol::LeaderChangeMessage::Voter> wire_voters(std::vector<ReplicaKey> const& keys) {
  std::vector<protocol::LeaderChangeMessage::Voter> out;
  for (auto const& key : keys) out.emplace_back().voter_id = key.id.value;
  return out;
}

}  // namespace

SharedBytes encode_leader_change(BrokerId leader, std::vector<ReplicaKey> const& voters, std::vector<ReplicaKey> const& granting) {
  auto voter_list = wire_voters(voters);
  auto granting_list = wire_voters(granting);
  protocol::LeaderChangeMessage message;
  message.leader_id = leader.value;
  message.voters = voter_list;
  message.granting_voters = granting_list;
  return encode(message);
}

SharedBytes encode_kraft_version(int16_t version) {
  protocol::KRaftVersionRecord record;
  record.kraft_version = version;
  return encode(record);
}

SharedBytes encode_voters(VoterSet const& set) {
  std::vector<std::vector<protocol::VotersRecord::Endpoint>> endpoints;
  endpoints.reserve(set.voters.size());
  std::vector<protocol::VotersRecord::Voter> voters;
  for (auto const& voter : set.voters) {
    auto& list = endpoints.emplace_back();
    for (auto const& e : voter.endpoints) {
      auto& wire = list.emplace_back();
      wire.name = e.listener;
      wire.host = e.host;
      wire.port = e.port;
    }
    auto& wire = voters.emplace_back();
    wire.voter_id = voter.key.id.value;
    wire.voter_directory_id = voter.key.directory;
    wire.endpoints = list;
    wire.kraft_version_feature.min_supported_version = voter.kraft_version_min;
    wire.kraft_version_feature.max_supported_version = voter.kraft_version_max;
  }
  protocol::VotersRecord record;
  record.voters = voters;
  return encode(record);
}

SharedBytes encode_snapshot_header(int64_t last_contained_log_timestamp_ms) {
  protocol::SnapshotHeaderRecord record;
  record.last_contained_log_timestamp = last_contained_log_timestamp_ms;
  return encode(record);
}

SharedBytes encode_snapshot_footer() { return encode(protocol::SnapshotFooterRecord{}); }

Result<int16_t> decode_kraft_version(ByteView value) {
  Arena arena(kArenaBytesMax);
  protocol::KRaftVersionRecord record;
  MR_TRY(decode(value, arena, record));
  if (record.kraft_version < 0 || record.kraft_version > 1) {
    return Error{ErrorKind::unsupported, fmt::format("kraft.version {} is neither 0 nor 1", record.kraft_version)};
  }
  return record.kraft_version;
}

Result<VoterSet> decode_voters(ByteView value) {
  Arena arena(kArenaBytesMax);
  protocol::VotersRecord record;
  MR_TRY(decode(value, arena, record));
  VoterSet out;
  for (auto const& wire : record.voters) {
    Voter voter;
    voter.key = {BrokerId{wire.voter_id}, wire.voter_directory_id};
    for (auto const& e : wire.endpoints) voter.endpoints.push_back({std::string(e.name), std::string(e.host), e.port});
    voter.kraft_version_min = wire.kraft_version_feature.min_supported_version;
    voter.kraft_version_max = wire.kraft_version_feature.max_supported_version;
    out.voters.push_back(std::move(voter));
  }
  std::sort(out.voters.begin(), out.voters.end(), [](Voter const& a, Voter const& b) { return a.key < b.key; });
  return out;
}

Result<int64_t> decode_snapshot_header(ByteView value) {
  Arena arena(kArenaBytesMax);
  protocol::SnapshotHeaderRecord record;
  MR_TRY(decode(value, arena, record));
  return record.last_contained_log_timestamp;
}

}  // namespace millrace::raft
