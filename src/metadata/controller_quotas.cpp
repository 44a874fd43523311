// Client quotas: what may be limited for whom. Order of checks and messages are Kafka's.
#include <algorithm>
#include <cmath>

#include "millrace/metadata/client_quotas.h"
#include "millrace/metadata/controller.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

ApiError invalid(std::string message) { return {ErrorCode::invalid_request, std::move(message)}; }

// Names are not looked up: a controller waits for nobody.
bool is_ip(std::string_view name) {
  auto const is_address_char = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.' || c == ':';
  };
  bool const has_separator = name.find('.') != std::string_view::npos || name.find(':') != std::string_view::npos;
  return (has_separator && std::ranges::all_of(name, is_address_char)) || name == "localhost";
}

ApiError check_entity(QuotaEntity const& entity) {
  if (entity.empty()) return invalid("Invalid empty client quota entity");
  bool has_ip = false;
  for (auto const& [type, name] : entity) {
    if (type != kUserEntity && type != kClientIdEntity && type != kIpEntity) {
      return invalid(fmt::format("Unhandled client quota entity type: {}", type));
    }
    if (name && name->empty()) return invalid(fmt::format("Empty {} name unsupported", type));
    has_ip |= type == kIpEntity;
  }
  if (!has_ip) return {};
  if (entity.size() > 1) {
    return invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId");
  }
  auto const& name = entity.front().second;
  if (name && !is_ip(*name)) return invalid(fmt::format("{} is not a valid IP or resolvable host.", *name));
  return {};
}

ApiError check_value(bool is_of_ip, QuotaChange const& change) {
  bool const is_of_client = change.key == kProducerByteRate || change.key == kConsumerByteRate ||
                            change.key == "request_percentage" || change.key == kControllerMutationRate;
  bool const is_known = is_of_ip ? change.key == "connection_creation_rate" : is_of_client;
  if (!is_known) return invalid("Invalid configuration key " + change.key);
  if (!change.value) return {};
  auto const value = *change.value;
  if (!(value > 0)) return invalid(fmt::format("Quota {} must be greater than 0", change.key));
  bool const is_real = change.key == "request_percentage" || change.key == kControllerMutationRate;
  if (is_real) return {};
  auto const limit = is_of_ip ? static_cast<double>(std::numeric_limits<int32_t>::max())
                              : static_cast<double>(std::numeric_limits<int64_t>::max());
  if (value > limit) return invalid(fmt::format("Proposed value for {} is too large.", change.key));
  constexpr double kFractionMax = 1e-6;
  if (std::fmod(value, 1.0) > kFractionMax) return invalid(fmt::format("{} cannot be a fractional value.", change.key));
  return {};
}

// Changes `quotas` too, so that a later entry of the request sees it.
ApiError alter_quotas(QuotaEntityChange const& change, std::map<std::string, double>& quotas, RecordList& out) {
  if (auto problem = check_entity(change.entity); !problem.ok()) return problem;
  bool const is_of_ip = change.entity.front().first == kIpEntity;
  for (auto const& one : change.changes) {
    if (auto problem = check_value(is_of_ip, one); !problem.ok()) return problem;
  }
  for (auto const& one : change.changes) {
    auto const found = quotas.find(one.key);
    if (one.value ? found != quotas.end() && found->second == *one.value : found == quotas.end()) continue;
    protocol::ClientQuotaRecord record;
    std::vector<protocol::ClientQuotaRecord::EntityData> entity;
    for (auto const& [type, name] : change.entity) {
      entity.push_back({type, name ? std::optional<Str>(*name) : std::nullopt});
    }
    record.entity = Array(entity);
    record.key = one.key;
    record.value = one.value.value_or(0);
    record.remove = !one.value;
    out.add(record, 0);
    if (one.value)
      quotas[one.key] = *one.value;
    else
      quotas.erase(one.key);
  }
  return {};
}

}  // namespace

Decision Controller::decide(Image const& tip, AlterClientQuotas const& request, Mono) {
  Decision decision;
  AlterClientQuotasAnswer answer;
  RecordList records;
  std::map<QuotaEntity, std::map<std::string, double>> present;
  for (auto const& change : request.entities) {
    auto const [at, is_new] = present.try_emplace(change.entity);
    if (is_new) {
      if (auto const* quotas = tip.quotas.find(QuotaEntityKey{change.entity})) {
        quotas->for_each([&](std::string const& key, double value) { at->second.emplace(key, value); });
      }
    }
    answer.errors.push_back(alter_quotas(change, at->second, records));
  }
  if (!request.validate_only) decision.records = std::move(records);
  decision.answer = std::move(answer);
  return decision;
}

}  // namespace millrace::metadata
