#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/status_macros.h"
#include "job/keep_best_check.h"
#include "job/monitor_check.h"
#include "proto/config_reader.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

absl::StatusOr<int> print(const ConfigFlags& flags, bool with_defaults) {
  ASSIGN_OR_RETURN(const JobConfig config, load_config(FileSystem::local(), flags));
  RETURN_IF_ERROR(check_monitors(config), flags.config);
  if (config.run().checkpoint().enabled()) RETURN_IF_ERROR(check_keep_best(config), flags.config);
  std::cout << (with_defaults ? to_text_with_defaults(config) : to_text(config));
  std::cout.flush();
  return kExitFinished;
}

}  // namespace

Command add_config_command(CLI::App& program) {
  auto flags = std::make_shared<ConfigFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("config", "look at a configuration");
  command->require_subcommand(1);
  CLI::App* check = command->add_subcommand("check", "validate it and print what it comes to");
  CLI::App* defaults =
      command->add_subcommand("defaults", "the same, with every default written out");
  add_config_flags(*check, *flags);
  add_config_flags(*defaults, *flags);
  return [flags, defaults] { return print(*flags, defaults->parsed()); };
}

}  // namespace millrace
