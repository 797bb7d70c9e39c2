// The ranks of a node as local processes.
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
  // Time for other ranks to leave by themselves after a rank failed, and again after the following
  // SIGTERM.
  absl::Duration grace = absl::Seconds(10);
  // Maximum number of restarts of all ranks, after a failure of can_restart_after
  // (tools/launch/rank_end.h), since the ranks last made progress: a checkpoint of a later step
  // than all before. A restart after progress does not count, and 0 is no restart at all. Restarted
  // ranks resume by themselves. REQUIRES: 0 if other nodes have ranks, which this node cannot
  // restart.
  int max_restarts = 0;
  // The least number of ranks of a restart. A restart has one rank fewer than the start before if
  // a rank could not be started, or ended for lack of memory, threads or open files (71), or if
  // signals killed ranks in two starts in a row without progress. 0: all restarts have as many
  // ranks as the first start.
  int min_ranks = 0;
  // Descriptors for the output of ranks, and for messages of the launcher (to `err`).
  int out = 1;
  int err = 2;
};

// Starts `ranks` and waits until all have ended. Each rank gets the variables of rank_variables()
// (tools/launch/node_ranks.h), TORCHELASTIC_RESTART_COUNT, the variables of
// tools/launch/launcher_output.h and distributed/environment/checkpoint_notice.h, a new secret
// (distributed/store_seal.h) unless this process has one or other nodes have ranks, an empty
// standard input, and a separate process group, so that Ctrl-C on a terminal reaches the rank only
// through this function. Each line of a rank's outputs appears whole, after "[RANK] ".
//
// Forwards every SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU and SIGQUIT to all ranks. When
// a rank fails (any exit code but 0 and 75), the others have `grace` to leave, then get SIGTERM,
// and after `grace` again SIGKILL; `err` describes the end of each failed rank. Processes that a
// rank leaves behind in its group are killed when the rank ends. If this process is killed, so are
// the ranks. All of this continues while the reader of the output stalls. At the end the function
// waits for the reader, until SIGTERM, SIGINT, SIGHUP or SIGQUIT.
//
// With restarts left, a failure of can_restart_after restarts all ranks after the last has ended,
// with the next TORCHELASTIC_RESTART_COUNT and, unless the port of `ranks` is set, another port;
// `err` states the reason. If a signal killed the deciding rank, the others are killed at once.
// After one of the signals above nothing is restarted.
//
// Returns: the exit code of deciding_end for the last start, or 75 if only a signal prevented the
// restart of a job with `max_restarts`. If the code is neither 0 nor 75, the last line on `err`
// states which rank failed, with the last output of the rank. After a restart this line appears for
// every code, with the number of restarts.
// Errors: Unavailable or ResourceExhausted if a rank cannot be started (started ranks are killed)
// and no restart with fewer ranks is left, or if no port is free for the ranks. REQUIRES: called by
// the main thread, while no other thread handles these signals.
absl::StatusOr<int> run_local_ranks(const LocalRanksOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_LOCAL_RANKS_H_
