#include "output.h"

#include <cstdio>

namespace millrace::cli {

void Table::print() const {
  std::vector<size_t> widths;
  for (auto const& title : header_) widths.push_back(title.size());
  for (auto const& row : rows_) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  auto const line = [&](std::vector<std::string> const& row) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i) {
      bool const is_last = i + 1 == row.size();
      text += is_last ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    fmt::print("{}\n", text);
  };
  line(header_);
  for (auto const& row : rows_) line(row);
}

void print_error(std::string_view what, std::string_view remedy) {
  fmt::print(stderr, "millrace: {}\n", what);
  if (!remedy.empty()) fmt::print(stderr, "  {}\n", remedy);
}

int report(Error const& error, ClusterOptions const& cluster) {
  switch (error.kind) {
    case ErrorKind::invalid:
      print_error(error.message);
      return kUsage;
    case ErrorKind::cancelled:
    case ErrorKind::io:
      print_error(error.message, fmt::format("Is a broker running at {}? Name another with --bootstrap HOST:PORT.", cluster.bootstrap));
      return kUnreachable;
    default:
      print_error(error.message);
      return kFailed;
  }
}

std::string error_text(ErrorCode code, std::optional<std::string_view> message) {
  auto text = fmt::format("{} ({})", error_name(code), static_cast<int16_t>(code));
  if (message && !message->empty()) text += fmt::format(": {}", *message);
  return text;
}

std::string_view remedy_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::topic_already_exists: return "Delete it first, choose another name, or pass --if-not-exists.";
    case ErrorCode::unknown_topic_or_partition: return "See `millrace topic list`; create it with `millrace topic create`.";
    case ErrorCode::invalid_replication_factor: return "There are fewer live brokers than replicas; lower --replication-factor.";
    case ErrorCode::invalid_config: return "See docs/configuration.md for the topic settings and their ranges.";
    case ErrorCode::message_too_large: return "Raise the topic's max.message.bytes, or send smaller records.";
    case ErrorCode::not_enough_replicas: return "Too few replicas are in sync; bring brokers back or lower min.insync.replicas.";
    case ErrorCode::topic_authorization_failed:
    case ErrorCode::cluster_authorization_failed: return "This principal lacks the right; ask an administrator for an ACL.";
    case ErrorCode::offset_out_of_range: return "The offset was removed by retention or is not written yet; use --from earliest or latest.";
    default: return {};
  }
}

}  // namespace millrace::cli
