#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/status_macros.h"
#include "tools/commands.h"
#include "tools/event_report.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

absl::StatusOr<int> explain(const std::string& directory) {
  ASSIGN_OR_RETURN(const EventHistory history,
                   read_events(FileSystem::local(), join_path(directory, "events.jsonl")));
  std::cout << event_report(history) << std::flush;
  return kExitFinished;
}

}  // namespace

Command add_explain_command(CLI::App& program) {
  auto directory = std::make_shared<std::string>();  // shared with the parser's callbacks
  CLI::App* command =
      program.add_subcommand("explain", "tell what the runs of an output directory did and why");
  command->add_option("OUTPUT_DIR", *directory, "output directory of a run")->required();
  return [directory] { return explain(*directory); };
}

}  // namespace millrace
