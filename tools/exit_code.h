// The exit codes of the program, after sysexits.h.
#ifndef MILLRACE_TOOLS_EXIT_CODE_H_
#define MILLRACE_TOOLS_EXIT_CODE_H_

#include "absl/status/status.h"

namespace millrace {

inline constexpr int kExitFinished = 0;
inline constexpr int kExitDifferent = 1;  // of checkpoint diff, config diff
inline constexpr int kExitUsage = 64;     // wrong usage or configuration
inline constexpr int kExitBadData = 65;
inline constexpr int kExitNoInput = 66;       // missing input
inline constexpr int kExitBug = 70;           // a bug of Millrace outside of parts
inline constexpr int kExitMachine = 71;       // no more memory, threads or processes
inline constexpr int kExitCannotCreate = 73;  // output cannot be written
inline constexpr int kExitIo = 74;
inline constexpr int kExitRunAgain = 75;  // stopped by a signal; run again
inline constexpr int kExitPeer = 76;      // another rank failed, or another process is in the way
// Codes that sysexits.h does not have.
inline constexpr int kExitEvaluation = 79;  // an evaluation within training failed
inline constexpr int kExitDiverged = 80;    // a loss or gradient was not finite
inline constexpr int kExitPart = 81;        // a hook, a model or another part failed

// Returns the exit code for a failure. Its kind (base/failure_kind.h) has precedence: kMachine is
// 71, kEvaluation 79, kDiverged 80, kPart 81, kLimit 64, kBusy 76. For other failures,
// InvalidArgument, FailedPrecondition, AlreadyExists, Unimplemented and OutOfRange are 64; DataLoss
// 65; NotFound 66; PermissionDenied and ResourceExhausted 73; Unavailable 74; Aborted, the code of
// another rank's failure, 76; everything else 70. OK is 0.
int exit_code(const absl::Status& status);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_EXIT_CODE_H_
