// The ranks of a node as processes of this machine.
#ifndef MILLRACE_TOOLS_LAUNCH_LOCAL_RANKS_H_
#define MILLRACE_TOOLS_LAUNCH_LOCAL_RANKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/launch/node_ranks.h"

namespace millrace {

struct LocalRanksOptions {
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments;  // of each rank; the first is the program's name
  NodeRanks ranks;
  // How long the others may take to leave by themselves after a rank failed, and again after the
  // SIGTERM that follows.
  absl::Duration grace = absl::Seconds(10);
  // How often all ranks are started again after a failure of can_restart_after
  // (tools/launch/rank_end.h). They resume by themselves. REQUIRES: 0 if other nodes have ranks,
  // which this node cannot start again.
  int max_restarts = 0;
  // Where the ranks' output goes, and what this says itself (to `err`).
  int out = 1;
  int err = 2;
};

// Starts `ranks` and waits until all have ended. Each gets the variables of rank_variables()
// (tools/launch/node_ranks.h), TORCHELASTIC_RESTART_COUNT and the variable of
// tools/launch/launcher_output.h, an empty standard input, and a process group of its own, so that
// Ctrl-C on a terminal reaches it only through this function. Each line of its outputs appears
// whole, behind "[RANK] ".
//
// SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU and SIGQUIT, each time they arrive, are passed
// on to all ranks. When a rank fails (any exit code but 0 and 75), the others have `grace` to
// leave, then get SIGTERM, and after `grace` again SIGKILL; `err` says how each that fails ended.
// Processes that a rank leaves behind in its group are killed when it ends; if this process is
// killed, so are the ranks. All of this goes on while nobody takes the output; at the end this
// waits for that, until SIGTERM, SIGINT, SIGHUP or SIGQUIT.
//
// With restarts left, a failure of can_restart_after starts all ranks again, once the last has
// ended, with the next TORCHELASTIC_RESTART_COUNT and, unless the port of `ranks` is set, another
// port; `err` says why. The others are killed at once if a signal killed the rank that decides.
// After one of the signals above nothing is restarted.
//
// Returns: the exit code of deciding_end for the last start, or 75 where only a signal kept a job
// with `max_restarts` from another start. If the code is neither 0 nor 75, the last line on `err`
// says which rank failed and what it said last; after a restart that line comes for every code,
// with their number. Errors: Unavailable if a rank cannot be started (those that were are killed).
// REQUIRES: called by the main thread, while no other thread handles these
// signals.
absl::StatusOr<int> run_local_ranks(const LocalRanksOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_LOCAL_RANKS_H_
