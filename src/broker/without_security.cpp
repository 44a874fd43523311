// What Kafka answers about ACLs, delegation tokens and SASL on a listener without authentication, when no authorizer is
// set. There is no other listener here.
#include "handlers.h"
#include "millrace/protocol/api/create_acls.h"
#include "millrace/protocol/api/create_delegation_token.h"
#include "millrace/protocol/api/delete_acls.h"
#include "millrace/protocol/api/describe_acls.h"
#include "millrace/protocol/api/describe_delegation_token.h"
#include "millrace/protocol/api/expire_delegation_token.h"
#include "millrace/protocol/api/renew_delegation_token.h"
#include "millrace/protocol/api/sasl_authenticate.h"
#include "millrace/protocol/api/sasl_handshake.h"

namespace millrace::broker {
namespace {

constexpr Str kNoAuthorizer = "No Authorizer is configured.";
constexpr Str kUserType = "User";
constexpr int16_t kFirstVersionWithRequester = 3;
constexpr auto kNotAllowed = ErrorCode::delegation_token_request_not_allowed;

}  // namespace

void handle_describe_acls(ContextPtr context) {
  protocol::DescribeAclsRequest request;
  if (!context->decode(request)) return;
  protocol::DescribeAclsResponse response;
  response.error_code = ErrorCode::security_disabled;
  response.error_message = kNoAuthorizer;
  context->reply(response);
}

void handle_create_acls(ContextPtr context) {
  protocol::CreateAclsRequest request;
  if (!context->decode(request)) return;
  protocol::CreateAclsResponse response;
  response.results = context->arena().array<protocol::CreateAclsResponse::AclCreationResult>(request.creations.size());
  for (auto& result : response.results) result = {ErrorCode::security_disabled, kNoAuthorizer};
  context->reply(response);
}

void handle_delete_acls(ContextPtr context) {
  protocol::DeleteAclsRequest request;
  if (!context->decode(request)) return;
  protocol::DeleteAclsResponse response;
  response.filter_results =
      context->arena().array<protocol::DeleteAclsResponse::DeleteAclsFilterResult>(request.filters.size());
  for (auto& result : response.filter_results) result = {ErrorCode::security_disabled, kNoAuthorizer, {}};
  context->reply(response);
}

void handle_create_delegation_token(ContextPtr context) {
  protocol::CreateDelegationTokenRequest request;
  if (!context->decode(request)) return;
  protocol::CreateDelegationTokenResponse response;
  response.error_code = kNotAllowed;
  response.principal_type = kUserType;
  response.principal_name = context->user();
  if (context->version() >= kFirstVersionWithRequester) {
    response.token_requester_principal_type = kUserType;
    response.token_requester_principal_name = context->user();
  }
  response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = -1;
  context->reply(response);
}

void handle_renew_delegation_token(ContextPtr context) {
  protocol::RenewDelegationTokenRequest request;
  if (!context->decode(request)) return;
  protocol::RenewDelegationTokenResponse response;
  response.error_code = kNotAllowed;
  response.expiry_timestamp_ms = -1;
  context->reply(response);
}

void handle_expire_delegation_token(ContextPtr context) {
  protocol::ExpireDelegationTokenRequest request;
  if (!context->decode(request)) return;
  protocol::ExpireDelegationTokenResponse response;
  response.error_code = kNotAllowed;
  response.expiry_timestamp_ms = -1;
  context->reply(response);
}

void handle_describe_delegation_token(ContextPtr context) {
  protocol::DescribeDelegationTokenRequest request;
  if (!context->decode(request)) return;
  protocol::DescribeDelegationTokenResponse response;
  response.error_code = kNotAllowed;
  context->reply(response);
}

void handle_sasl_handshake(ContextPtr context) {
  protocol::SaslHandshakeRequest request;
  if (!context->decode(request)) return;
  protocol::SaslHandshakeResponse response;
  response.error_code = ErrorCode::illegal_sasl_state;
  context->reply(response);
}

void handle_sasl_authenticate(ContextPtr context) {
  protocol::SaslAuthenticateRequest request;
  if (!context->decode(request)) return;
  protocol::SaslAuthenticateResponse response;
  response.error_code = ErrorCode::illegal_sasl_state;
  response.error_message = "SaslAuthenticate request received after successful authentication";
  context->reply(response);
}

}  // namespace millrace::broker
