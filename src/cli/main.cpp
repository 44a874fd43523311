// The command line of `millrace`. Parsing is here; what the commands do is in their own files.
#include <CLI/CLI.hpp>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include <unistd.h>

#include "millrace/cli/commands.h"
#include "millrace/server/server.h"
#include "millrace/server/settings.h"

namespace {

using namespace millrace;

// CLI11's own checks print their bounds as doubles with 300 digits, and call a file that may not be read missing.
CLI::Validator at_least(int64_t least, std::string name) {
  return {[least](std::string& text) {
            int64_t value{};
            auto const* const end = text.data() + text.size();
            auto const [stop, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc{} && stop == end && value >= least) return std::string{};
            return fmt::format("{} is no whole number from {} on", server::shown(text), least);
          },
          std::move(name)};
}

CLI::Validator readable_file() {
  return {[](std::string& path) {
            std::error_code ignored;
            if (std::filesystem::is_directory(path, ignored)) return fmt::format("{}: it is a directory", server::shown(path));
            if (::access(path.c_str(), R_OK) == 0) return std::string{};
            return fmt::format("{}: {}", server::shown(path), std::strerror(errno));
          },
          "FILE"};
}

void add_serve(CLI::App& app, int& exit_code) {
  auto* const command = app.add_subcommand("serve", "Run a node");
  auto const options = std::make_shared<server::ServeOptions>();
  command->add_option("-c,--config", options->config_file, "server.properties or a .yaml file")->check(readable_file());
  command->add_option("-o,--override", options->overrides, "key=value; wins over the file and the environment")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--check-config", options->only_check, "Check the configuration and stop");
  command->callback([options, &exit_code] { exit_code = server::serve(*options); });
}

constexpr auto kClusterOptions = "Cluster";  // their heading in the help

void add_cluster(CLI::App& command, cli::ClusterOptions& options) {
  command.add_option("-b,--bootstrap", options.bootstrap, "HOST:PORT[,HOST:PORT...] of any broker (default: localhost:9092)")
      ->envname("MILLRACE_BOOTSTRAP")
      ->group(kClusterOptions);
  command.add_option("--command-config", options.properties_file, "Kafka's client properties")
      ->check(readable_file())
      ->group(kClusterOptions);
  command.add_option("--timeout-ms", options.timeout_ms, "Give up on a request after this long (default: 30000)")
      ->check(CLI::Range(int64_t{1}, int64_t{3'600'000}))
      ->group(kClusterOptions);
  command.add_flag("--json", options.as_json, "Print JSON")->group(kClusterOptions);
}

// A subcommand whose options are `Options` and whose work is `run`.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> add_command(CLI::App& parent, std::string const& name,
                                                           std::string const& sentence, int& exit_code,
                                                           int (*run)(Options const&)) {
  auto* const command = parent.add_subcommand(name, sentence);
  auto options = std::make_shared<Options>();
  if constexpr (requires { options->cluster; }) add_cluster(*command, options->cluster);
  command->callback([options, run, &exit_code] { exit_code = run(*options); });
  return {command, options};
}

// An option that takes one value each time it is given.
CLI::Option* add_repeated(CLI::App& command, std::string const& name, std::vector<std::string>& values, std::string const& sentence) {
  return command.add_option(name, values, sentence)->allow_extra_args(false)->take_all();
}

// Commands that ask Millrace nodes over HTTP, for what the Kafka protocol has no words for.
template <class Options>
void add_admin(CLI::App& command, Options& options) {
  add_repeated(command, "-a,--admin", options.admin, "HOST:PORT of a node's admin listener, may be repeated (default: 127.0.0.1:9644)")
      ->envname("MILLRACE_ADMIN")
      ->group(kClusterOptions);
  command.add_option("--timeout-ms", options.timeout_ms, "Give up on a node after this long (default: 30000)")
      ->check(CLI::Range(int64_t{1}, int64_t{3'600'000}))
      ->group(kClusterOptions);
  command.add_flag("--json", options.as_json, "Print JSON")->group(kClusterOptions);
}

void add_topic_changes(CLI::App& topic, int& exit_code) {
  {
    auto [command, options] = add_command(topic, "alter", "Change settings, add partitions", exit_code, cli::alter_topics);
    command->add_option("name", options->names, "Names")->required();
    command->add_option("-p,--partitions", options->partition_count, "Have so many partitions; there is no way back")->check(at_least(1, "POSITIVE"));
    add_repeated(*command, "--config", options->configs, "KEY=VALUE, may be repeated");
    add_repeated(*command, "--delete-config", options->configs_deleted, "KEY that falls back to its default, may be repeated");
    command->add_flag("--validate-only", options->only_validate, "Check, change nothing");
  }
  {
    auto [command, options] = add_command(topic, "offsets", "Show earliest and latest offsets, or those of a time", exit_code, cli::list_topic_offsets);
    command->add_option("name", options->names, "Names (default: all)");
    command->add_option("-p,--partition", options->partitions, "Partitions (default: all)")->delimiter(',');
    command->add_option("--at", options->at,
                        "earliest, latest, max-timestamp, earliest-local, latest-tiered, earliest-pending-upload, "
                        "@MILLISECONDS since 1970, or a time like 2026-11-29T10:20:30Z");
    command->add_flag("--read-committed", options->read_committed, "The latest offset is before the first open transaction");
  }
}

void add_topic(CLI::App& app, int& exit_code) {
  auto* const topic = app.add_subcommand("topic", "Create, list, describe, alter and delete topics; their offsets");
  topic->require_subcommand(1);
  {
    auto [command, options] = add_command(*topic, "create", "Create topics", exit_code, cli::create_topics);
    command->add_option("name", options->names, "Names")->required();
    command->add_option("-p,--partitions", options->partition_count, "Partitions (default: the broker's)")
        ->check(at_least(1, "POSITIVE"));
    command->add_option("-r,--replication-factor", options->replication_factor, "Replicas (default: the broker's)")
        ->check(at_least(1, "POSITIVE"));
    command->add_option("--config", options->configs, "KEY=VALUE, may be repeated")->allow_extra_args(false)->take_all();
    command->add_flag("--validate-only", options->only_validate, "Check, create nothing");
    command->add_flag("--if-not-exists", options->may_exist, "A topic that is there already is no error");
  }
  {
    auto [command, options] = add_command(*topic, "list", "List topics", exit_code, cli::list_topics);
    command->add_flag("--internal", options->with_internal, "Also the cluster's own topics");
  }
  {
    auto [command, options] = add_command(*topic, "describe", "Show partitions, leaders and replicas", exit_code, cli::describe_topics);
    command->add_option("name", options->names, "Names (default: all)");
  }
  {
    auto [command, options] = add_command(*topic, "delete", "Delete topics and their records", exit_code, cli::delete_topics);
    command->add_option("name", options->names, "Names")->required();
    command->add_flag("--if-exists", options->may_be_missing, "A topic that is not there is no error");
  }
  {
    auto [command, options] = add_command(*topic, "hot", "Where the load is: rates, skew and the heaviest keys; asks Millrace nodes", exit_code,
                                          cli::show_hot_topics);
    command->add_option("name", options->name, "Name (default: all that carry anything)");
    command->add_option("-n,--partitions", options->partition_count_max, "Show so many partitions of each topic (default: 10)")
        ->check(at_least(1, "POSITIVE"));
    add_admin(*command, *options);
  }
  add_topic_changes(*topic, exit_code);
}

void add_group_reset(CLI::App& group, int& exit_code) {
  auto [command, options] = add_command(group, "reset", "Move committed offsets; shows what would change unless --execute is given",
                                        exit_code, cli::reset_group);
  command->add_option("name", options->name, "Name")->required();
  add_repeated(*command, "-t,--topic", options->topics, "TOPIC or TOPIC:0,1, may be repeated");
  command->add_flag("--all-topics", options->all_topics, "Each partition that has a committed offset");
  command->add_option("--to", options->to, "earliest, latest, current, an offset, @MILLISECONDS since 1970, or a time like 2026-11-29T10:20:30Z");
  command->add_option("--back", options->back, "To the first record of this length of time: 90s, 15m, 2h, 1d, PT2H");
  command->add_option("--shift", options->shift, "So many offsets on, or back where negative");
  command->add_option("--from-file", options->file, "To the offsets of TOPIC,PARTITION,OFFSET lines")->check(readable_file());
  command->add_flag("--csv", options->as_csv, "Print such lines");
  command->add_flag("--dry-run", options->is_dry_run, "Change nothing; this is so without --execute");
  command->add_flag("--execute", options->execute, "Commit the offsets");
}

void add_group(CLI::App& app, int& exit_code) {
  auto* const group = app.add_subcommand("group", "List, describe, reset and delete groups of consumers");
  group->require_subcommand(1);
  {
    auto [command, options] = add_command(*group, "list", "List groups", exit_code, cli::list_groups);
    command->add_option("--state", options->states, "Only groups in these states")
        ->delimiter(',')
        ->check(CLI::IsMember({"Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Stable", "NotReady", "Dead"},
                              CLI::ignore_case));
    command->add_option("--type", options->types, "Only groups of these types")
        ->delimiter(',')
        ->check(CLI::IsMember({"classic", "consumer", "share", "streams"}, CLI::ignore_case));
  }
  {
    auto [command, options] = add_command(*group, "describe", "Show committed offsets and lag, or members", exit_code, cli::describe_groups);
    command->add_option("name", options->names, "Names (default: all)");
    auto* const members = command->add_flag("-m,--members", options->with_members, "Show members and what they own");
    command->add_flag("-s,--state", options->only_state, "Show one line for each group")->excludes(members);
  }
  {
    auto [command, options] = add_command(*group, "lag", "How far groups are behind, in records and in seconds; asks Millrace nodes", exit_code,
                                          cli::show_group_lag);
    command->add_option("name", options->name, "Name (default: all)");
    command->add_flag("--stuck", options->only_stuck, "Only where the lag grows and nothing is committed");
    add_admin(*command, *options);
  }
  {
    auto [command, options] = add_command(*group, "delete", "Delete groups without members", exit_code, cli::delete_groups);
    command->add_option("name", options->names, "Names")->required();
  }
  {
    auto [command, options] = add_command(*group, "delete-offsets", "Forget committed offsets", exit_code, cli::delete_group_offsets);
    command->add_option("name", options->name, "Name")->required();
    add_repeated(*command, "-t,--topic", options->topics, "TOPIC or TOPIC:0,1, may be repeated")->required();
  }
  add_group_reset(*group, exit_code);
}

CLI::Option* add_kind(CLI::App& command, std::string& kind) {
  return command.add_option("kind", kind, "What it belongs to")
      ->check(CLI::IsMember({"topic", "broker", "group", "logger", "client-metrics"}));
}

void add_config(CLI::App& app, int& exit_code) {
  auto* const config = app.add_subcommand("config", "Settings of topics, brokers and groups");
  config->require_subcommand(1);
  constexpr auto kName = "Name, broker id, or `default` for all brokers";
  {
    auto [command, options] = add_command(*config, "describe", "Show settings and where each comes from", exit_code, cli::describe_configs);
    add_kind(*command, options->kind)->required();
    command->add_option("name", options->name, kName)->required();
    command->add_option("key", options->keys, "Settings (default: those that are set)");
    command->add_flag("-a,--all", options->with_defaults, "Also those that are not set");
  }
  config->add_subcommand("reference", "Print every key of a node's configuration as Markdown")->callback([&exit_code] {
    fmt::print("{}", server::settings_reference());
    exit_code = cli::kOk;
  });
  {
    auto [command, options] = add_command(*config, "set", "Set settings", exit_code, cli::set_configs);
    add_kind(*command, options->kind)->required();
    command->add_option("name", options->name, kName)->required();
    command->add_option("pair", options->pairs, "KEY=VALUE");
    add_repeated(*command, "--append", options->appended, "KEY=VALUE added to a list, may be repeated");
    add_repeated(*command, "--subtract", options->subtracted, "KEY=VALUE taken from a list, may be repeated");
    command->add_flag("--validate-only", options->only_validate, "Check, change nothing");
  }
  {
    auto [command, options] = add_command(*config, "delete", "Let settings fall back to what lies below", exit_code, cli::delete_configs);
    add_kind(*command, options->kind)->required();
    command->add_option("name", options->name, kName)->required();
    command->add_option("key", options->keys, "Settings")->required();
    command->add_flag("--validate-only", options->only_validate, "Check, change nothing");
  }
  {
    auto [command, options] = add_command(*config, "list", "List what has settings", exit_code, cli::list_config_resources);
    command->add_option("kind", options->kinds, "Only of these kinds")
        ->check(CLI::IsMember({"topic", "broker", "group", "logger", "client-metrics"}));
  }
}

void add_entity(CLI::App& command, cli::QuotaEntityOptions& entity) {
  command.add_option("-u,--user", entity.user, "User");
  command.add_flag("--default-user", entity.default_user, "Users without a quota of their own");
  command.add_option("-c,--client-id", entity.client_id, "Client id");
  command.add_flag("--default-client-id", entity.default_client_id, "Client ids without a quota of their own");
  command.add_option("-i,--ip", entity.ip, "Address");
  command.add_flag("--default-ip", entity.default_ip, "Addresses without a quota of their own");
}

void add_quota(CLI::App& app, int& exit_code) {
  auto* const quota = app.add_subcommand("quota", "Rates that users, client ids and addresses may have");
  quota->require_subcommand(1);
  {
    auto [command, options] = add_command(*quota, "list", "List quotas", exit_code, cli::list_quotas);
    add_entity(*command, options->entity);
    command->add_flag("--exact", options->is_exact, "Not those for a user and a client id when only one is named");
  }
  {
    auto [command, options] = add_command(*quota, "set", "Set quotas", exit_code, cli::set_quotas);
    command->add_option("pair", options->pairs,
                        "KEY=NUMBER: producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate, "
                        "connection_creation_rate")
        ->required();
    add_entity(*command, options->entity);
    command->add_flag("--validate-only", options->only_validate, "Check, change nothing");
  }
  {
    auto [command, options] = add_command(*quota, "remove", "Remove quotas", exit_code, cli::remove_quotas);
    command->add_option("key", options->keys, "Quotas")->required();
    add_entity(*command, options->entity);
    command->add_flag("--validate-only", options->only_validate, "Check, change nothing");
  }
}

void add_cluster_commands(CLI::App& app, int& exit_code) {
  auto* const cluster = app.add_subcommand("cluster", "The cluster as a whole");
  cluster->require_subcommand(1);
  add_command(*cluster, "status", "Show counts of brokers, topics, and partitions in trouble", exit_code, cli::show_cluster_status);
  add_command(*cluster, "nodes", "List brokers", exit_code, cli::list_cluster_nodes);
  add_command(*cluster, "quorum", "Show the voters and observers of the cluster's metadata", exit_code, cli::show_quorum);
  {
    auto [command, options] = add_command(*cluster, "elect-leaders", "Give partitions back to their preferred leaders", exit_code,
                                          cli::elect_leaders);
    add_repeated(*command, "-t,--topic", options->topics, "TOPIC or TOPIC:0,1, may be repeated (default: all)");
    command->add_flag("--unclean", options->is_unclean, "Any replica that is alive, even if what others acknowledged is lost");
  }
  add_command(*cluster, "features", "List features and their levels", exit_code, cli::list_features);
}

void add_produce(CLI::App& app, int& exit_code) {
  auto [command, options] = add_command(app, "produce", "Write lines as records", exit_code, cli::produce);
  command->add_option("topic", options->topic, "Topic")->required();
  command->add_option("-f,--file", options->file, "Read lines from here instead of standard input");
  command->add_option("-p,--partition", options->partition, "Partition (default: by key, else in turn)")->check(at_least(0, "NONNEGATIVE"));
  command->add_option("-k,--key-separator", options->key_separator, "What stands before this in a line is the key");
  command->add_option("-H,--header", options->headers, "NAME=VALUE on every record, may be repeated")->allow_extra_args(false)->take_all();
  command->add_option("-z,--compression", options->codec, "none, gzip, snappy, lz4 or zstd")->capture_default_str();
  command->add_option("-a,--acks", options->acks, "-1: all in-sync replicas, 1: the leader, 0: do not wait")
      ->check(CLI::IsMember({-1, 0, 1}))
      ->capture_default_str();
  command->add_option("--batch-bytes", options->batch_bytes_max, "Send a batch once it is this large")
      ->check(CLI::Range(int64_t{1}, int64_t{64} << 20))
      ->capture_default_str();
}

void add_consume(CLI::App& app, int& exit_code) {
  auto [command, options] = add_command(app, "consume", "Print records", exit_code, cli::consume);
  command->add_option("topic", options->topic, "Topic")->required();
  command->add_option("-p,--partition", options->partitions, "Partitions (default: all)")->delimiter(',');
  command->add_option("-f,--from", options->from, "earliest, latest, an offset, or @MILLISECONDS since 1970")->capture_default_str();
  command->add_option("-n,--count", options->record_count_max, "Stop after so many records")->check(at_least(0, "NONNEGATIVE"));
  command->add_flag("-e,--stop-at-end", options->stop_at_end, "Stop where the log ended when the command began");
  command->add_flag("--read-committed", options->read_committed, "Skip records of open and aborted transactions");
  command->add_option("-k,--key-separator", options->key_separator, "Print the key and this before the value");
}

void add_log(CLI::App& app, int& exit_code) {
  auto* const log = app.add_subcommand("log", "Look at log directories and their files");
  log->require_subcommand(1);
  {
    auto [command, options] = add_command(*log, "dump", "Print log, index and snapshot files as JSON", exit_code, cli::dump_log);
    command->add_option("file", options->files, "Files")->required();
    command->add_option("--payload", options->payload,
                        "text, cluster-metadata, offsets, transactions or share-state (default: by the directory's name)");
  }
  {
    auto [command, options] = add_command(*log, "dirs", "Show the brokers' log directories and their sizes", exit_code, cli::list_log_dirs);
    command->add_option("--broker", options->nodes, "Broker ids (default: all)")->delimiter(',');
    add_repeated(*command, "-t,--topic", options->topics, "Only this topic, may be repeated");
    command->add_flag("-p,--partitions", options->with_partitions, "Show each partition");
  }
}

// What CLI11 knows of an option's value besides its type: the choices of IsMember stand in its text as {a,b}.
std::vector<std::string> choices_of(std::string const& type) {
  auto const open = type.find('{');
  auto const close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

cli::CommandTree tree_of(CLI::App const& app) {
  cli::CommandTree tree{.name = app.get_name(), .sentence = app.get_description(), .options = {}, .commands = {}};
  for (auto const* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    auto& out = tree.options.emplace_back();
    for (auto const& name : option->get_snames()) out.names.push_back("-" + name);
    for (auto const& name : option->get_lnames()) out.names.push_back("--" + name);
    auto const type = option->get_type_name();
    out.sentence = option->get_description();
    out.choices = choices_of(type);
    out.is_common = option->get_group() == kClusterOptions || option == app.get_help_ptr();
    out.takes_file = type.find("FILE") != std::string::npos || option->get_name(true) == "file";
    if (out.names.empty()) {
      auto const many = option->get_items_expected_max() > 1 ? "..." : "";
      auto const word = option->get_name(true);
      out.value = option->get_required() ? word + many : "[" + word + many + "]";
    } else if (option->get_items_expected_max() > 0) {
      out.value = out.takes_file ? "FILE" : option->get_type_size() > 0 && type.starts_with("INT") ? "NUMBER" : "VALUE";
    }
  }
  for (auto const* command : app.get_subcommands([](CLI::App const*) { return true; })) {
    if (!command->get_group().empty()) tree.commands.push_back(tree_of(*command));
  }
  return tree;
}

void add_completion(CLI::App& app, int& exit_code) {
  auto* const command = app.add_subcommand("completion", "Print a script that lets a shell complete commands and options");
  auto const shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell, &exit_code] { exit_code = cli::print_completion(tree_of(app), *shell); });
  // For docs/command-line.md.
  auto* const reference = app.add_subcommand("reference", "Print all commands as Markdown")->group("");
  reference->callback([&app, &exit_code] { exit_code = cli::print_reference(tree_of(app)); });
}

constexpr auto kVersion = "millrace " MR_VERSION " (Kafka 4.4's protocol and files)";

// Why `millrace WORD...` names no command, with what it may have meant. Only words before the first option count.
std::optional<std::string> unknown_command(CLI::App const& app, int argc, char** argv) {
  auto const* level = &app;
  std::string path = app.get_name();
  for (int i = 1; i < argc && argv[i][0] != '-' && level->get_require_subcommand_min() > 0; ++i) {
    std::string const word = argv[i];
    auto const named = level->get_subcommands([&](CLI::App const* each) { return each->get_name() == word; });
    if (!named.empty()) {
      level = named.front();
      path += " " + word;
      continue;
    }
    auto const commands = level->get_subcommands([](CLI::App const* each) { return !each->get_group().empty(); });
    auto const distance = [&](auto const* each) { return server::edit_distance(word, each->get_name()); };
    auto const nearest = std::ranges::min_element(commands, {}, distance);
    auto const is_like = nearest != commands.end() && word.size() < 100 && distance(*nearest) <= server::edit_distance_max(word);
    return fmt::format("there is no command `{} {}`{}; `{} --help` lists them", path, server::shown(word),
                       is_like ? fmt::format("; did you mean `{} {}`?", path, (*nearest)->get_name()) : "", path);
  }
  return std::nullopt;
}

// What is wrong with the arguments, and where help is, on standard error.
void print_parse_error(CLI::App const& app, CLI::ParseError const& error) {
  auto const* level = &app;
  std::string path = app.get_name();
  for (auto parsed = level->get_subcommands(); !parsed.empty(); parsed = level->get_subcommands()) {
    level = parsed.front();
    path += " " + level->get_name();
  }
  std::string what = error.what();
  // Named first: that a command or a value is missing may only follow from it.
  auto const unexpected = level->remaining();
  auto const option = std::ranges::find_if(unexpected, [](auto const& word) { return word.size() > 1 && word[0] == '-'; });
  if (option != unexpected.end()) {
    auto const name = option->substr(0, option->find('='));
    std::string nearest;
    size_t distance = server::edit_distance_max(name) + 1;
    for (auto const* each : level->get_options()) {
      for (auto const& known : each->get_lnames()) {
        auto const here = name.size() < 100 ? server::edit_distance(name, "--" + known) : distance;
        if (here < distance) std::tie(nearest, distance) = std::pair("--" + known, here);
      }
    }
    what = fmt::format("there is no option {}{}", server::shown(name), nearest.empty() ? "" : "; did you mean " + nearest + "?");
  } else if (!unexpected.empty()) {
    what = fmt::format("{} is one argument too many", server::shown(unexpected.front()));
  }
  fmt::print(stderr, "millrace: {}\n  See `{} --help`.\n", what, path);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Millrace: a streaming log server that speaks the Kafka protocol", "millrace");
  app.require_subcommand(1);
  int exit_code = 0;
  app.set_version_flag("--version", kVersion, "Print the version");
  app.add_subcommand("version", "Print the version")->callback([] { fmt::print("{}\n", kVersion); });
  add_serve(app, exit_code);
  add_topic(app, exit_code);
  add_produce(app, exit_code);
  add_consume(app, exit_code);
  add_group(app, exit_code);
  add_config(app, exit_code);
  add_quota(app, exit_code);
  add_cluster_commands(app, exit_code);
  add_log(app, exit_code);
  add_completion(app, exit_code);

  if (auto const problem = unknown_command(app, argc, argv)) {
    fmt::print(stderr, "millrace: {}\n", *problem);
    return cli::kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_parse_error(app, error);
    return cli::kUsage;
  }
  return exit_code;
}
