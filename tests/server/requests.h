// Requests as bytes, written from the descriptions of the messages: well-formed ones with chosen or random fields, and
// broken ones.
#pragma once
#include <array>
#include <string>

#include "millrace/base/random.h"
#include "millrace/protocol/message.h"

namespace millrace::server {

// What a field gets.
struct Filling {
  size_t elements = 0;        // of each array
  size_t inner_elements = 0;  // of those within arrays
  std::string_view text;
  bool is_numbered = false;  // each text ends in a number of its own
};

class RequestWriter {
 public:
  explicit RequestWriter(Filling filling) : filling_(filling) {}
  explicit RequestWriter(Random& random) : random_(&random) {}
  virtual ~RequestWriter() = default;

  // What answers told, to be asked about again: members of groups, topics.
  void remember(std::string text) { texts_[text_count_++ % texts_.size()] = std::move(text); }
  void remember(Uuid id) { ids_[id_count_++ % ids_.size()] = id; }

  // A frame with its size.
  std::string frame(protocol::ApiInfo const& api, int16_t version, int32_t correlation_id) {
    out_.clear();
    number(static_cast<int16_t>(api.key), 2);
    number(version, 2);
    number(correlation_id, 4);
    number(1, 2);
    out_ += 't';
    if (api.request_header_version(version) == 2) out_ += '\0';
    structure(api.request().root().plan(version));
    if (random_ != nullptr && random_->chance(0.1)) spoil();
    return sized(out_);
  }
  static std::string sized(std::string const& bytes) {
    std::string frame;
    for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(bytes.size() >> shift);
    return frame + bytes;
  }

 protected:
  virtual int64_t chosen_number(protocol::Step const&) { return 0; }

 private:
  using Kind = protocol::Kind;

  void number(int64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out_ += static_cast<char>(value >> shift);
  }
  void unsigned_varint(uint32_t value) {
    for (; value > 127; value >>= 7) out_ += static_cast<char>(value | 128);
    out_ += static_cast<char>(value);
  }
  void length(bool compact, int64_t value, int bytes) {
    if (compact)
      unsigned_varint(static_cast<uint32_t>(value + 1));
    else
      number(value, bytes);
  }
  bool is_null(protocol::Step const& step) { return step.nullable && random_ != nullptr && random_->chance(0.15); }

  void structure(protocol::Plan const& plan) {
    for (auto const& step : plan.steps) value(step);
    if (plan.flexible) unsigned_varint(0);
  }
  void value(protocol::Step const& step) {
    switch (step.kind) {
      case Kind::array: return array(step);
      case Kind::structure: return structure(*step.plan);
      case Kind::nullable_structure: {
        bool const has = !is_null(step);
        number(has ? 1 : -1, 1);
        if (has) structure(*step.plan);
        return;
      }
      default: return scalar(step, step.kind);
    }
  }
  void array(protocol::Step const& step) {
    if (is_null(step)) return length(step.compact, -1, 4);
    auto const count = element_count();
    length(step.compact, static_cast<int64_t>(count), 4);
    ++depth_;
    for (size_t i = 0; i < count; ++i) {
      if (step.plan != nullptr)
        structure(*step.plan);
      else
        scalar(step, step.element);
    }
    --depth_;
  }
  size_t element_count() {
    if (random_ == nullptr) return depth_ == 0 ? filling_.elements : filling_.inner_elements;
    if (out_.size() > 20'000) return 0;
    return random_->chance(0.01) ? random_->below(2000) : random_->below(4);
  }
  void scalar(protocol::Step const& step, Kind kind) {
    switch (kind) {
      case Kind::boolean: return number(random_ == nullptr ? 0 : static_cast<int64_t>(random_->below(2)), 1);
      case Kind::int8: return number(integer(step), 1);
      case Kind::int16:
      case Kind::uint16: return number(integer(step), 2);
      case Kind::int32:
      case Kind::uint32: return number(integer(step), 4);
      case Kind::int64:
      case Kind::float64: return number(integer(step), 8);
      case Kind::uuid: {
        auto const known = random_ == nullptr ? Uuid{} : ids_[random_->below(ids_.size())];
        if (random_ != nullptr && random_->chance(0.1))
          out_ += noise(16);
        else
          out_.append(reinterpret_cast<char const*>(known.bytes.data()), 16);
        return;
      }
      case Kind::string:
      case Kind::nullable_string: {
        if (is_null(step)) return length(step.compact, -1, 2);
        auto const text = words();
        length(step.compact, static_cast<int64_t>(text.size()), 2);
        out_ += text;
        return;
      }
      default: {
        if (is_null(step)) return length(step.compact, -1, 4);
        auto const bytes = random_ == nullptr ? std::string() : noise(random_->below(200));
        length(step.compact, static_cast<int64_t>(bytes.size()), 4);
        out_ += bytes;
      }
    }
  }
  int64_t integer(protocol::Step const& step) {
    if (random_ == nullptr) return chosen_number(step);
    // What would be refused before anything else is looked at.
    if (step.field->name.ends_with("TimeoutMs") && random_->chance(0.7)) return 6000;
    if (step.field->name == "Acks" && random_->chance(0.7)) return -1;
    switch (random_->below(8)) {
      case 0: return -1;
      case 1: return INT64_MAX;  // cut to the field's size: -1, or the largest
      case 2: return INT64_MIN;
      case 3: return 0x7fffffff;
      case 4: return static_cast<int64_t>(random_->next());
      default: return static_cast<int64_t>(random_->below(12));
    }
  }
  std::string words() {
    if (random_ == nullptr)
      return filling_.is_numbered ? fmt::format("{}{}", filling_.text, text_count_++) : std::string(filling_.text);
    static constexpr std::array<std::string_view, 30> kWords{"t",
                                                             "u",
                                                             "g",
                                                             "h",
                                                             "",
                                                             "1",
                                                             "0",
                                                             "consumer",
                                                             "range",
                                                             "__consumer_offsets",
                                                             "__cluster_metadata",
                                                             "cleanup.policy",
                                                             "compact",
                                                             "retention.ms",
                                                             "-1",
                                                             "min.insync.replicas",
                                                             "user",
                                                             "client-id",
                                                             "ip",
                                                             "producer_byte_rate",
                                                             "request_percentage",
                                                             "127.0.0.1",
                                                             "metadata.version",
                                                             "group.version",
                                                             "PLAINTEXT",
                                                             "a/b",
                                                             "..",
                                                             "\xff\xfe",
                                                             "SCRAM-SHA-256",
                                                             "log.cleaner.threads"};
    if (random_->chance(0.02)) return std::string(random_->below(32'000), 'x');
    if (random_->chance(0.1)) return noise(random_->below(20));
    if (random_->chance(0.3)) return texts_[random_->below(texts_.size())];
    return std::string(kWords[random_->below(kWords.size())]);
  }
  std::string noise(size_t size) {
    std::string bytes;
    while (bytes.size() < size) bytes += static_cast<char>(random_->next());
    return bytes;
  }
  // A changed byte, a number where a count may be, an end too early, or bytes too many.
  void spoil() {
    auto const at = 8 + random_->below(out_.size() - 8);
    switch (random_->below(4)) {
      case 0: out_[at] = static_cast<char>(random_->next()); break;
      case 1: out_.replace(at, 4, random_->chance(0.5) ? "\x7f\xff\xff\xfe" : "\xff\xff\xff\x0f"); break;
      case 2: out_.resize(at); break;
      default: out_ += noise(50);
    }
  }

  Filling filling_;
  Random* random_ = nullptr;
  std::array<std::string, 8> texts_;
  std::array<Uuid, 8> ids_{};
  size_t text_count_ = 0, id_count_ = 0, depth_ = 0;
  std::string out_;
};

}  // namespace millrace::server
