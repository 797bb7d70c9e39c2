// Runs a process and counts, kills at, or fails its system calls on files.
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
  std::string path = {};  // of the call's file, if any
  std::string to = {};    // the target of a rename
};

// Returns "fsync", or "call 123" for an unknown number.
std::string call_name(long number);
// Returns true if the call may process fewer bytes than requested.
bool may_be_short(long number);

struct Disturbance {
  enum class Kind {
    kNone,
    kKillAtEntry,     // SIGKILL before the call is made
    kKillAtExit,      // SIGKILL after the call
    kError,           // the call is not made, and fails
    kErrorsFromHere,  // this call and all later calls fail
    kShort            // the call requests half the bytes
  };
  Kind kind = Kind::kNone;
  int64_t call = -1;  // from 0
  int error = 0;      // errno
};

struct TracedLife {
  std::vector<TracedCall> calls;  // paths only without a disturbance, and of the disturbed call
  bool finished = false;          // `body` returned
  int status = 0;                 // as waitpid(); meaningless if finished
};

// Runs `body` in a fork of this process, which must have one thread and start none, and disturbs
// one of its system calls. Counts only calls on files: the number of calls for memory depends on
// earlier work, and no such call changes the disk. `body` returns its findings in shared memory.
// SIGALRM ends the fork after a minute.
// Errors: Unimplemented where processes cannot be traced: not x86-64, or forbidden.
absl::StatusOr<TracedLife> run_traced(const std::function<void()>& body,
                                      const Disturbance& disturbance);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_TRACED_CHILD_H_
