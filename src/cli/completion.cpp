// Completion scripts for shells and the reference in Markdown: both are the tree of commands, written in another way.
#include <functional>

#include "output.h"

namespace millrace::cli {
namespace {

using Option = CommandTree::Option;
using Visit = std::function<void(std::string const& path, CommandTree const& command)>;

// The whole tree, `millrace` first. A path is the words up to a command.
void walk(CommandTree const& command, std::string const& path, Visit const& visit) {
  visit(path, command);
  for (auto const& child : command.commands) walk(child, path + " " + child.name, visit);
}

std::string join(std::vector<std::string> const& words, std::string_view separator) {
  std::string text;
  for (auto const& word : words) text += fmt::format("{}{}", text.empty() ? "" : separator, word);
  return text;
}

std::string replaced(std::string_view text, char what, std::string_view with) {
  std::string out;
  for (char const c : text) {
    if (c == what)
      out += with;
    else
      out += c;
  }
  return out;
}

// In single quotes of bash and zsh.
std::string quoted(std::string_view text) { return "'" + replaced(text, '\'', "'\\''") + "'"; }
std::string fish_quoted(std::string_view text) {
  return "'" + replaced(replaced(text, '\\', "\\\\"), '\'', "\\'") + "'";
}

// "PATH WORD" patterns of a shell's case, for a command's subcommands or for an option that takes a value.
std::string patterns(std::string const& path, std::vector<std::string> const& words) {
  std::vector<std::string> all;
  for (auto const& word : words) all.push_back("\"" + path + " " + word + "\"");
  return join(all, "|");
}
std::vector<std::string> names_of(std::vector<CommandTree> const& commands) {
  std::vector<std::string> names;
  for (auto const& command : commands) names.push_back(command.name);
  return names;
}

// The lines of a case that follow the words typed so far down the tree.
std::string descent(CommandTree const& tree, std::string_view line) {
  std::string text;
  walk(tree, tree.name, [&](std::string const& path, CommandTree const& command) {
    if (!command.commands.empty()) text += fmt::format(fmt::runtime(line), patterns(path, names_of(command.commands)));
  });
  return text;
}

void print_bash(CommandTree const& tree) {
  std::string values;
  std::string words;
  walk(tree, tree.name, [&](std::string const& path, CommandTree const& command) {
    auto all = names_of(command.commands);
    for (auto const& option : command.options) {
      if (option.names.empty()) all.insert(all.end(), option.choices.begin(), option.choices.end());
      for (auto const& name : option.names) all.push_back(name);
      if (option.names.empty() || option.value.empty()) continue;
      auto const reply = !option.choices.empty()
                             ? fmt::format("compgen -W \"{}\" -- \"$word\"", join(option.choices, " "))
                         : option.takes_file ? std::string("compgen -f -- \"$word\"")
                                             : std::string();
      values += fmt::format("    {}) {}return ;;\n", patterns(path, option.names),
                            reply.empty() ? "" : fmt::format("mapfile -t COMPREPLY < <({}); ", reply));
    }
    words += fmt::format("    \"{}\") words=\"{}\" ;;\n", path, join(all, " "));
  });
  fmt::print(
      "# Completion of millrace for bash: source <(millrace completion bash)\n"
      "_millrace() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\" at=millrace words=\"\" i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$at ${{COMP_WORDS[i]}}\" in\n{}    esac\n"
      "  done\n"
      "  case \"$at $before\" in\n{}  esac\n"
      "  case \"$at\" in\n{}  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      "}}\n"
      "complete -o default -F _millrace millrace\n",
      descent(tree, "      {}) at=\"$at ${{COMP_WORDS[i]}}\" ;;\n"), values, words);
}

void print_zsh(CommandTree const& tree) {
  std::string values;
  std::string words;
  auto const described = [](std::string_view word, std::string_view sentence) {
    return quoted(replaced(word, ':', "\\:") + ":" + std::string(sentence));
  };
  walk(tree, tree.name, [&](std::string const& path, CommandTree const& command) {
    std::vector<std::string> commands;
    std::vector<std::string> options;
    for (auto const& child : command.commands) commands.push_back(described(child.name, child.sentence));
    for (auto const& option : command.options) {
      if (option.names.empty()) {
        for (auto const& choice : option.choices) commands.push_back(described(choice, option.sentence));
        if (option.takes_file) values += fmt::format("    \"{} \"*) [[ $words[CURRENT] != -* ]] && _files ;|\n", path);
      }
      for (auto const& name : option.names) options.push_back(described(name, option.sentence));
      if (option.names.empty() || option.value.empty()) continue;
      auto const reply = !option.choices.empty() ? fmt::format("compadd -- {}; ", join(option.choices, " "))
                         : option.takes_file     ? std::string("_files; ")
                                                 : std::string();
      values += fmt::format("    {}) {}return ;;\n", patterns(path, option.names), reply);
    }
    words += fmt::format("    \"{}\") commands=({}) options=({}) ;;\n", path, join(commands, " "), join(options, " "));
  });
  fmt::print(
      "#compdef millrace\n"
      "# Completion of millrace for zsh: source <(millrace completion zsh), or a file _millrace in a folder of "
      "$fpath.\n"
      "_millrace() {{\n"
      "  local at=millrace i\n"
      "  local -a commands options\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$at $words[i]\" in\n{}    esac\n"
      "  done\n"
      "  case \"$at $words[CURRENT-1]\" in\n{}  esac\n"
      "  case \"$at\" in\n{}  esac\n"
      "  (( $#commands )) && _describe -t commands command commands\n"
      "  (( $#options )) && _describe -o -t options option options\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _millrace ]; then _millrace \"$@\"; else compdef _millrace millrace; fi\n",
      descent(tree, "      {}) at=\"$at $words[i]\" ;;\n"), values, words);
}

void print_fish(CommandTree const& tree) {
  std::string lines;
  std::string cases;
  walk(tree, tree.name, [&](std::string const& path, CommandTree const& command) {
    auto const condition =
        fmt::format("complete -c millrace -n {}", fish_quoted(fmt::format("__millrace_at \"{}\"", path)));
    for (auto const& child : command.commands) {
      cases += fmt::format(" \"{} {}\"", path, child.name);
      lines += fmt::format("{} -f -a {} -d {}\n", condition, child.name, fish_quoted(child.sentence));
    }
    for (auto const& option : command.options) {
      auto const choices = option.choices.empty() ? "" : fmt::format(" -a {}", fish_quoted(join(option.choices, " ")));
      if (option.names.empty()) {
        if (!option.choices.empty())
          lines += fmt::format("{} -f{} -d {}\n", condition, choices, fish_quoted(option.sentence));
        else if (option.takes_file)
          lines += fmt::format("{} -F\n", condition);
        continue;
      }
      std::string names;
      for (auto const& name : option.names) {
        names += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
      }
      auto const value = option.value.empty() ? "" : option.takes_file ? " -r -F" : " -x";
      lines += fmt::format("{}{}{}{} -d {}\n", condition, names, value, choices, fish_quoted(option.sentence));
    }
  });
  fmt::print(
      "# Completion of millrace for fish: millrace completion fish | source\n"
      "function __millrace_at\n"
      "    set -l at millrace\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        switch \"$at $word\"\n"
      "            case{}\n"
      "                set at \"$at $word\"\n"
      "        end\n"
      "    end\n"
      "    test \"$at\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c millrace -f\n{}",
      cases, lines);
}

std::string usage_of(std::string const& path, CommandTree const& command) {
  auto text = path;
  for (auto const& option : command.options) {
    if (option.names.empty()) text += " " + option.value;
  }
  return text;
}

}  // namespace

int print_completion(CommandTree const& tree, std::string_view shell) {
  if (shell == "bash")
    print_bash(tree);
  else if (shell == "zsh")
    print_zsh(tree);
  else
    print_fish(tree);
  return kOk;
}

int print_reference(CommandTree const& tree) {
  auto const print_option = [](Option const& option) {
    auto name = option.names.empty() ? option.value : join(option.names, ", ");
    if (!option.names.empty() && !option.value.empty()) name += " " + option.value;
    fmt::print("| `{}` | {}{} |\n", replaced(name, '|', "\\|"), replaced(option.sentence, '|', "\\|"),
               option.choices.empty() ? "" : fmt::format(": {}", join(option.choices, ", ")));
  };
  constexpr auto kHead = "| option | meaning |\n|---|---|\n";
  std::map<std::string, Option const*> common;
  walk(tree, tree.name, [&](std::string const&, CommandTree const& command) {
    for (auto const& option : command.options) {
      if (option.is_common) common.emplace(option.names.back(), &option);
    }
  });
  fmt::print("Every command has `--help`; those that ask a cluster have all of these:\n\n{}", kHead);
  for (auto const& [name, option] : common) print_option(*option);
  fmt::print("\n");
  walk(tree, tree.name, [&](std::string const& path, CommandTree const& command) {
    if (!command.commands.empty()) return;
    fmt::print("### `{}`\n\n{}.\n\n", usage_of(path, command), command.sentence);
    bool is_first = true;
    for (auto const& option : command.options) {
      if (option.is_common) continue;
      if (is_first) fmt::print("{}", kHead);
      is_first = false;
      print_option(option);
    }
    if (!is_first) fmt::print("\n");
  });
  return kOk;
}

}  // namespace millrace::cli
