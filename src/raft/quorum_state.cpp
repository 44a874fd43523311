#include "millrace/raft/quorum_state.h"

#include <charconv>
#include <map>

namespace millrace::raft {
namespace {

// Just enough JSON for this file: values are kept as text; nested arrays and objects are skipped over.
class ObjectParser {
 public:
  explicit ObjectParser(std::string_view text) : text_(text) {}

  // Field name -> raw value ("..." for strings without quotes, numbers as written). False when it is not an object.
  bool parse(std::map<std::string, std::string, std::less<>>& fields) {
    skip_space();
    if (!take('{')) return false;
    skip_space();
    if (take('}')) return at_end();
    while (true) {
      std::string name, value;
      skip_space();
      if (!take_string(name)) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!take_value(value)) return false;
      fields[name] = value;
      skip_space();
      if (take(',')) continue;
      return take('}') && at_end();
    }
  }

 private:
  void skip_space() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) ++position_;
  }
  bool at_end() {
    skip_space();
    return position_ == text_.size();
  }
  bool take(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool take_string(std::string& out) {  // no escapes occur in this file; one is refused
    if (!take('"')) return false;
    auto const end = text_.find('"', position_);
    if (end == std::string_view::npos) return false;
    out = text_.substr(position_, end - position_);
    position_ = end + 1;
    return out.find('\\') == std::string::npos;
  }
  bool take_value(std::string& out) {
    if (position_ >= text_.size()) return false;
    if (text_[position_] == '"') return take_string(out);
    if (text_[position_] == '[' || text_[position_] == '{') return skip_nested();
    auto const end = text_.find_first_of(",} \t\r\n", position_);
    if (end == std::string_view::npos || end == position_) return false;
    out = text_.substr(position_, end - position_);
    position_ = end;
    return true;
  }
  bool skip_nested() {
    int depth = 0;
    bool in_string = false;
    for (; position_ < text_.size(); ++position_) {
      char const c = text_[position_];
      if (c == '"') in_string = !in_string;
      if (in_string) continue;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
      if (depth == 0) {
        ++position_;
        return true;
      }
    }
    return false;
  }

  std::string_view text_;
  size_t position_ = 0;
};

using Fields = std::map<std::string, std::string, std::less<>>;

Error corrupt(std::string_view what) { return {ErrorKind::corrupt, fmt::format("read quorum-state: {}", what)}; }

Result<int32_t> number(Fields const& fields, std::string_view name) {
  auto const found = fields.find(name);
  if (found == fields.end()) return corrupt(fmt::format("no field {}", name));
  auto const& text = found->second;
  int32_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return corrupt(fmt::format("field {} is '{}'", name, text));
  return value;
}

}  // namespace

std::string format_quorum_state(ElectionState const& state, int16_t data_version, VoterSet const& voters) {
  auto const voted = state.voted.value_or(ReplicaKey{});
  if (data_version >= 1) {
    return fmt::format(R"({{"leaderId":{},"leaderEpoch":{},"votedId":{},"votedDirectoryId":"{}","data_version":1}})", state.leader,
                       state.epoch, voted.id, voted.directory);
  }
  std::string list;
  for (auto const& voter : voters.voters) list += fmt::format(R"({}{{"voterId":{}}})", list.empty() ? "" : ",", voter.key.id);
  return fmt::format(
      R"({{"clusterId":"","leaderId":{},"leaderEpoch":{},"votedId":{},"appliedOffset":0,"currentVoters":[{}],"data_version":0}})",
      state.leader, state.epoch, voted.id, list);
}

Result<ElectionState> parse_quorum_state(std::string_view text) {
  Fields fields;
  if (!ObjectParser(text).parse(fields)) return corrupt(fmt::format("not a JSON object: '{}'", text.substr(0, 100)));
  MR_TRY_ASSIGN(auto const version, number(fields, "data_version"));
  if (version != 0 && version != 1) {
    return Error{ErrorKind::unsupported, fmt::format("read quorum-state: data_version {} is neither 0 nor 1", version)};
  }
  MR_TRY_ASSIGN(auto const leader, number(fields, "leaderId"));
  MR_TRY_ASSIGN(auto const epoch, number(fields, "leaderEpoch"));
  MR_TRY_ASSIGN(auto const voted, number(fields, "votedId"));
  if (epoch < 0 || leader < -1 || voted < -1) return corrupt(fmt::format("epoch {} leader {} voted {}", epoch, leader, voted));
  ElectionState state;
  state.epoch = LeaderEpoch{epoch};
  state.leader = BrokerId{leader};
  if (voted >= 0) {
    ReplicaKey key{BrokerId{voted}, {}};
    if (auto const found = fields.find("votedDirectoryId"); found != fields.end() && version == 1) {
      MR_TRY_ASSIGN(key.directory, Uuid::parse(found->second));
    }
    state.voted = key;
  }
  return state;
}

}  // namespace millrace::raft
