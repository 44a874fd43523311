// Turns a message's describe() into its MessageTable. Included only by the files that list messages.
#pragma once
#include <map>
#include <type_traits>

#include "millrace/protocol/table.h"

namespace millrace::protocol {

class TableBuilder {
 public:
  TableBuilder(MessageTable& out, std::string_view name, int16_t key, Versions valid, Versions flexible) : out_(out) {
    out.name_ = name;
    out.key_ = key;
    out.valid_ = valid;
    out.flexible_ = flexible;
  }

  // The table of struct S, described once per message however often it is used.
  template <class S>
  StructTable const* structure() {
    static_assert(std::is_trivially_copyable_v<S> && std::is_trivially_destructible_v<S>);
    static S const prototype{};
    auto const* at = reinterpret_cast<std::byte const*>(&prototype);
    if (auto const* known = find(at)) return known;
    auto& table = begin_struct(at, sizeof(S));
    Visitor visitor{*this, table, at};
    S::describe(prototype, visitor);
    finish_struct(table);
    return &table;
  }
  template <class M>
  void root() {
    out_.root_ = structure<M>();
  }

 private:
  struct Type {
    Kind kind{};
    Kind element{};
    uint32_t element_bytes = 0;
    StructTable const* structure = nullptr;
    NullableStructOps const* ops = nullptr;
  };
  template <class T>
  struct Tag {};

  struct Visitor {
    TableBuilder& builder;
    StructTable& table;
    std::byte const* object;
    template <class F>
    void operator()(F const& field, Description const& description) {
      auto const offset = reinterpret_cast<std::byte const*>(&field) - object;
      builder.add(table, static_cast<uint32_t>(offset), builder.type(Tag<F>{}), description);
    }
  };

  Type type(Tag<bool>) { return {Kind::boolean}; }
  Type type(Tag<int8_t>) { return {Kind::int8}; }
  Type type(Tag<int16_t>) { return {Kind::int16}; }
  Type type(Tag<uint16_t>) { return {Kind::uint16}; }
  Type type(Tag<int32_t>) { return {Kind::int32}; }
  Type type(Tag<uint32_t>) { return {Kind::uint32}; }
  Type type(Tag<int64_t>) { return {Kind::int64}; }
  Type type(Tag<double>) { return {Kind::float64}; }
  Type type(Tag<Uuid>) { return {Kind::uuid}; }
  Type type(Tag<Str>) { return {Kind::string}; }
  Type type(Tag<std::optional<Str>>) { return {Kind::nullable_string}; }
  Type type(Tag<ByteView>) { return {Kind::bytes}; }
  Type type(Tag<std::optional<ByteView>>) { return {Kind::nullable_bytes}; }
  Type type(Tag<Records>) { return {Kind::records}; }
  template <class E>
    requires std::is_enum_v<E>
  Type type(Tag<E>) {
    return type(Tag<std::underlying_type_t<E>>{});
  }
  template <class T>
  Type type(Tag<Array<T>>) {
    static_assert(sizeof(T) <= kElementBytesMax && alignof(T) <= kElementAlignment);
    auto const element = type(Tag<T>{});
    return {Kind::array, element.kind, sizeof(T), element.structure};
  }
  template <class S>
    requires std::is_class_v<S>
  Type type(Tag<std::optional<S>>) {
    using Held = std::optional<S>;
    static NullableStructOps const ops{[](void const* held) -> void const* {
                                         auto const& value = *static_cast<Held const*>(held);
                                         return value ? &*value : nullptr;
                                       },
                                       [](void* held) -> void* { return &static_cast<Held*>(held)->emplace(S{}); },
                                       [](void* held) { static_cast<Held*>(held)->reset(); }};
    return {Kind::nullable_structure, {}, 0, structure<S>(), &ops};
  }
  template <class S>
    requires std::is_class_v<S>
  Type type(Tag<S>) {
    return {Kind::structure, {}, 0, structure<S>()};
  }

  StructTable const* find(std::byte const* prototype) const;
  StructTable& begin_struct(std::byte const* prototype, size_t size);
  void add(StructTable& table, uint32_t offset, Type const& type, Description const& description);
  void finish_struct(StructTable& table);
  Step step(Field const& field, int16_t version) const;

  MessageTable& out_;
};

template <class M>
MessageTable build_table(std::string_view name, int16_t key) {
  MessageTable out;
  TableBuilder builder(out, name, key, M::kValid, M::kFlexible);
  builder.root<M>();
  return out;
}

}  // namespace millrace::protocol

#define MR_KEYED_MESSAGE(M)                                                              \
  MessageTable const& M::table() {                                                       \
    static MessageTable const table = build_table<M>(#M, static_cast<int16_t>(M::kKey)); \
    return table;                                                                        \
  }
#define MR_MESSAGE(M)                                         \
  MessageTable const& M::table() {                            \
    static MessageTable const table = build_table<M>(#M, -1); \
    return table;                                             \
  }
