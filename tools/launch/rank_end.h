// Ends of ranks, and their consequences for the job.
#ifndef MILLRACE_TOOLS_LAUNCH_RANK_END_H_
#define MILLRACE_TOOLS_LAUNCH_RANK_END_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// The end of a rank.
struct RankEnd {
  int rank = 0;
  int code = 0;         // 128 + S if signal S killed it
  bool forced = false;  // true after a request to leave, since another rank had failed
};

// Returns false for the codes of a rank that finished (0) or was stopped (75).
bool is_failure(int code);

// Returns true if a restart may succeed after this code: a rank lost another rank (76), or a signal
// killed the rank (137 for SIGKILL, 139 for SIGSEGV). All other failures recur with the same
// command and data.
bool can_restart_after(int code);

// Returns: "exited with code 65", "was killed by signal 9 (Killed)".
std::string describe_end(int code);

// Returns true for a log line of severity INFO, such as "I20261121 05:37:05.542506 27767
// saver.cc:52] saved", and for figures of a step, such as "step 200  epoch 2  loss 0.13". They do
// not explain the end of a rank.
bool is_progress_line(absl::string_view line);

// Returns the end that decides the job's end. `ends` are in the order in which ranks ended. The
// first rank that failed by itself decides; else the first that was stopped (75), which others may
// have left because of; else the first that left because of another (76); else the first. A rank is
// forced only after another failed, so a forced rank never decides. REQUIRES: at least one end.
const RankEnd& deciding_end(absl::Span<const RankEnd> ends);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_RANK_END_H_
