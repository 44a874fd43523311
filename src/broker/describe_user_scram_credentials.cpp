// DescribeUserScramCredentials: which users have credentials of which mechanism; never the credentials themselves.
#include "millrace/protocol/api/describe_user_scram_credentials.h"

#include "handlers.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {
namespace {

using Request = protocol::DescribeUserScramCredentialsRequest;
using Response = protocol::DescribeUserScramCredentialsResponse;
using Info = Response::CredentialInfo;

}  // namespace

void handle_describe_user_scram_credentials(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto& arena = context->arena();
  std::map<Str, std::vector<Info>> users;
  context->image().scram.for_each([&](metadata::ScramKey const& key, metadata::ScramImage const& credential) {
    users[key.user].push_back({key.mechanism, credential.iterations});
  });
  std::map<Str, int> asked;
  for (auto const& user : request.users) ++asked[user.name];
  if (asked.empty()) {
    for (auto const& [user, infos] : users) asked[user] = 1;
  }
  Response response;
  ArrayBuilder<Response::DescribeUserScramCredentialsResult> results(arena, asked.size());
  for (auto const& [user, count] : asked) {
    auto& out = results.add();
    out.user = user;
    auto const found = users.find(user);
    if (count > 1) {
      out.error_code = ErrorCode::duplicate_resource;
      out.error_message = arena.copy(
          Str(fmt::format("Cannot describe SCRAM credentials for the same user twice in a single request: {}", user)));
    } else if (found == users.end()) {
      out.error_code = ErrorCode::resource_not_found;
      out.error_message =
          arena.copy(Str(fmt::format("Attempt to describe a user credential that does not exist: {}", user)));
    } else {
      out.credential_infos = arena.copy(std::span<Info const>(found->second));
    }
  }
  response.results = results.finish();
  context->reply(response);
}

}  // namespace millrace::broker
