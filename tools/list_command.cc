#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/status_macros.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/parts/part_list.h"

namespace millrace {

Command add_list_command(CLI::App& program) {
  auto family = std::make_shared<std::string>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("list", "list the parts that jobs can name");
  command->add_option("FAMILY", *family, "one family, such as row_optimizer; default: all");
  return [family]() -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(const std::string text, list_parts(*family));
    std::cout << text << std::flush;
    return kExitFinished;
  };
}

}  // namespace millrace
