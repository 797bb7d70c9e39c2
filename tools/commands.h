// The subcommands of the millrace program. Each function adds a subcommand to the command line and
// returns its implementation: a function from the parsed flags to the exit code, which prints
// errors.
#ifndef MILLRACE_TOOLS_COMMANDS_H_
#define MILLRACE_TOOLS_COMMANDS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "tools/cli.h"

namespace CLI {
class App;
}

namespace millrace {

// Returns: the exit code of a success (0, or 75 after a stop by signal), or the error.
using Command = std::function<absl::StatusOr<int>()>;

Command add_train_command(CLI::App& program, const RankListener& listener);
Command add_evaluate_command(CLI::App& program, const RankListener& listener);
Command add_predict_command(CLI::App& program, const RankListener& listener);
Command add_export_command(CLI::App& program);
Command add_generate_command(CLI::App& program);
Command add_checkpoint_command(CLI::App& program);
Command add_config_command(CLI::App& program);
Command add_data_command(CLI::App& program);
Command add_hooks_command(CLI::App& program);
Command add_list_command(CLI::App& program);
Command add_plugin_command(CLI::App& program);
Command add_explain_command(CLI::App& program);
Command add_status_command(CLI::App& program);
Command add_publish_command(CLI::App& program);
Command add_rewind_command(CLI::App& program);
Command add_serve_command(CLI::App& program);
Command add_bench_command(CLI::App& program);
Command add_launch_command(CLI::App& program);
Command add_doctor_command(CLI::App& program);
Command add_completion_command(CLI::App& program);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_COMMANDS_H_
