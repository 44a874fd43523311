// AlterUserScramCredentials: what proves users' passwords; the controller decides. The salted password goes no further
// than this handler.
#include "millrace/protocol/api/alter_user_scram_credentials.h"

#include "ask_controller.h"
#include "handlers.h"
#include "millrace/metadata/scram.h"

namespace millrace::broker {
namespace {

using Request = protocol::AlterUserScramCredentialsRequest;
using Response = protocol::AlterUserScramCredentialsResponse;

metadata::ScramUpsertion to_upsertion(Request::ScramCredentialUpsertion const& from) {
  metadata::ScramUpsertion out;
  out.key = {std::string(from.name), from.mechanism};
  out.credential.salt = std::string(as_text(from.salt));
  out.credential.iterations = from.iterations;
  auto const* mechanism = metadata::find_scram_mechanism(from.mechanism);
  if (mechanism == nullptr || from.salted_password.empty()) return out;
  auto keys = metadata::scram_keys(*mechanism, from.salted_password);
  out.credential.stored_key = std::move(keys.stored_key);
  out.credential.server_key = std::move(keys.server_key);
  return out;
}

std::set<Str> users_of(Request const& request) {
  std::set<Str> users;
  for (auto const& deletion : request.deletions) users.insert(deletion.name);
  for (auto const& upsertion : request.upsertions) users.insert(upsertion.name);
  return users;
}

void reply(RequestContext& context, Request const& request, metadata::AlterUserScramCredentialsAnswer const& answer) {
  auto& arena = context.arena();
  ArrayBuilder<Response::AlterUserScramCredentialsResult> results(arena, answer.users.size());
  auto const add = [&](Str user, metadata::ApiError const& error) {
    auto& out = results.add();
    out.user = user;
    out.error_code = error.code;
    out.error_message = error.message ? std::optional<Str>(*error.message) : std::nullopt;
  };
  if (answer.error.ok()) {
    for (auto const& [user, error] : answer.users) add(user, error);
  } else {
    for (auto const user : users_of(request)) add(user, answer.error);
  }
  Response response;
  response.results = results.finish();
  context.reply(response);
}

}  // namespace

void handle_alter_user_scram_credentials(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  metadata::AlterUserScramCredentials to_controller;
  for (auto const& deletion : request.deletions) {
    to_controller.deletions.push_back({std::string(deletion.name), deletion.mechanism});
  }
  for (auto const& upsertion : request.upsertions) to_controller.upsertions.push_back(to_upsertion(upsertion));
  ask_controller<metadata::AlterUserScramCredentialsAnswer>(
      std::move(context), std::move(to_controller),
      [request](RequestContext& asked, metadata::AlterUserScramCredentialsAnswer const& answer) {
        reply(asked, request, answer);
      });
}

}  // namespace millrace::broker
