#include "build_table.h"

#include <algorithm>

namespace millrace::protocol {

namespace {

// The fewest bytes a value can take on the wire.
uint32_t wire_bytes_min(Kind kind, bool compact, Plan const* plan) {
  switch (kind) {
    case Kind::boolean:
    case Kind::int8: return 1;
    case Kind::int16:
    case Kind::uint16: return 2;
    case Kind::int32:
    case Kind::uint32: return 4;
    case Kind::int64:
    case Kind::float64: return 8;
    case Kind::uuid: return 16;
    case Kind::string:
    case Kind::nullable_string: return compact ? 1 : 2;
    case Kind::bytes:
    case Kind::nullable_bytes:
    case Kind::records:
    case Kind::array: return compact ? 1 : 4;
    case Kind::structure: return plan->wire_bytes_min;
    case Kind::nullable_structure: return 1;
  }
  return 0;
}

}  // namespace

StructTable const* TableBuilder::find(std::byte const* prototype) const {
  auto const known = std::find_if(out_.structs_.begin(), out_.structs_.end(),
                                  [&](StructTable const& table) { return table.prototype_ == prototype; });
  return known == out_.structs_.end() ? nullptr : &*known;
}

StructTable& TableBuilder::begin_struct(std::byte const* prototype, size_t size) {
  auto& table = out_.structs_.emplace_back();
  table.prototype_ = prototype;
  table.size_ = size;
  table.first_version_ = out_.valid_.min;
  return table;
}

void TableBuilder::add(StructTable& table, uint32_t offset, Type const& type, Description const& description) {
  auto& field = table.fields_.emplace_back();
  field.name = description.name;
  field.json_name = description.name;
  field.json_name[0] = static_cast<char>(field.json_name[0] | 0x20);
  field.kind = type.kind;
  field.element = type.element;
  field.offset = offset;
  field.element_bytes = type.element_bytes;
  field.structure = type.structure;
  field.ops = type.ops;
  field.versions = description.versions;
  for (auto const& option : description.options) {
    switch (option.kind) {
      case Option::Kind::none: break;
      case Option::Kind::nullable: field.nullable = option.versions; break;
      case Option::Kind::tagged:
        field.tagged = option.versions;
        field.tag = option.tag;
        break;
      case Option::Kind::ignorable: field.ignorable = true; break;
      case Option::Kind::never_flexible: field.never_flexible = true; break;
    }
  }
}

Step TableBuilder::step(Field const& field, int16_t version) const {
  Step out;
  out.kind = field.kind;
  out.element = field.element;
  out.nullable = field.nullable.contains(version);
  out.compact = out_.is_flexible(version) && !field.never_flexible;
  out.tag = field.tag;
  out.offset = field.offset;
  out.element_bytes = field.element_bytes;
  out.plan = field.structure == nullptr ? nullptr : &field.structure->plan(version);
  // An element of no bytes still counts as one, as in Kafka, so that a count is always bounded by the bytes left.
  if (field.kind == Kind::array) {
    out.element_wire_bytes_min = std::max(1u, wire_bytes_min(field.element, out.compact, out.plan));
  }
  out.field = &field;
  return out;
}

void TableBuilder::finish_struct(StructTable& table) {
  for (auto const& field : table.fields_) {
    if (field.kind == Kind::int16 && field.name == "ErrorCode") table.error_offsets_.push_back(field.offset);
    if (field.kind != Kind::array || field.structure == nullptr) continue;
    auto const& element = *field.structure;
    if (element.error_offsets_.empty() && element.error_arrays_.empty()) continue;
    table.error_arrays_.push_back({field.offset, field.element_bytes, &element});
  }
  for (int32_t v = out_.valid_.min; v <= out_.valid_.max; ++v) {
    auto const version = static_cast<int16_t>(v);
    auto plan = std::make_unique<Plan>();
    plan->structure = &table;
    plan->flexible = out_.is_flexible(version);
    plan->wire_bytes_min = plan->flexible ? 1 : 0;
    for (auto const& field : table.fields_) {
      auto const step = this->step(field, version);
      if (!field.versions.contains(version)) {
        if (!field.ignorable) plan->foreign.push_back(step);
      } else if (field.tagged.contains(version)) {
        plan->tagged.push_back(step);
      } else {
        plan->wire_bytes_min += wire_bytes_min(step.kind, step.compact, step.plan);
        plan->steps.push_back(step);
      }
    }
    std::sort(plan->tagged.begin(), plan->tagged.end(), [](Step const& a, Step const& b) { return a.tag < b.tag; });
    table.plans_.push_back(std::move(plan));
  }
}

}  // namespace millrace::protocol
