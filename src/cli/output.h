// What commands print: tables for people, JSON for programs, errors that say what to do next.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cli/commands.h"
#include "millrace/protocol/errors.h"

namespace millrace::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;  // to standard output

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// To standard error, as "millrace: <what>" and, if there is one, the remedy on a second line.
void print_error(std::string_view what, std::string_view remedy = {});
// An error of the connection or of our own input; returns the exit code for it.
int report(Error const& error, ClusterOptions const& cluster);
// "TOPIC_ALREADY_EXISTS (36): message"; the broker's message is left out when there is none.
std::string error_text(ErrorCode code, std::optional<std::string_view> message = std::nullopt);
// What a user can do about `code`; empty when there is nothing sensible to say.
std::string_view remedy_for(ErrorCode code);

}  // namespace millrace::cli
