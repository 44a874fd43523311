#include <algorithm>

#include <fmt/format.h>

#include "millrace/bytes/text.h"
#include "millrace/protocol/codec.h"

namespace millrace::protocol {

namespace {

// What a decoder may take. A frame that turns out malformed must not have cost more than its own size and 16 KiB, and
// the arena's chunks may come to 4/3 of what is asked for and one chunk more.
size_t cautious_bytes_max(size_t frame_bytes) { return frame_bytes / 4 * 3 + 4096; }

class Decoder {
 public:
  // Without an arena nothing is kept: the input is only checked, and `object` is for scratch.
  Decoder(Reader& in, Arena* arena, size_t arena_bytes_max, UnknownTags* unknown)
      : in_(in), arena_(arena), arena_bytes_left_(arena_bytes_max), unknown_(unknown) {}

  bool structure(Plan const& plan, std::byte* object) {
    for (auto const& step : plan.steps) {
      if (!value(step, object + step.offset)) [[unlikely]]
        return false;
    }
    if (plan.flexible && !tags(plan, object)) [[unlikely]]
      return false;
    return in_.ok();
  }

  bool wants_more_memory() const { return wants_more_; }
  Error error(MessageTable const& table, int16_t version) const {
    auto const kind = over_limit_ ? ErrorKind::limit : ErrorKind::invalid;
    return {kind, fmt::format("decode {} v{}: {}{}{}", table.name(), version, what_ ? what_ : "ends too early",
                              field_ == nullptr ? "" : " in ", field_ == nullptr ? "" : field_->name)};
  }

 private:
  bool fail(Step const& step, char const* what) {
    what_ = what;
    field_ = step.field;
    return false;
  }

  template <class T>
  static T& as(std::byte* at) {
    return *reinterpret_cast<T*>(at);
  }

  // Counts and lengths; any negative number means null.
  int32_t length32(bool compact) { return compact ? static_cast<int32_t>(in_.uvarint() - 1) : in_.i32(); }
  int32_t length16(bool compact) { return compact ? static_cast<int32_t>(in_.uvarint() - 1) : in_.i16(); }

  bool text(Step const& step, std::optional<Str>& out) {
    auto const length = length16(step.compact);
    if (length < 0) {
      if (!step.nullable || !in_.ok()) return fail(step, in_.ok() ? "null" : "ends too early");
      out.reset();
      return true;
    }
    if (length > 0x7fff) return fail(step, "a string over 32767 bytes");
    out = as_text(in_.bytes(static_cast<size_t>(length)));
    if (!in_.ok()) return fail(step, "ends too early");
    return is_utf8(*out) || repair(step, *out);
  }
  // Kafka reads text into Java strings, so a client that sends malformed UTF-8 gets replacement characters back.
  bool repair(Step const& step, Str& text) {
    if (arena_ == nullptr) return true;
    auto const bytes = replaced_utf8_bytes(text);
    auto* const memory = static_cast<char*>(allocate(step, bytes, 1));
    if (memory == nullptr) return false;
    replace_malformed_utf8(text, memory);
    text = {memory, bytes};
    return true;
  }
  void* allocate(Step const& step, size_t bytes, size_t alignment) {
    if (bytes > arena_bytes_left_) {
      wants_more_ = true;
      return nullptr;
    }
    arena_bytes_left_ -= bytes;
    auto* const memory = arena_->try_allocate(bytes, alignment);
    if (memory == nullptr) {
      over_limit_ = true;
      fail(step, "more memory than allowed");
    }
    return memory;
  }

  bool binary(Step const& step, std::optional<ByteView>& out) {
    auto const length = length32(step.compact);
    if (length < 0) {
      if (!step.nullable || !in_.ok()) return fail(step, in_.ok() ? "null" : "ends too early");
      out.reset();
      return true;
    }
    out = in_.bytes(static_cast<size_t>(length));
    return in_.ok() || fail(step, "ends too early");
  }

  bool value(Step const& step, std::byte* at) {
    switch (step.kind) {
      case Kind::array: return array(step, as<ArrayBase>(at));
      case Kind::structure: return structure(*step.plan, at);
      case Kind::nullable_structure: {
        if (in_.i8() < 0) {
          if (!step.nullable) return fail(step, "null");
          step.field->ops->reset(at);
          return in_.ok();
        }
        return in_.ok() && structure(*step.plan, static_cast<std::byte*>(step.field->ops->emplace(at)));
      }
      default: return scalar(step, step.kind, at);
    }
  }

  bool scalar(Step const& step, Kind kind, std::byte* at) {
    switch (kind) {
      case Kind::boolean: as<bool>(at) = in_.boolean(); return true;
      case Kind::int8: as<int8_t>(at) = in_.i8(); return true;
      case Kind::int16:
      case Kind::uint16: as<uint16_t>(at) = in_.u16(); return true;
      case Kind::int32:
      case Kind::uint32: as<uint32_t>(at) = in_.u32(); return true;
      case Kind::int64: as<int64_t>(at) = in_.i64(); return true;
      case Kind::float64: as<double>(at) = in_.f64(); return true;
      case Kind::uuid: as<Uuid>(at) = in_.uuid(); return true;
      case Kind::string: {
        std::optional<Str> out;
        if (!text(step, out)) return false;
        as<Str>(at) = out.value_or(Str{});
        return true;
      }
      case Kind::nullable_string: return text(step, as<std::optional<Str>>(at));
      case Kind::bytes: {
        std::optional<ByteView> out;
        if (!binary(step, out)) return false;
        as<ByteView>(at) = out.value_or(ByteView{});
        return true;
      }
      case Kind::nullable_bytes: return binary(step, as<std::optional<ByteView>>(at));
      case Kind::records: {
        std::optional<ByteView> out;
        if (!binary(step, out)) return false;
        as<Records>(at) = out ? Records(*out) : Records();
        return true;
      }
      default: return fail(step, "an unexpected type");
    }
  }

  bool array(Step const& step, ArrayBase& out) {
    auto const count = length32(step.compact);
    if (count < 0) {
      if (!step.nullable || !in_.ok()) return fail(step, in_.ok() ? "null" : "ends too early");
      out = {nullptr, -1};
      return true;
    }
    out = {nullptr, 0};
    if (count == 0) return in_.ok();
    auto const size = static_cast<size_t>(count);
    if (size > in_.remaining() / step.element_wire_bytes_min) return fail(step, "more elements than bytes");
    alignas(kElementAlignment) std::byte scratch[kElementBytesMax];
    auto* elements = scratch;
    size_t stride = 0;
    if (arena_ != nullptr) {
      elements = static_cast<std::byte*>(allocate(step, size * step.element_bytes, kElementAlignment));
      if (elements == nullptr) return false;
      stride = step.element_bytes;
    }
    if (step.plan != nullptr) {
      auto const* prototype = step.plan->structure->prototype();
      for (size_t i = 0; i < size; ++i) {
        auto* const element = elements + i * stride;
        std::memcpy(element, prototype, step.element_bytes);
        if (!structure(*step.plan, element)) return false;
      }
    } else {
      // The elements of an array are never null themselves.
      auto element_step = step;
      element_step.nullable = false;
      for (size_t i = 0; i < size; ++i) {
        if (!scalar(element_step, step.element, elements + i * stride)) return false;
      }
    }
    out = {elements, count};
    return in_.ok();
  }

  // As Kafka: any order, the last of a repeated tag wins, and the size of a tag that we know is not looked at.
  bool tags(Plan const& plan, std::byte* object) {
    auto const count = in_.uvarint();
    for (uint32_t i = 0; i < count; ++i) {
      auto const tag = in_.uvarint();
      auto const size = in_.uvarint();
      if (!in_.ok()) return false;
      auto const known = std::find_if(plan.tagged.begin(), plan.tagged.end(),
                                      [&](Step const& step) { return static_cast<uint32_t>(step.tag) == tag; });
      if (known != plan.tagged.end()) {
        if (!tagged_value(*known, object + known->offset)) return false;
        continue;
      }
      for (auto const& field : plan.structure->fields()) {
        if (field.tag >= 0 && static_cast<uint32_t>(field.tag) == tag) {
          what_ = "a tag of another version";
          field_ = &field;
          return false;
        }
      }
      auto const data = in_.bytes(size);
      if (!in_.ok()) return false;
      if (unknown_ != nullptr) unknown_->add(*plan.structure, object, {tag, data});
    }
    return in_.ok();
  }

  bool tagged_value(Step const& step, std::byte* at) {
    if (step.kind != Kind::nullable_structure) return value(step, at);
    if (in_.uvarint() == 0) {
      if (!step.nullable || !in_.ok()) return fail(step, in_.ok() ? "null" : "ends too early");
      step.field->ops->reset(at);
      return true;
    }
    return structure(*step.plan, static_cast<std::byte*>(step.field->ops->emplace(at)));
  }

  Reader& in_;
  Arena* arena_;
  size_t arena_bytes_left_;
  UnknownTags* unknown_;
  char const* what_ = nullptr;
  Field const* field_ = nullptr;
  bool over_limit_ = false;
  bool wants_more_ = false;
};

}  // namespace

Status decode(MessageTable const& table, Reader& in, int16_t version, Arena& arena, void* object,
              UnknownTags* unknown) {
  if (!table.valid().contains(version)) {
    return Error{ErrorKind::unsupported, fmt::format("decode {}: no version {}", table.name(), version)};
  }
  auto const& plan = table.root().plan(version);
  auto const start = in;
  // A frame whose elements need more than its size in memory is first checked to its end. Nearly none do.
  Decoder cautious(in, &arena, cautious_bytes_max(in.remaining()), unknown);
  if (cautious.structure(plan, static_cast<std::byte*>(object))) return {};
  if (!cautious.wants_more_memory()) return cautious.error(table, version);

  auto const reset = [&] { std::memcpy(object, table.root().prototype(), table.root().size()); };
  reset();
  in = start;
  Decoder checker(in, nullptr, 0, nullptr);
  if (!checker.structure(plan, static_cast<std::byte*>(object))) return checker.error(table, version);

  reset();
  in = start;
  if (unknown != nullptr) *unknown = {};
  Decoder decoder(in, &arena, Arena::kUnlimited, unknown);
  if (!decoder.structure(plan, static_cast<std::byte*>(object))) return decoder.error(table, version);
  return {};
}

}  // namespace millrace::protocol
