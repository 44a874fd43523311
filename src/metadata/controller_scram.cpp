// SCRAM credentials of users: which may be set and removed. Order of checks and messages are Kafka's.
#include "millrace/metadata/controller.h"
#include "millrace/metadata/scram.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

ApiError check_name_and_mechanism(ScramKey const& key) {
  if (key.user.empty()) return {ErrorCode::unacceptable_credential, "Username must not be empty"};
  if (find_scram_mechanism(key.mechanism) != nullptr) return {};
  return {ErrorCode::unsupported_sasl_mechanism, "Unknown SCRAM mechanism"};
}

ApiError check_deletion(Image const& tip, ScramKey const& key) {
  if (auto problem = check_name_and_mechanism(key); !problem.ok()) return problem;
  if (tip.scram.find(key) != nullptr) return {};
  return {ErrorCode::resource_not_found, "Attempt to delete a user credential that does not exist"};
}

ApiError check_upsertion(ScramUpsertion const& upsertion) {
  if (auto problem = check_name_and_mechanism(upsertion.key); !problem.ok()) return problem;
  auto const too = [](std::string_view how) {
    return ApiError{ErrorCode::unacceptable_credential, fmt::format("Too {} iterations", how)};
  };
  auto const iterations = upsertion.credential.iterations;
  if (iterations < find_scram_mechanism(upsertion.key.mechanism)->iterations_min) return too("few");
  if (iterations > kScramIterationsMax) return too("many");
  // The password was empty: Kafka fails to make a key of it.
  if (upsertion.credential.stored_key.empty()) return {ErrorCode::unknown_server_error, std::nullopt};
  return {};
}

void add_record(RecordList& out, ScramUpsertion const& upsertion) {
  protocol::UserScramCredentialRecord r;
  r.name = upsertion.key.user;
  r.mechanism = upsertion.key.mechanism;
  r.salt = as_bytes(upsertion.credential.salt);
  r.stored_key = as_bytes(upsertion.credential.stored_key);
  r.server_key = as_bytes(upsertion.credential.server_key);
  r.iterations = upsertion.credential.iterations;
  out.add(r, 0);
}

void add_record(RecordList& out, ScramKey const& removed) {
  protocol::RemoveUserScramCredentialRecord r;
  r.name = removed.user;
  r.mechanism = removed.mechanism;
  out.add(r, 0);
}

// What one request says of each user. A second change of a user refuses all of them.
struct Changes {
  std::map<std::string, ScramKey const*> deletions;
  std::map<std::string, ScramUpsertion const*> upsertions;
  std::map<std::string, ApiError> errors;

  // Whether `user` may still be changed by this request; notes why not.
  bool admit(std::string const& user, Image const& tip) {
    if (errors.contains(user)) return false;
    bool const is_second = deletions.erase(user) + upsertions.erase(user) > 0;
    if (is_second) {
      errors[user] = {ErrorCode::duplicate_resource, "A user credential cannot be altered twice in the same request"};
    } else if (tip.metadata_version() < kMetadataVersionWithScram) {
      errors[user] = {ErrorCode::unsupported_version, "The current metadata.version does not support SCRAM"};
    }
    return !errors.contains(user);
  }
};

}  // namespace

Decision Controller::decide(Image const& tip, AlterUserScramCredentials const& request, Mono) {
  Changes changes;
  for (auto const& key : request.deletions) {
    if (!changes.admit(key.user, tip)) continue;
    if (auto problem = check_deletion(tip, key); !problem.ok()) changes.errors[key.user] = std::move(problem);
    else changes.deletions[key.user] = &key;
  }
  for (auto const& upsertion : request.upsertions) {
    auto const& user = upsertion.key.user;
    if (!changes.admit(user, tip)) continue;
    if (auto problem = check_upsertion(upsertion); !problem.ok()) changes.errors[user] = std::move(problem);
    else changes.upsertions[user] = &upsertion;
  }
  Decision decision;
  AlterUserScramCredentialsAnswer answer;
  for (auto const& [user, key] : changes.deletions) {
    answer.users.emplace_back(user, ApiError{});
    add_record(decision.records, *key);
  }
  for (auto const& [user, upsertion] : changes.upsertions) {
    answer.users.emplace_back(user, ApiError{});
    add_record(decision.records, *upsertion);
  }
  for (auto& [user, error] : changes.errors) answer.users.emplace_back(user, std::move(error));
  decision.answer = std::move(answer);
  return decision;
}

}  // namespace millrace::metadata
