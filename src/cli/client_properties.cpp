#include "client_properties.h"

#include <charconv>
#include <fstream>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

constexpr std::string_view kDefaultBootstrap = "localhost:9092";
constexpr std::string_view kDefaultClientId = "millrace";
constexpr int64_t kDefaultTimeoutMs = 30'000;
constexpr size_t kLineCountMax = 10'000;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\f";
  auto const begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Status take(ClusterOptions& options, std::string_view key, std::string_view value) {
  if (key == "bootstrap.servers") {
    if (options.bootstrap.empty()) options.bootstrap = value;
    return {};
  }
  if (key == "client.id") {
    if (options.client_id.empty()) options.client_id = value;
    return {};
  }
  if (key == "request.timeout.ms") {
    int64_t ms = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
    if (error != std::errc() || end != value.data() + value.size() || ms < 1) {
      return Error{ErrorKind::invalid, fmt::format("{} is '{}', not a positive number", key, value)};
    }
    if (options.timeout_ms == 0) options.timeout_ms = ms;
    return {};
  }
  if (key == "security.protocol") {
    if (value == "PLAINTEXT") return {};
    return Error{ErrorKind::invalid,
                 fmt::format("{} is {}; these commands speak PLAINTEXT only. Name a PLAINTEXT listener", key, value)};
  }
  return Error{ErrorKind::invalid,
               fmt::format("{} is not understood; bootstrap.servers, client.id, request.timeout.ms and "
                           "security.protocol are",
                           key)};
}

Status read_properties(ClusterOptions& options) {
  auto const& path = options.properties_file;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorKind::invalid, fmt::format("cannot read {}", path)};
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    if (number > kLineCountMax)
      return Error{ErrorKind::invalid, fmt::format("{} has more than {} lines", path, kLineCountMax)};
    auto const text = trim(line);
    if (text.empty() || text.front() == '#' || text.front() == '!') continue;
    auto const equals = text.find_first_of("=:");
    if (equals == std::string_view::npos)
      return Error{ErrorKind::invalid, fmt::format("{}:{}: this is not KEY=VALUE", path, number)};
    if (auto taken = take(options, trim(text.substr(0, equals)), trim(text.substr(equals + 1))); !taken) {
      return Error{ErrorKind::invalid, fmt::format("{}:{}: {}", path, number, taken.error().message)};
    }
  }
  return {};
}

}  // namespace

Result<ClusterOptions> with_client_properties(ClusterOptions given) {
  if (!given.properties_file.empty()) MR_TRY(read_properties(given));
  if (given.bootstrap.empty()) given.bootstrap = kDefaultBootstrap;
  if (given.client_id.empty()) given.client_id = kDefaultClientId;
  if (given.timeout_ms == 0) given.timeout_ms = kDefaultTimeoutMs;
  return given;
}

}  // namespace millrace::cli
