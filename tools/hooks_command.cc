#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/status_macros.h"
#include "job/hook_descriptions.h"
#include "tools/commands.h"
#include "tools/exit_code.h"

namespace millrace {

Command add_hooks_command(CLI::App& program) {
  auto name = std::make_shared<std::string>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("hooks", "tell which hooks there are");
  command->require_subcommand(1);
  command->add_subcommand("list", "the default hooks and those of `list hook`, one line each");
  CLI::App* describe =
      command->add_subcommand("describe", "what a hook does and how it is configured");
  describe->add_option("NAME", *name, "a hook, as hooks list names it")->required();
  return [name, describe]() -> absl::StatusOr<int> {
    std::string text = list_hooks();
    if (describe->parsed()) {
      ASSIGN_OR_RETURN(text, describe_hook(*name));
    }
    std::cout << text << std::flush;
    return kExitFinished;
  };
}

}  // namespace millrace
