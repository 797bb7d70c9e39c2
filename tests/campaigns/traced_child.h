// A process whose system calls on files are counted, killed at and failed one by one.
#ifndef MILLRACE_TESTS_CAMPAIGNS_TRACED_CHILD_H_
#define MILLRACE_TESTS_CAMPAIGNS_TRACED_CHILD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace {

// One system call.
struct TracedCall {
  long number = -1;
  std::string path = {};  // of its file, if it has one
  std::string to = {};    // of a renaming
};

// "fsync", or "call 123".
std::string call_name(long number);
// Whether it may do a part of what it was asked for.
bool may_be_short(long number);

struct Disturbance {
  enum class Kind {
    kNone,
    kKillAtEntry,     // SIGKILL before the call is made
    kKillAtExit,      // and after it
    kError,           // the call is not made, and fails
    kErrorsFromHere,  // so do all calls from here on
    kShort            // half the bytes are asked for
  };
  Kind kind = Kind::kNone;
  int64_t call = -1;  // from 0
  int error = 0;      // errno
};

struct TracedLife {
  std::vector<TracedCall> calls;  // paths only where nothing is disturbed, and of the one that is
  bool finished = false;          // `body` returned
  int status = 0;                 // as of waitpid; of no meaning if finished
};

// Runs `body` in a fork of this process, which must be one thread and start none, and disturbs one
// of its system calls. Only those that have to do with files count: how often memory is asked for
// depends on what came before, and no call of that kind changes what is on disk. What `body` finds
// out it leaves in memory that is shared. After a minute it ends by SIGALRM.
// Errors: Unimplemented where processes cannot be traced: not x86-64, or forbidden.
absl::StatusOr<TracedLife> run_traced(const std::function<void()>& body,
                                      const Disturbance& disturbance);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_TRACED_CHILD_H_
