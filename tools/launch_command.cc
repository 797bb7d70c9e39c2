#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "distributed/environment/mpi_environment.h"
#include "distributed/environment/node_environment.h"
#include "tools/commands.h"
#include "tools/launch/local_ranks.h"
#include "tools/launch/node_ranks.h"

namespace millrace {
namespace {

struct LaunchFlags {
  std::optional<int> ranks;  // none: PET_NPROC_PER_NODE
  int master_port = 0;
  double grace_seconds = 10;
  int max_restarts = 0;
  std::optional<int> min_ranks;  // none: all restarts have the same number
  std::vector<std::string> command;
  std::string other_program;  // path of a program that the ranks run in place of this one; "": none
};

bool is_program(const std::string& path) {
  return !std::filesystem::is_directory(path) && ::access(path.c_str(), X_OK) == 0;
}

// Returns the path of a program that a shell would run for `command`; "" if there is none.
std::string find_program(const std::string& command) {
  if (absl::StrContains(command, '/')) return is_program(command) ? command : "";
  const char* folders = std::getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(folders != nullptr ? folders : "", ':')) {
    const std::string path = absl::StrCat(folder.empty() ? "." : folder, "/", command);
    if (is_program(path)) return path;
  }
  return "";
}

// More processes than any machine can use indicate a typing mistake.
constexpr int kMostRanks = 1024;

// Errors: FailedPrecondition if another launcher started this process as one of several ranks, each
// of which would start the same job.
absl::Status check_outer_launcher(const LaunchFlags& flags) {
  if (is_node_process(process_variable)) return absl::OkStatus();
  const char* variable = "RANK";
  std::string remedy = "unset RANK, or ";
  if (!process_variable(variable)) {
    ASSIGN_OR_RETURN(std::optional<MpiEnvironment> mpi, read_mpi_environment(process_variable));
    if (!mpi || mpi->world_size == 1) return absl::OkStatus();
    variable = mpi->rank_variable;
    remedy = "";
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "launch: ", variable, " is set to ", *process_variable(variable),
      ", so this process is a rank of another launcher already; ", remedy, "leave `launch",
      flags.ranks ? absl::StrCat(" -n ", *flags.ranks) : "", " --` out"));
}

absl::Status check_launch_flags(const LaunchFlags& flags) {
  if (flags.ranks && (*flags.ranks < 1 || *flags.ranks > kMostRanks)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "-n ", *flags.ranks, ": give the number of ranks on this machine, 1 to ", kMostRanks));
  }
  if (flags.master_port < 0 || flags.master_port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("--master_port ", flags.master_port, ": a port lies in 1 to 65535"));
  }
  if (!(flags.grace_seconds >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--grace_seconds ", flags.grace_seconds, ": give 0 or more"));
  }
  if (flags.max_restarts < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max_restarts ", flags.max_restarts, ": give 0 or more"));
  }
  if (flags.command.empty()) {
    return absl::InvalidArgumentError(
        "launch: there is no command; put it behind --, as in: millrace launch -n 2 -- train "
        "CONFIG");
  }
  if (flags.command[0] == "launch") {
    return absl::InvalidArgumentError("launch: a rank cannot launch ranks itself");
  }
  return check_outer_launcher(flags);
}

// Checks flags and PET_* together.
absl::Status check_node_ranks(const LaunchFlags& flags, const NodeRanks& ranks) {
  if (ranks.world_size > kMostRanks) {
    return absl::InvalidArgumentError(
        absl::StrCat("launch: PET_NNODES and PET_NPROC_PER_NODE or -n make ", ranks.world_size,
                     " ranks; a job has at most ", kMostRanks));
  }
  std::string command = flags.command[0];
  if (command == "config" && flags.command.size() > 1) {
    absl::StrAppend(&command, " ", flags.command[1]);
  }
  for (const char* single :
       {"checkpoint", "completion", "config diff", "config init", "config plot", "data", "doctor",
        "explain", "export", "generate", "hooks", "list", "plugin", "serve", "status"}) {
    if (command == single && ranks.world_size > 1) {
      return absl::InvalidArgumentError(absl::StrCat("launch: ", single,
                                                     " runs in one process, and ", ranks.world_size,
                                                     " would do the same; leave `launch --` out"));
    }
  }
  if (flags.min_ranks && (*flags.min_ranks < 1 || *flags.min_ranks > ranks.count)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--min_ranks ", *flags.min_ranks, ": give 1 to the number of ranks, ", ranks.count));
  }
  if (flags.min_ranks && flags.max_restarts == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--min_ranks ", *flags.min_ranks, ": give --max_restarts, too"));
  }
  if (flags.max_restarts > 0 && ranks.world_size > ranks.count) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max_restarts ", flags.max_restarts,
                     ": other nodes have ranks, too (PET_NNODES), which this launcher cannot start "
                     "again; let the operator or scheduler restart all nodes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> run_launch(const LaunchFlags& flags) {
  RETURN_IF_ERROR(check_launch_flags(flags));
  NodeFlags node_flags{.ranks_per_node = flags.ranks};
  if (flags.master_port != 0) node_flags.master_port = flags.master_port;
  ASSIGN_OR_RETURN(NodeRanks ranks, read_node_ranks(process_variable, node_flags));
  RETURN_IF_ERROR(check_node_ranks(flags, ranks));
  LocalRanksOptions options;
  if (!flags.other_program.empty()) options.program = flags.other_program;
  if (flags.other_program.empty()) options.arguments = {"millrace"};
  options.arguments.insert(options.arguments.end(), flags.command.begin(), flags.command.end());
  options.ranks = ranks;
  options.grace = absl::Seconds(flags.grace_seconds);
  options.max_restarts = flags.max_restarts;
  options.min_ranks = flags.min_ranks.value_or(0);
  return run_local_ranks(options);
}

}  // namespace

Command add_launch_command(CLI::App& program) {
  auto flags = std::make_shared<LaunchFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand(
      "launch", "run a command of this or of another program as several ranks on this machine");
  // The parser takes an empty text for no number.
  const auto check_given = [](const std::string& text) {
    return std::string(text.empty() ? "it is empty; give a number, or leave the flag out" : "");
  };
  command->add_option("-n,--ranks", flags->ranks, "how many; by default PET_NPROC_PER_NODE")
      ->check(check_given);
  command->add_option("--master_port", flags->master_port,
                      "where the ranks come together; by default PET_MASTER_PORT if there are "
                      "several nodes (PET_NNODES), else a port that is free");
  command
      ->add_option("--grace_seconds", flags->grace_seconds,
                   "how long the others may take to leave when a rank failed")
      ->capture_default_str();
  command
      ->add_option("--max_restarts", flags->max_restarts,
                   "how often all ranks are started again without a newer checkpoint, after a rank "
                   "was killed or lost another")
      ->capture_default_str();
  command
      ->add_option("--min_ranks", flags->min_ranks,
                   "the least number of ranks with which to start again where the machine has no "
                   "room for all; by default all")
      ->check(check_given);
  command->add_option("command", flags->command, "behind --: the command of each rank");
  return [flags, &program] {
    // A name that is no command of this program may be another program, such as python.
    const auto& commands = program.get_subcommands({});
    const bool is_own = std::any_of(commands.begin(), commands.end(), [&](const CLI::App* own) {
      return !flags->command.empty() && own->check_name(flags->command[0]);
    });
    if (!is_own && !flags->command.empty()) {
      flags->other_program = find_program(flags->command[0]);
    }
    return run_launch(*flags);
  };
}

}  // namespace millrace
