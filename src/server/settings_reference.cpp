// The reference of a node's keys, made from the settings themselves.
#include "millrace/server/settings.h"

namespace millrace::server {

namespace {

std::string_view type_name(SettingType type) {
  switch (type) {
    case SettingType::boolean: return "boolean";
    case SettingType::string: return "string";
    case SettingType::int16: return "int16";
    case SettingType::int32: return "int32";
    case SettingType::int64: return "int64";
    case SettingType::real: return "number";
    case SettingType::list: return "list";
    case SettingType::password: return "password";
    case SettingType::klass: return "class";
  }
  return "";
}

bool is_number(SettingType type) {
  return type == SettingType::int16 || type == SettingType::int32 || type == SettingType::int64 || type == SettingType::real;
}

std::string values_of(KnownSetting const& known) {
  auto const& s = known.setting;
  std::string text;
  if (!s.allowed.empty()) {
    for (auto const& item : parse_list(s.allowed)) text += (text.empty() ? "" : ", ") + item;
    return text;
  }
  if (!is_number(s.type)) return text;
  if (s.minimum > std::numeric_limits<double>::lowest()) text += fmt::format("from {:.15g}", s.minimum);
  if (s.maximum < std::numeric_limits<double>::max()) text += fmt::format("{}to {:.15g}", text.empty() ? "" : " ", s.maximum);
  if (known.has(kOrMinusOne)) text += ", or -1";
  return text;
}

std::string default_of(KnownSetting const& known) {
  if (known.setting.is_unset_by_default) return "(unset)";
  if (known.setting.default_text.empty()) return "(empty)";
  return fmt::format("`{}`", known.setting.default_text);
}

std::string row(KnownSetting const& known, bool with_sentence) {
  auto const& s = known.setting;
  auto text = fmt::format("| `{}` | {} | {} | {} |", s.name, type_name(s.type), default_of(known), values_of(known));
  text += fmt::format(" {} |", with_sentence ? s.sentence : s.change == SettingChange::live ? "live" : "restart");
  return text + "\n";
}

void add_section(std::string& out, std::string_view title, std::string_view sentence, Support support) {
  out += fmt::format("## {}\n\n{}\n\n| key | type | default | values | a change takes effect |\n|---|---|---|---|---|\n", title, sentence);
  for (auto const* known : known_settings()) {
    if (known->setting.name.starts_with("millrace.") || known->support != support) continue;
    out += row(*known, false);
  }
  out += '\n';
}

}  // namespace

std::string settings_reference() {
  std::string out =
      "## Millrace's own keys\n\nA change takes effect at the next start.\n\n"
      "| key | type | default | values | meaning |\n|---|---|---|---|---|\n";
  for (auto const* known : known_settings()) {
    if (known->setting.name.starts_with("millrace.")) out += row(*known, true);
  }
  out += '\n';
  add_section(out, "Kafka's keys that are served", "Their meaning is that of Kafka 4.4's own reference.", Support::served);
  add_section(out, "Kafka's keys without an effect yet",
              "They are checked as Kafka checks them; a value other than the default gives a warning.", Support::later);
  add_section(out, "Keys that mean something to a JVM only", "They are accepted with a warning.", Support::jvm_only);
  add_section(out, "Keys that are refused",
              "To ignore one of these could break what its owner relies on, so any value but the default is an error.",
              Support::refused);
  return out;
}

}  // namespace millrace::server
