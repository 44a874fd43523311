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

void print_json(Json const& document) { fmt::print("{}\n", document.text()); }

void Outcomes::done(std::string_view name, std::string_view verb) {
  if (as_json_)
    list_.add(Json::object({{"name", name}, {"ok", true}, {"outcome", verb}}));
  else
    fmt::print("{} {}\n", verb, name);
}

void Outcomes::failed(std::string_view name, ErrorCode code, std::optional<std::string_view> message) {
  is_ok_ = false;
  if (as_json_)
    list_.add(Json::object({{"name", name}, {"ok", false}, {"error", error_json(code, message)}}));
  else
    print_error(fmt::format("{}: {}", name, error_text(code, message)), remedy_for(code));
}

int Outcomes::finish() {
  if (as_json_) print_json(list_);
  return is_ok_ ? kOk : kFailed;
}

Json error_json(ErrorCode code, std::optional<std::string_view> message) {
  return Json::object({{"name", error_name(code)}, {"code", static_cast<int16_t>(code)}, {"message", message}});
}

void print_error(std::string_view what, std::string_view remedy) {
  std::fflush(stdout);  // where both go to one place, what was said before stands before
  fmt::print(stderr, "millrace: {}\n", what);
  if (!remedy.empty()) fmt::print(stderr, "  {}\n", remedy);
}

void print_note(std::string_view text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", text);
}

int report(Error const& error, ClusterOptions const&) {
  switch (error.kind) {
    case ErrorKind::invalid:
      print_error(error.message);
      return kUsage;
    case ErrorKind::cancelled:
    case ErrorKind::io:
      // Some messages bring their own advice.
      print_error(error.message,
                  error.message.find('\n') != std::string::npos
                      ? ""
                      : "Is a broker running there? Name another with --bootstrap HOST:PORT or MILLRACE_BOOTSTRAP.");
      return kUnreachable;
    case ErrorKind::unsupported:
      print_error(error.message, "Controllers and older brokers serve less; name another broker with --bootstrap HOST:PORT.");
      return kFailed;
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
    case ErrorCode::invalid_config: return "`millrace config describe KIND NAME --all` lists the settings there are, with their values now.";
    case ErrorCode::message_too_large: return "Raise the topic's max.message.bytes, or send smaller records.";
    case ErrorCode::not_enough_replicas: return "Too few replicas are in sync; bring brokers back or lower min.insync.replicas.";
    case ErrorCode::topic_authorization_failed:
    case ErrorCode::cluster_authorization_failed: return "This principal lacks the right; ask an administrator for an ACL.";
    case ErrorCode::group_id_not_found: return "See `millrace group list`.";
    case ErrorCode::non_empty_group:
      return "It has members; stop its consumers first. See `millrace group describe --members`.";
    case ErrorCode::group_subscribed_to_topic: return "Members of the group read this topic; stop them first.";
    case ErrorCode::group_authorization_failed:
      return "This principal lacks the right; ask an administrator for an ACL.";
    case ErrorCode::coordinator_not_available:
      return "The broker that keeps this group's offsets is away; see `millrace topic describe __consumer_offsets`.";
    case ErrorCode::leader_not_available:
      return "No live broker can lead the partition; see `millrace topic describe` and `millrace cluster nodes`.";
    case ErrorCode::preferred_leader_not_available:
      return "The preferred leader is away or not in sync; see `millrace topic describe` and `millrace cluster nodes`.";
    case ErrorCode::eligible_leaders_not_available: return "No replica is alive; see `millrace topic describe` and `millrace cluster nodes`.";
    case ErrorCode::invalid_partitions:
      return "A topic can only get more partitions than it has; see `millrace topic describe`.";
    case ErrorCode::not_controller: return "The controller has just moved; try again.";
    case ErrorCode::request_timed_out:
      return "The change may still happen; look before trying again, or raise --timeout-ms.";
    case ErrorCode::offset_out_of_range: return "The offset was removed by retention or is not written yet; use --from earliest or latest.";
    default: return {};
  }
}

}  // namespace millrace::cli
