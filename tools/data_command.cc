#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/status_macros.h"
#include "io/look/data_look.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/look/look_flags.h"
#include "tools/look/look_report.h"

namespace millrace {
namespace {

struct DataFlags : LookFlags {
  bool json = false;
};

absl::StatusOr<int> run_data(const DataFlags& flags) {
  ASSIGN_OR_RETURN(const LookOptions options, look_options(flags));
  ASSIGN_OR_RETURN(const DataLook look, look_at_data(FileSystem::local(), options));
  std::cout << (flags.json ? look_json(look) : look_text(look)) << std::flush;
  return kExitFinished;
}

}  // namespace

Command add_data_command(CLI::App& program) {
  auto flags = std::make_shared<DataFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand(
      "data", "print what is in files of data: schema, statistics, label rate, leakage");
  add_look_flags(*command, *flags);
  command->add_flag("--json", flags->json, "print a JSON object");
  return [flags] { return run_data(*flags); };
}

}  // namespace millrace
