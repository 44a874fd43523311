#include "pages.h"

#include "metrics.h"

namespace millrace::admin {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    auto const high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    auto const low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

Target::Target(std::string_view text) {
  auto const mark = text.find('?');
  path = text.substr(0, mark);
  for (auto rest = mark == std::string_view::npos ? std::string_view{} : text.substr(mark + 1); !rest.empty();) {
    auto const end = rest.find('&');
    auto const one = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    auto const equals = one.find('=');
    values.emplace_back(decoded(one.substr(0, equals)),
                        equals == std::string_view::npos ? std::string() : decoded(one.substr(equals + 1)));
  }
}

std::optional<std::string> Target::value(std::string_view name) const {
  for (auto const& [key, value] : values) {
    if (key == name) return value;
  }
  return std::nullopt;
}

bool is_page(std::string_view path) {
  return path == "/ready" || path == "/readyz" || path == "/metrics" || path == "/lag" || path == "/hot";
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (auto const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string ready_text(Figures const& figures) {
  auto const& state = figures.node.state;
  return fmt::format("{}: {} partitions, {} opening, {} offline; {}\n", phase_name(figures.phase), state.partitions,
                     state.opening, state.offline,
                     state.has_quorum ? "the quorum has a leader" : "no leader of the quorum");
}

std::string lag_json(Figures const& figures, std::optional<std::string> const& group_id) {
  auto out = fmt::format("{{\"node\":{},\"ready\":{},\"left_out\":{},\"groups\":[", figures.node_id,
                         figures.is_ready, figures.node.groups.offsets_left_out);
  bool is_first = true;
  auto const write = std::back_inserter(out);
  for (auto const& group : figures.lags) {
    if (group_id && group.id != *group_id) continue;
    int64_t records = 0, ms = 0;
    bool is_stuck = false;
    for (auto const& lag : group.partitions) {
      records += lag.lag_records;
      ms = std::max(ms, lag.lag_ms);
      is_stuck = is_stuck || lag.is_stuck;
    }
    fmt::format_to(write,
                   "{}\n{{\"group\":{},\"state\":\"{}\",\"members\":{},\"lag_records\":{},\"lag_seconds\":{:.3f},"
                   "\"stuck\":{},\"partitions\":[",
                   std::exchange(is_first, false) ? "" : ",", json_text(group.id), group.state, group.member_count,
                   records, static_cast<double>(ms) / 1000, is_stuck);
    bool is_first_partition = true;
    for (auto const& lag : group.partitions) {
      fmt::format_to(write, "{}\n {{\"topic\":{},\"partition\":{},\"committed\":{}",
                     std::exchange(is_first_partition, false) ? "" : ",", json_text(lag.topic), lag.partition,
                     lag.committed);
      if (lag.end) {
        fmt::format_to(write, ",\"end\":{},\"lag_records\":{},\"lag_seconds\":{:.3f},\"stuck\":{}}}", *lag.end,
                       lag.lag_records, static_cast<double>(lag.lag_ms) / 1000, lag.is_stuck);
      } else {
        out += ",\"end\":null,\"lag_records\":null,\"lag_seconds\":null,\"stuck\":false}";
      }
    }
    out += "]}";
  }
  return out + "]}\n";
}

}  // namespace millrace::admin
