// The run-time form of a message's description. One interpreter decodes, measures, encodes and prints every message
// from it. Built once per message, at first use; immutable afterwards; any thread.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "millrace/protocol/describe.h"

namespace millrace::protocol {

enum class Kind : uint8_t {
  boolean,
  int8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  float64,
  uuid,
  string,
  nullable_string,  // Str, std::optional<Str>
  bytes,
  nullable_bytes,      // ByteView, std::optional<ByteView>
  records,             // Records
  structure,           // a nested struct by value
  nullable_structure,  // std::optional<nested struct>
  array,               // Array<T>
};

class StructTable;

// Of every struct that an array may hold.
inline constexpr size_t kElementBytesMax = 512;
inline constexpr size_t kElementAlignment = 8;

struct NullableStructOps {
  void const* (*get)(void const*);  // null when empty
  void* (*emplace)(void*);
  void (*reset)(void*);
};

struct Field {
  std::string_view name;
  std::string json_name;  // first letter in lower case
  Kind kind{};
  Kind element{};                          // of an array
  uint32_t offset{};                       // within the struct
  uint32_t element_bytes{};                // in memory, of an array
  StructTable const* structure = nullptr;  // of a struct, or of an array's elements
  NullableStructOps const* ops = nullptr;
  Versions versions, nullable, tagged;
  int16_t tag = -1;
  bool ignorable = false;
  bool never_flexible = false;
};

struct Plan;

// One field at one version, ready to run.
struct Step {
  Kind kind{};
  Kind element{};
  bool nullable{};
  bool compact{};  // lengths are unsigned varints of length + 1
  int16_t tag = -1;
  uint32_t offset{};
  uint32_t element_bytes{};
  uint32_t element_wire_bytes_min{};
  Plan const* plan = nullptr;  // of a struct, or of an array's elements
  Field const* field = nullptr;
};

// A struct at one version.
struct Plan {
  StructTable const* structure = nullptr;
  bool flexible = false;
  uint32_t wire_bytes_min = 0;
  std::vector<Step> steps;    // in the order of the wire, tagged ones left out
  std::vector<Step> tagged;   // by ascending tag
  std::vector<Step> foreign;  // fields of other versions that must have their default, or the message cannot be sent
};

class StructTable {
 public:
  std::vector<Field> const& fields() const { return fields_; }
  size_t size() const { return size_; }
  std::byte const* prototype() const { return prototype_; }  // an object with every field at its default
  Plan const& plan(int16_t version) const { return *plans_[static_cast<size_t>(version - first_version_)]; }

  // Where a response says what failed: fields named ErrorCode, here and in the structs of its arrays.
  struct ErrorArray {
    uint32_t offset{};
    uint32_t element_bytes{};
    StructTable const* element = nullptr;
  };
  std::vector<uint32_t> const& error_offsets() const { return error_offsets_; }
  std::vector<ErrorArray> const& error_arrays() const { return error_arrays_; }

 private:
  friend class TableBuilder;
  std::vector<Field> fields_;
  std::vector<uint32_t> error_offsets_;
  std::vector<ErrorArray> error_arrays_;
  size_t size_ = 0;
  std::byte const* prototype_ = nullptr;
  int16_t first_version_ = 0;
  std::vector<std::unique_ptr<Plan>> plans_;
};

class MessageTable {
 public:
  std::string_view name() const { return name_; }
  int16_t key() const { return key_; }  // API key or record type; -1 where a message has none
  Versions valid() const { return valid_; }
  Versions flexible() const { return flexible_; }
  bool is_flexible(int16_t version) const { return flexible_.contains(version); }
  StructTable const& root() const { return *root_; }

 private:
  friend class TableBuilder;
  std::string_view name_;
  int16_t key_ = -1;
  Versions valid_, flexible_;
  std::deque<StructTable> structs_;
  StructTable const* root_ = nullptr;
};

}  // namespace millrace::protocol
