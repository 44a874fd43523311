#include <algorithm>

#include <fmt/format.h>

#include "millrace/protocol/codec.h"

namespace millrace::protocol {

namespace {

constexpr size_t kStringBytesMax = 0x7fff;
constexpr size_t kBytesMax = 0x7fffffff;

template <class T>
T const& as(std::byte const* at) {
  return *reinterpret_cast<T const*>(at);
}

bool value_equal(Kind kind, Field const& field, std::byte const* a, std::byte const* b) {
  switch (kind) {
    case Kind::boolean: return as<bool>(a) == as<bool>(b);
    case Kind::int8: return as<int8_t>(a) == as<int8_t>(b);
    case Kind::int16:
    case Kind::uint16: return as<uint16_t>(a) == as<uint16_t>(b);
    case Kind::int32:
    case Kind::uint32: return as<uint32_t>(a) == as<uint32_t>(b);
    case Kind::int64: return as<int64_t>(a) == as<int64_t>(b);
    case Kind::float64: return std::memcmp(a, b, sizeof(double)) == 0;
    case Kind::uuid: return as<Uuid>(a) == as<Uuid>(b);
    case Kind::string: return as<Str>(a) == as<Str>(b);
    case Kind::nullable_string: return as<std::optional<Str>>(a) == as<std::optional<Str>>(b);
    case Kind::bytes: return as_text(as<ByteView>(a)) == as_text(as<ByteView>(b));
    case Kind::nullable_bytes: {
      auto const& x = as<std::optional<ByteView>>(a);
      auto const& y = as<std::optional<ByteView>>(b);
      return x.has_value() == y.has_value() && (!x || as_text(*x) == as_text(*y));
    }
    case Kind::records: {
      auto const& x = as<Records>(a);
      auto const& y = as<Records>(b);
      if (x.is_null() != y.is_null() || x.is_slot() != y.is_slot() || x.size() != y.size()) return false;
      return x.is_slot() ? x.slot_index() == y.slot_index() : as_text(x.view()) == as_text(y.view());
    }
    case Kind::structure: return equal(*field.structure, a, b);
    case Kind::nullable_structure: {
      auto const* x = field.ops->get(a);
      auto const* y = field.ops->get(b);
      return (x == nullptr) == (y == nullptr) && (x == nullptr || equal(*field.structure, x, y));
    }
    case Kind::array: {
      auto const& x = as<ArrayBase>(a);
      auto const& y = as<ArrayBase>(b);
      if (x.raw_count != y.raw_count) return false;
      auto const* p = static_cast<std::byte const*>(x.raw_elements);
      auto const* q = static_cast<std::byte const*>(y.raw_elements);
      for (int32_t i = 0; i < x.raw_count; ++i, p += field.element_bytes, q += field.element_bytes) {
        if (!value_equal(field.element, field, p, q)) return false;
      }
      return true;
    }
  }
  return false;
}

bool is_default(Step const& step, Plan const& plan, std::byte const* object) {
  auto const* at = object + step.offset;
  return value_equal(step.kind, *step.field, at, plan.structure->prototype() + step.offset);
}

size_t length_bytes(bool compact, size_t length, size_t plain_bytes) {
  return compact ? uvarint_bytes(length + 1) : plain_bytes;
}

class Sizer {
 public:
  explicit Sizer(UnknownTags const* unknown) : unknown_(unknown) {}

  bool structure(Plan const& plan, std::byte const* object) {
    for (auto const& step : plan.foreign) {
      if (!is_default(step, plan, object)) [[unlikely]] {
        unsupported_ = true;
        return fail(step, "this version has no place for");
      }
    }
    for (auto const& step : plan.steps) {
      if (!value(step, object + step.offset)) [[unlikely]]
        return false;
    }
    return !plan.flexible || tags(plan, object);
  }

  // What a tagged value takes without its tag and size.
  bool tagged_value(Step const& step, std::byte const* at) {
    if (step.kind != Kind::nullable_structure) return value(step, at);
    size_.bytes += 1;  // an unsigned varint, 0 or 1
    auto const* held = step.field->ops->get(at);
    if (held == nullptr) return step.nullable || fail(step, "null in");
    return structure(*step.plan, static_cast<std::byte const*>(held));
  }

  MessageSize const& size() const { return size_; }
  Error error(MessageTable const& table, int16_t version) const {
    return {unsupported_ ? ErrorKind::unsupported : ErrorKind::invalid,
            fmt::format("encode {} v{}: {} {}", table.name(), version, what_, field_->name)};
  }

 private:
  bool fail(Step const& step, char const* what) {
    what_ = what;
    field_ = step.field;
    return false;
  }
  bool null(Step const& step, size_t plain_bytes) {
    if (!step.nullable) return fail(step, "null in");
    size_.bytes += step.compact ? 1 : plain_bytes;
    return true;
  }
  bool text(Step const& step, Str value) {
    if (value.size() > kStringBytesMax) return fail(step, "a string over 32767 bytes in");
    size_.bytes += length_bytes(step.compact, value.size(), 2) + value.size();
    return true;
  }
  bool binary(Step const& step, size_t bytes) {
    if (bytes > kBytesMax) return fail(step, "2 GiB or more in");
    size_.bytes += length_bytes(step.compact, bytes, 4);
    return true;
  }

  bool value(Step const& step, std::byte const* at) { return value(step, step.kind, at); }
  bool value(Step const& step, Kind kind, std::byte const* at) {
    switch (kind) {
      case Kind::boolean:
      case Kind::int8: size_.bytes += 1; return true;
      case Kind::int16:
      case Kind::uint16: size_.bytes += 2; return true;
      case Kind::int32:
      case Kind::uint32: size_.bytes += 4; return true;
      case Kind::int64:
      case Kind::float64: size_.bytes += 8; return true;
      case Kind::uuid: size_.bytes += 16; return true;
      case Kind::string: return text(step, as<Str>(at));
      case Kind::nullable_string: {
        auto const& value = as<std::optional<Str>>(at);
        return value ? text(step, *value) : null(step, 2);
      }
      case Kind::bytes: {
        auto const bytes = as<ByteView>(at).size();
        size_.bytes += bytes;
        return binary(step, bytes);
      }
      case Kind::nullable_bytes: {
        auto const& value = as<std::optional<ByteView>>(at);
        if (!value) return null(step, 4);
        size_.bytes += value->size();
        return binary(step, value->size());
      }
      case Kind::records: {
        auto const& value = as<Records>(at);
        if (value.is_null()) return null(step, 4);
        (value.is_slot() ? size_.slot_bytes : size_.bytes) += value.size();
        return binary(step, value.size());
      }
      case Kind::structure: return structure(*step.plan, at);
      case Kind::nullable_structure: {
        size_.bytes += 1;
        auto const* held = step.field->ops->get(at);
        if (held == nullptr) return step.nullable || fail(step, "null in");
        return structure(*step.plan, static_cast<std::byte const*>(held));
      }
      case Kind::array: return array(step, as<ArrayBase>(at));
    }
    return false;
  }

  bool array(Step const& step, ArrayBase const& array) {
    if (array.raw_count < 0) return null(step, 4);
    auto const count = static_cast<size_t>(array.raw_count);
    size_.bytes += length_bytes(step.compact, count, 4);
    auto const* at = static_cast<std::byte const*>(array.raw_elements);
    for (size_t i = 0; i < count; ++i, at += step.element_bytes) {
      if (!value(step, step.element, at)) return false;
    }
    return true;
  }

  bool tags(Plan const& plan, std::byte const* object) {
    size_t count = 0;
    for (auto const& step : plan.tagged) {
      if (is_default(step, plan, object)) continue;
      ++count;
      auto const before = size_.total();
      if (!tagged_value(step, object + step.offset)) return false;
      size_.bytes += uvarint_bytes(static_cast<uint16_t>(step.tag)) + uvarint_bytes(size_.total() - before);
    }
    if (unknown_ != nullptr) {
      if (auto const* extra = unknown_->find(*plan.structure, object)) {
        count += extra->size();
        for (auto const& tag : *extra) {
          size_.bytes += uvarint_bytes(tag.tag) + uvarint_bytes(tag.data.size()) + tag.data.size();
        }
      }
    }
    size_.bytes += uvarint_bytes(count);
    return true;
  }

  UnknownTags const* unknown_;
  MessageSize size_;
  char const* what_ = "";
  Field const* field_ = nullptr;
  bool unsupported_ = false;
};

class Encoder {
 public:
  Encoder(Writer& out, std::vector<RecordSlot>* slots, UnknownTags const* unknown)
      : out_(out), slots_(slots), unknown_(unknown) {}

  void structure(Plan const& plan, std::byte const* object) {
    for (auto const& step : plan.steps) value(step, step.kind, object + step.offset);
    if (plan.flexible) tags(plan, object);
  }

 private:
  void length32(bool compact, int64_t length) {
    if (compact) return out_.uvarint(static_cast<uint32_t>(length + 1));
    out_.i32(static_cast<int32_t>(length));
  }
  void length16(bool compact, int64_t length) {
    if (compact) return out_.uvarint(static_cast<uint32_t>(length + 1));
    out_.i16(static_cast<int16_t>(length));
  }
  void text(bool compact, Str value) {
    length16(compact, static_cast<int64_t>(value.size()));
    out_.text(value);
  }
  void binary(bool compact, ByteView value) {
    length32(compact, static_cast<int64_t>(value.size()));
    out_.bytes(value);
  }

  void value(Step const& step, Kind kind, std::byte const* at) {
    switch (kind) {
      case Kind::boolean: return out_.boolean(as<bool>(at));
      case Kind::int8: return out_.i8(as<int8_t>(at));
      case Kind::int16:
      case Kind::uint16: return out_.u16(as<uint16_t>(at));
      case Kind::int32:
      case Kind::uint32: return out_.u32(as<uint32_t>(at));
      case Kind::int64: return out_.i64(as<int64_t>(at));
      case Kind::float64: return out_.f64(as<double>(at));
      case Kind::uuid: return out_.uuid(as<Uuid>(at));
      case Kind::string: return text(step.compact, as<Str>(at));
      case Kind::nullable_string: {
        auto const& value = as<std::optional<Str>>(at);
        return value ? text(step.compact, *value) : length16(step.compact, -1);
      }
      case Kind::bytes: return binary(step.compact, as<ByteView>(at));
      case Kind::nullable_bytes: {
        auto const& value = as<std::optional<ByteView>>(at);
        return value ? binary(step.compact, *value) : length32(step.compact, -1);
      }
      case Kind::records: return records(step, as<Records>(at));
      case Kind::structure: return structure(*step.plan, at);
      case Kind::nullable_structure: {
        auto const* held = step.field->ops->get(at);
        out_.i8(held == nullptr ? -1 : 1);
        if (held != nullptr) structure(*step.plan, static_cast<std::byte const*>(held));
        return;
      }
      case Kind::array: return array(step, as<ArrayBase>(at));
    }
  }

  void records(Step const& step, Records const& value) {
    if (value.is_null()) return length32(step.compact, -1);
    if (!value.is_slot()) return binary(step.compact, value.view());
    length32(step.compact, static_cast<int64_t>(value.size()));
    MR_ASSERT(slots_ != nullptr);
    slots_->push_back({out_.position(), value.size(), value.slot_index()});
  }

  void array(Step const& step, ArrayBase const& array) {
    length32(step.compact, array.raw_count);
    auto const* at = static_cast<std::byte const*>(array.raw_elements);
    for (int32_t i = 0; i < array.raw_count; ++i, at += step.element_bytes) value(step, step.element, at);
  }

  void tags(Plan const& plan, std::byte const* object) {
    auto const* extra = unknown_ == nullptr ? nullptr : unknown_->find(*plan.structure, object);
    uint64_t present = 0;  // bit i: plan.tagged[i] is written
    MR_ASSERT(plan.tagged.size() <= 64);
    for (size_t i = 0; i < plan.tagged.size(); ++i) {
      if (!is_default(plan.tagged[i], plan, object)) present |= uint64_t{1} << i;
    }
    auto const extra_count = extra == nullptr ? size_t{0} : extra->size();
    out_.uvarint(static_cast<uint32_t>(static_cast<size_t>(std::popcount(present)) + extra_count));
    size_t next_extra = 0;
    auto const write_extra_below = [&](uint64_t tag_limit) {
      for (; next_extra < extra_count && (*extra)[next_extra].tag < tag_limit; ++next_extra) {
        auto const& tag = (*extra)[next_extra];
        out_.uvarint(tag.tag);
        out_.uvarint(static_cast<uint32_t>(tag.data.size()));
        out_.bytes(tag.data);
      }
    };
    for (size_t i = 0; i < plan.tagged.size(); ++i) {
      if ((present >> i & 1) == 0) continue;
      auto const& step = plan.tagged[i];
      auto const* at = object + step.offset;
      write_extra_below(static_cast<uint32_t>(step.tag));
      Sizer sizer(unknown_);
      MR_ASSERT(sizer.tagged_value(step, at));
      out_.uvarint(static_cast<uint32_t>(step.tag));
      out_.uvarint(static_cast<uint32_t>(sizer.size().total()));
      if (step.kind == Kind::nullable_structure) {
        auto const* held = step.field->ops->get(at);
        out_.uvarint(held == nullptr ? 0 : 1);
        if (held != nullptr) structure(*step.plan, static_cast<std::byte const*>(held));
      } else {
        value(step, step.kind, at);
      }
    }
    write_extra_below(uint64_t{1} << 32);
  }

  Writer& out_;
  std::vector<RecordSlot>* slots_;
  UnknownTags const* unknown_;
};

}  // namespace

bool equal_field(Field const& field, void const* a, void const* b) {
  return value_equal(field.kind, field, static_cast<std::byte const*>(a), static_cast<std::byte const*>(b));
}

bool equal(StructTable const& structure, void const* a, void const* b) {
  return std::all_of(structure.fields().begin(), structure.fields().end(), [&](Field const& field) {
    return equal_field(field, static_cast<std::byte const*>(a) + field.offset,
                       static_cast<std::byte const*>(b) + field.offset);
  });
}

Result<MessageSize> encoded_size(MessageTable const& table, void const* object, int16_t version,
                                 UnknownTags const* unknown) {
  if (!table.valid().contains(version)) {
    return Error{ErrorKind::unsupported, fmt::format("encode {}: no version {}", table.name(), version)};
  }
  Sizer sizer(unknown);
  if (!sizer.structure(table.root().plan(version), static_cast<std::byte const*>(object))) {
    return sizer.error(table, version);
  }
  return sizer.size();
}

void encode(MessageTable const& table, void const* object, int16_t version, Writer& out, std::vector<RecordSlot>* slots,
            UnknownTags const* unknown) {
  MR_ASSERT(table.valid().contains(version));
  Encoder(out, slots, unknown).structure(table.root().plan(version), static_cast<std::byte const*>(object));
}

}  // namespace millrace::protocol
