// Result<T>: the only way in which a function here reports that it failed. Nothing throws across a room's border.
#pragma once
#include <string>
#include <utility>
#include <variant>

#include "millrace/base/assert.h"

namespace millrace {

enum class ErrorKind {
  invalid,      // the caller's or the input's fault
  corrupt,      // bytes on disk or on the wire that fail their check
  not_found,
  exists,
  out_of_range,
  would_block,  // only answers without waiting were asked for
  no_space,     // ENOSPC, EDQUOT
  io,           // the disk or the network said no
  limit,        // a named limit was reached
  cancelled,    // the node stops, or the connection is gone
  unsupported,
};

// What failed: the kind decides what the caller does, the message says what was being done, to what, and the values.
struct Error {
  ErrorKind kind{};
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return ok(); }
  bool ok() const { return state_.index() == 0; }

  T& value() & { MR_ASSERT(ok()); return std::get<0>(state_); }
  T const& value() const& { MR_ASSERT(ok()); return std::get<0>(state_); }
  T&& value() && { MR_ASSERT(ok()); return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  T const& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  T const* operator->() const { return &value(); }

  Error const& error() const& { MR_ASSERT(!ok()); return std::get<1>(state_); }
  Error&& error() && { MR_ASSERT(!ok()); return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

struct Nothing {};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Nothing) {}
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  explicit operator bool() const { return !failed_; }
  bool ok() const { return !failed_; }
  Error const& error() const& { MR_ASSERT(failed_); return error_; }
  Error&& error() && { MR_ASSERT(failed_); return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

using Status = Result<void>;

}  // namespace millrace

// MR_TRY(expression): returns the error of a Status or Result from the enclosing function, else goes on.
#define MR_TRY(...)                                                              \
  do {                                                                           \
    if (auto mr_try_result = (__VA_ARGS__); !mr_try_result) return std::move(mr_try_result).error(); \
  } while (false)
#define MR_CONCAT_(a, b) a##b
#define MR_CONCAT(a, b) MR_CONCAT_(a, b)
// MR_TRY_ASSIGN(auto file, disk.open(path)): declares `file` with the value, or returns the error.
#define MR_TRY_ASSIGN(declaration, ...)                                          \
  auto MR_CONCAT(mr_result_, __LINE__) = (__VA_ARGS__);                          \
  if (!MR_CONCAT(mr_result_, __LINE__)) return std::move(MR_CONCAT(mr_result_, __LINE__)).error(); \
  declaration = *std::move(MR_CONCAT(mr_result_, __LINE__))
