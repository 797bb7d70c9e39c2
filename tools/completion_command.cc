#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/completion/shell_completion.h"
#include "tools/exit_code.h"

namespace millrace {

Command add_completion_command(CLI::App& program) {
  auto shell = std::make_shared<std::string>();  // shared with the parser's callbacks
  CLI::App* command =
      program.add_subcommand("completion", "print a script that completes commands");
  command->add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  return [shell, &program]() -> absl::StatusOr<int> {
    if (*shell == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    std::cout << bash_completion(program) << std::flush;
    return kExitFinished;
  };
}

}  // namespace millrace
