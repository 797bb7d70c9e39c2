#include "tools/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/signals/signals.h"
#include "tools/command_end.h"
#include "tools/commands.h"
#include "tools/doctor/version_text.h"
#include "tools/exit_code.h"
#include "tools/output/run_summary.h"
#include "tools/usage/command_line.h"

namespace millrace {
namespace {

int fail_usage(const CLI::App& program, const CLI::ParseError& error,
               const std::vector<std::string>& arguments) {
  const UsageError usage = explain_usage_error(program, error, arguments);
  Summary summary;
  summary.error = usage.message;
  SummaryFile(FileSystem::local(), usage.summary, /*overwrite=*/false)
      .write(summary_json(summary))
      .IgnoreError();
  return report_outcome(absl::InvalidArgumentError(usage.message));
}

int run_command(CLI::App& program, int argc, char** argv, const RankListener& listener) {
  std::vector<std::pair<CLI::App*, Command>> commands;
  const auto add = [&](auto adder) {
    Command command = adder(program);
    commands.emplace_back(program.get_subcommands({}).back(), std::move(command));
  };
  add([&](CLI::App& app) { return add_train_command(app, listener); });
  add([&](CLI::App& app) { return add_evaluate_command(app, listener); });
  add([&](CLI::App& app) { return add_predict_command(app, listener); });
  add(add_export_command);
  add(add_publish_command);
  add(add_rewind_command);
  add(add_serve_command);
  add(add_generate_command);
  add(add_checkpoint_command);
  add(add_config_command);
  add(add_data_command);
  add(add_hooks_command);
  add(add_list_command);
  add(add_plugin_command);
  add(add_explain_command);
  add(add_status_command);
  add(add_bench_command);
  add(add_launch_command);
  add(add_doctor_command);
  add(add_completion_command);
  read_whole_numbers_strictly(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help
    return fail_usage(program, error, {argv + 1, argv + argc});
  }
  for (const auto& [app, command] : commands) {
    if (!app->parsed()) continue;
    const ExitGuard guard;
    return report_outcome(command());
  }
  return kExitUsage;
}

}  // namespace

int run_program(int argc, char** argv, const RankListener& listener) {
  ignore_write_signals();
  initialize_logging(argv[0]);
  // Under `bazel run`, paths are relative to the user's working directory.
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && ::chdir(directory) != 0) {
    return report_outcome(absl::NotFoundError(std::string("cannot enter ") + directory));
  }
  CLI::App program("Trains recommendation models.", "millrace");
  program.require_subcommand(1);
  program.set_version_flag("--version", version_text, "Print the version and what it was built of");
  return report_outcome(catch_exceptions(
      [&]() -> absl::StatusOr<int> { return run_command(program, argc, argv, listener); }));
}

}  // namespace millrace
