// mr-vectors FILE...: checks golden vectors (JSON lines) against this build, both ways: what the bytes decode to, and
// that encoding it gives the bytes. A file may be gzipped. Prints each
// failure, then a count.
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "batches.h"
#include "vector_file.h"
#include "vectors.h"

namespace millrace::vectors {

namespace {

std::string check(Json const& vector, CodecContext& codecs) {
  static std::set<std::string> const frames{
      "request",           "response",         "metadata-record",        "coordinator-key",
      "coordinator-value", "version-prefixed", "apiversions-unsupported"};
  auto const kind = vector.at("c").get<std::string>();
  if (vector.contains("encode")) return check_batches_line(vector, codecs);
  if (frames.contains(kind)) return check_frame(vector);
  if (vector.contains("m")) return check_message(vector);
  return check_primitive(vector);
}

std::string describe(Json const& vector) {
  std::string out;
  for (auto const* name : {"m", "v", "c", "s", "n", "topic"}) {
    if (vector.contains(name)) out += (out.empty() ? "" : " ") + vector.at(name).dump();
  }
  return out;
}

int run(int count, char** files) {
  size_t passed = 0;
  size_t failed = 0;
  CodecContext codecs;
  auto const fail = [&](std::string const& where, std::string const& what) {
    ++failed;
    fmt::print("FAILED {}: {}\n", where, what.substr(0, 400));
  };
  for (int i = 1; i < count; ++i) {
    auto const text = text_of(files[i]);
    if (!text) {
      fail(files[i], "cannot be read");
      continue;
    }
    for_each_line(*text, [&](size_t number, std::string const& line) {
      auto const where = fmt::format("{}:{}", files[i], number);
      try {
        auto const vector = Json::parse(line);
        auto const problem = check(vector, codecs);
        if (problem.empty()) {
          ++passed;
        } else {
          fail(fmt::format("{} {}", where, describe(vector)), problem);
        }
      } catch (std::exception const& error) {
        fail(where, error.what());
      }
    });
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace millrace::vectors

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: mr-vectors FILE...   (- is standard input)\n", stderr);
    return 2;
  }
  return millrace::vectors::run(count, arguments);
}
