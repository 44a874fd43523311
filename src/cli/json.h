// JSON as commands print it: built, then written. Objects keep the order in which their members were set.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::cli {

class Json {
 public:
  using Members = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(static_cast<int64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(char const* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  template <class T>
  Json(std::optional<T> const& value) {
    if (value) *this = Json(*value);
  }

  static Json array() { return Json(Elements()); }
  template <class Range>
  static Json array_of(Range const& range) {
    auto list = array();
    for (auto const& element : range) list.add(Json(element));
    return list;
  }
  static Json object(std::initializer_list<std::pair<std::string_view, Json>> members = {});

  Json& add(Json element);                       // only to an array
  Json& set(std::string_view name, Json value);  // only in an object; the name must be new
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }

  std::string text() const;  // over several lines, indented by two
  std::string line() const;  // in one line

 private:
  using Elements = std::vector<Json>;
  explicit Json(Elements elements) : value_(std::move(elements)) {}
  explicit Json(Members members) : value_(std::move(members)) {}
  void write(std::string& out, int indent) const;  // indent -1: in one line

  std::variant<std::monostate, bool, int64_t, double, std::string, Elements, Members> value_;
};

}  // namespace millrace::cli
