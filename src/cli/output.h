// What commands print: tables for people, JSON for programs, errors that say what to do next.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "millrace/base/result.h"
#include "millrace/cli/commands.h"
#include "millrace/protocol/errors.h"

namespace millrace::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  void print() const;  // to standard output

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

void print_json(Json const& document);  // to standard output
// What a table shows for a value that does not exist.
inline constexpr std::string_view kNothing = "-";

// What became of each thing that a command was asked to change: a line each, or one JSON array at the end.
class Outcomes {
 public:
  explicit Outcomes(bool as_json) : as_json_(as_json) {}
  void done(std::string_view name, std::string_view verb);
  void failed(std::string_view name, ErrorCode code, std::optional<std::string_view> message);
  int finish();  // the exit code

 private:
  bool const as_json_;
  bool is_ok_ = true;
  Json list_ = Json::array();
};

// {"name": "TOPIC_ALREADY_EXISTS", "code": 36, "message": ...}
Json error_json(ErrorCode code, std::optional<std::string_view> message = std::nullopt);

// To standard error, as "millrace: <what>" and, if there is one, the remedy on a second line.
void print_error(std::string_view what, std::string_view remedy = {});
void print_note(std::string_view text);  // to standard error: no failure, but worth reading
// An error of the connection or of our own input; returns the exit code for it.
int report(Error const& error, ClusterOptions const& cluster);
// "TOPIC_ALREADY_EXISTS (36): message"; the broker's message is left out when there is none.
std::string error_text(ErrorCode code, std::optional<std::string_view> message = std::nullopt);
// What a user can do about `code`; empty when there is nothing sensible to say.
std::string_view remedy_for(ErrorCode code);

}  // namespace millrace::cli
