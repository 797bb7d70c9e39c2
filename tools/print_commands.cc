// Subcommands that print facts, and change nothing. They share a file because each has few lines.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "io/look/data_look.h"
#include "job/hook_descriptions.h"
#include "plugin/plugin_report.h"
#include "tools/commands.h"
#include "tools/completion/shell_completion.h"
#include "tools/doctor/diagnosis.h"
#include "tools/doctor/version_text.h"
#include "tools/event_report.h"
#include "tools/exit_code.h"
#include "tools/look/look_flags.h"
#include "tools/look/look_report.h"
#include "tools/parts/part_list.h"
#include "tools/plugin/plugin_report_text.h"
#include "tools/status/run_status.h"

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

struct DoctorFlags {
  std::string output_dir = ".";
  bool json = false;
};

int examine(const DoctorFlags& flags) {
  const std::vector<Finding> findings = diagnose(read_machine(flags.output_dir));
  if (flags.json) {
    std::cout << diagnosis_json(findings) << std::flush;
  } else {
    std::cout << version_text() << "\n\n" << diagnosis_text(findings) << std::flush;
  }
  return kExitFinished;
}

absl::StatusOr<int> explain_runs(const std::string& directory) {
  ASSIGN_OR_RETURN(const EventHistory history,
                   read_event_history(FileSystem::local(), join_path(directory, "events.jsonl")));
  std::cout << event_report(history) << std::flush;
  return kExitFinished;
}

struct StatusFlags {
  std::string directory;
  bool json = false;
};

absl::StatusOr<int> print_status(const StatusFlags& flags) {
  ASSIGN_OR_RETURN(const RunStatus status,
                   read_run_status(ObjectFiles::process(), flags.directory, Clock::real().now()));
  std::cout << (flags.json ? run_status_json(status) : run_status_text(status)) << std::flush;
  return kExitFinished;
}

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

Command add_data_command(CLI::App& program) {
  auto flags = std::make_shared<DataFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand(
      "data", "print what is in files of data: schema, statistics, label rate, leakage");
  add_look_flags(*command, *flags);
  command->add_flag("--json", flags->json, "print a JSON object");
  return [flags] { return run_data(*flags); };
}

Command add_doctor_command(CLI::App& program) {
  auto flags = std::make_shared<DoctorFlags>();  // shared with the parser's callbacks
  CLI::App* command =
      program.add_subcommand("doctor", "tell what this machine has and what slows jobs on it");
  command->add_option("--output_dir", flags->output_dir, "directory whose disk is looked at [.]");
  command->add_flag("--json", flags->json, "print one JSON object");
  return [flags]() -> absl::StatusOr<int> { return examine(*flags); };
}

Command add_explain_command(CLI::App& program) {
  auto directory = std::make_shared<std::string>();  // shared with the parser's callbacks
  CLI::App* command =
      program.add_subcommand("explain", "tell what the runs of an output directory did and why");
  command->add_option("OUTPUT_DIR", *directory, "output directory of a run")->required();
  return [directory] { return explain_runs(*directory); };
}

Command add_status_command(CLI::App& program) {
  auto flags = std::make_shared<StatusFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand(
      "status", "tell whether the run of an output directory is running, and what it does");
  command->add_option("OUTPUT_DIR", flags->directory, "output directory of a run")->required();
  command->add_flag("--json", flags->json, "print one JSON object");
  return [flags] { return print_status(*flags); };
}

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
