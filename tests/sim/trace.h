// What happened in a run, as a hash that two runs of one seed must share, and as text when asked for.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <fmt/core.h>

#include "millrace/base/time.h"
#include "millrace/bytes/view.h"

namespace millrace::sim {

class Trace {
 public:
  bool is_printing() const { return out_ != nullptr; }
  void print_to(std::FILE* out) { out_ = out; }
  uint64_t hash() const { return hash_; }
  uint64_t count() const { return count_; }

  // `text` is formatted only when printing; everything that matters must therefore be among `values`.
  template <class... Values>
  void note(Duration now, std::string_view what, std::string_view where, Values... values) {
    ++count_;
    mix(static_cast<uint64_t>(now.count()));
    mix(what);
    mix(where);
    (mix(static_cast<uint64_t>(values)), ...);
    if (out_ == nullptr) return;
    fmt::print(out_, "{:>14.6f} {:<18} {}", static_cast<double>(now.count()) / 1e9, what, where);
    ((fmt::print(out_, " {}", static_cast<int64_t>(values))), ...);
    std::fputc('\n', out_);
  }
  // Text only: log lines, and what a reader of the trace wants to know.
  void say(Duration now, std::string_view what, std::string_view text) {
    if (out_ != nullptr) fmt::print(out_, "{:>14.6f} {:<18} {}\n", static_cast<double>(now.count()) / 1e9, what, text);
  }
  static uint64_t hash_of(ByteView bytes);

 private:
  void mix(uint64_t value) { hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15ULL, hash_ ^= hash_ >> 29; }
  void mix(std::string_view text) { mix(hash_of(as_bytes(text))); }

  uint64_t hash_ = 0x5eed;
  uint64_t count_ = 0;
  std::FILE* out_ = nullptr;
};

}  // namespace millrace::sim
