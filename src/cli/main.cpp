// The command line of `millrace`. Parsing is here; what the commands do is in their own files.
#include <CLI/CLI.hpp>

#include "millrace/cli/commands.h"
#include "millrace/server/server.h"

namespace {

using namespace millrace;

void add_serve(CLI::App& app, int& exit_code) {
  auto* const command = app.add_subcommand("serve", "Run a node");
  auto const options = std::make_shared<server::ServeOptions>();
  command->add_option("-c,--config", options->config_file, "server.properties or a .yaml file")->check(CLI::ExistingFile);
  command->add_option("-o,--override", options->overrides, "key=value; wins over the file and the environment")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--check-config", options->only_check, "Check the configuration and stop");
  command->callback([options, &exit_code] { exit_code = server::serve(*options); });
}

void add_cluster(CLI::App& command, cli::ClusterOptions& options) {
  command.add_option("-b,--bootstrap", options.bootstrap, "HOST:PORT[,HOST:PORT...] of any broker")->capture_default_str();
  command.add_option("--timeout-ms", options.timeout_ms, "Give up on a request after this long")
      ->check(CLI::Range(int64_t{1}, int64_t{3'600'000}))
      ->capture_default_str();
  command.add_flag("--json", options.as_json, "Print JSON");
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

void add_topic(CLI::App& app, int& exit_code) {
  auto* const topic = app.add_subcommand("topic", "Create, list, describe and delete topics");
  topic->require_subcommand(1);
  {
    auto [command, options] = add_command(*topic, "create", "Create topics", exit_code, cli::create_topics);
    command->add_option("name", options->names, "Names")->required();
    command->add_option("-p,--partitions", options->partition_count, "Partitions (default: the broker's)")
        ->check(CLI::PositiveNumber);
    command->add_option("-r,--replication-factor", options->replication_factor, "Replicas (default: the broker's)")
        ->check(CLI::PositiveNumber);
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
}

void add_produce(CLI::App& app, int& exit_code) {
  auto [command, options] = add_command(app, "produce", "Write lines as records", exit_code, cli::produce);
  command->add_option("topic", options->topic, "Topic")->required();
  command->add_option("-f,--file", options->file, "Read lines from here instead of standard input");
  command->add_option("-p,--partition", options->partition, "Partition (default: by key, else in turn)")->check(CLI::NonNegativeNumber);
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
  command->add_option("-n,--count", options->record_count_max, "Stop after so many records")->check(CLI::NonNegativeNumber);
  command->add_flag("-e,--stop-at-end", options->stop_at_end, "Stop where the log ended when the command began");
  command->add_flag("--read-committed", options->read_committed, "Skip records of open and aborted transactions");
  command->add_option("-k,--key-separator", options->key_separator, "Print the key and this before the value");
}

void add_log(CLI::App& app, int& exit_code) {
  auto* const log = app.add_subcommand("log", "Look at the files of a log directory");
  log->require_subcommand(1);
  auto [command, options] = add_command(*log, "dump", "Print log, index and snapshot files as JSON", exit_code, cli::dump_log);
  command->add_option("file", options->files, "Files")->required();
  command->add_option("--payload", options->payload,
                      "text, cluster-metadata, offsets, transactions or share-state (default: by the directory's name)");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Millrace: a streaming log server that speaks the Kafka protocol", "millrace");
  app.require_subcommand(1);
  int exit_code = 0;
  add_serve(app, exit_code);
  add_topic(app, exit_code);
  add_produce(app, exit_code);
  add_consume(app, exit_code);
  add_log(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error);
  }
  return exit_code;
}
