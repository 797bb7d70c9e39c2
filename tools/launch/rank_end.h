// How ranks end, and what follows from it for their job.
#ifndef MILLRACE_TOOLS_LAUNCH_RANK_END_H_
#define MILLRACE_TOOLS_LAUNCH_RANK_END_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// How a rank ended.
struct RankEnd {
  int rank = 0;
  int code = 0;         // 128 + S if signal S killed it
  bool forced = false;  // after it was told to leave, because another one had failed
};

// Returns false for the codes of a rank that finished (0) or was stopped (75).
bool is_failure(int code);

// Returns true if another start may succeed where a job ended with this code: a rank lost another
// one (76), or a signal killed it (137 for SIGKILL, 139 for SIGSEGV). All other failures come back
// with the same command and data.
bool can_restart_after(int code);

// Returns: "exited with code 65", "was killed by signal 9 (Killed)".
std::string describe_end(int code);

// Returns true for a line of the log of the severity INFO, such as
// "I20261121 05:37:05.542506 27767 saver.cc:52] saved": it does not say why a rank ended.
bool is_progress_line(absl::string_view line);

// Which of them, given in the order in which they ended, says how the job ended: the first that
// failed of itself; else the first that left because another one failed (76); else the first that
// was stopped (75); else the first. A rank is forced only after another one failed, so a forced
// one never decides. REQUIRES: at least one.
const RankEnd& deciding_end(absl::Span<const RankEnd> ends);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_RANK_END_H_
