// The command line of `millrace`. Parsing is here; what the commands do is in their own files.
#include <CLI/CLI.hpp>

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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Millrace: a streaming log server that speaks the Kafka protocol", "millrace");
  app.require_subcommand(1);
  int exit_code = 0;
  add_serve(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error);
  }
  return exit_code;
}
