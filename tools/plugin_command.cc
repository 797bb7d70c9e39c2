#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "base/status_macros.h"
#include "plugin/plugin_report.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/plugin/plugin_report_text.h"

namespace millrace {
namespace {

struct PluginFlags {
  std::string path;
  bool json = false;
};

absl::StatusOr<int> inspect(const PluginFlags& flags) {
  ASSIGN_OR_RETURN(const PluginReport report, inspect_plugin(flags.path));
  std::cout << (flags.json ? plugin_report_json(report) : plugin_report_text(report)) << std::flush;
  return report.refusals.empty() ? kExitFinished : kExitBadData;
}

}  // namespace

Command add_plugin_command(CLI::App& program) {
  auto flags = std::make_shared<PluginFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("plugin", "look at plugins with hooks");
  command->require_subcommand(1);
  CLI::App* inspect_command = command->add_subcommand(
      "inspect",
      "what is in a plugin, and whether this program would load it; runs nothing of the plugin");
  inspect_command->add_option("FILE", flags->path, "a plugin, NAME.so")->required();
  inspect_command->add_flag("--json", flags->json, "print a JSON object");
  return [flags] { return inspect(*flags); };
}

}  // namespace millrace
