#include <cstdio>
#include <map>

#include "cluster.h"
#include "millrace/storage/dump.h"
#include "output.h"

namespace millrace::cli {

int dump_log(LogDumpOptions const& options) {
  static std::map<std::string_view, storage::PayloadFormat> const formats{
      {"text", storage::PayloadFormat::text},
      {"cluster-metadata", storage::PayloadFormat::cluster_metadata},
      {"offsets", storage::PayloadFormat::offsets},
      {"transactions", storage::PayloadFormat::transaction_log},
      {"share-state", storage::PayloadFormat::share_group_state},
  };
  auto const format = formats.find(options.payload);
  if (!options.payload.empty() && format == formats.end()) {
    print_error(fmt::format("--payload '{}' is unknown", options.payload), "Use text, cluster-metadata, offsets, transactions or share-state.");
    return kUsage;
  }
  env_os::OsEnvOptions env_options;
  env_options.reactor_count = 1;
  env_options.log_level = LogLevel::error;
  auto env = env_os::make_os_env(env_options);
  if (!env) {
    print_error(env.error().message);
    return kFailed;
  }
  int exit_code = kOk;
  for (auto const& file : options.files) {
    auto const payload = options.payload.empty() ? storage::payload_format_of(file) : format->second;
    auto const text = storage::dump_file((*env)->disk(), file, payload);
    if (!text) {
      auto const& what = text.error().message;
      print_error(what.starts_with(file) ? what : fmt::format("{}: {}", file, what),
                  "Name a .log, .index, .timeindex, .txnindex, .snapshot or .checkpoint file.");
      exit_code = kFailed;
      continue;
    }
    std::fwrite(text->data(), 1, text->size(), stdout);
    std::fputc('\n', stdout);
  }
  (*env)->stop();
  return exit_code;
}

}  // namespace millrace::cli
