// The end of a command of the program.
#ifndef MILLRACE_TOOLS_COMMAND_END_H_
#define MILLRACE_TOOLS_COMMAND_END_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "framework/trainer.h"

namespace millrace {

// During its lifetime, a call of exit() by a hook, a model or a library ends the process with
// kExitPart and a line on stderr, with any code of the call: the command is unfinished. Calls
// of _exit() cannot be noticed. One object at a time.
class ExitGuard {
 public:
  ExitGuard();
  ~ExitGuard();
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;
};

// Prints the error of a command, if any, on stderr: one line, and an indented line per further line
// of the message. Returns: the exit code, which is the value of `outcome` or follows from its error
// (tools/exit_code.h).
int report_outcome(const absl::StatusOr<int>& outcome);

// Reports the outcome of a command and ends the process at once, without waiting for hanging
// threads. `leaving`, if given, leaves its job in between, which takes at most some seconds.
// REQUIRES: everything else that the command writes is written.
[[noreturn]] void end_process(const absl::StatusOr<int>& outcome, Trainer* leaving = nullptr);

// Makes a process whose command failed end in time: calls end_process() on another thread unless
// the process has ended after `limit`. Meant for a rank that leaves its job while a disk hangs:
// writing the last files, and the destructor of a saver, may wait for that disk forever. Does
// nothing if `outcome` is no error.
void end_within(absl::Duration limit, const absl::StatusOr<int>& outcome);

// Calls end_process() if `trainer` gave up a source of data: threads that read the source may never
// return, and the destructor of the trainer would wait for them. Does nothing if no source hangs or
// `trainer` is null.
void end_if_data_hangs(Trainer* trainer, const absl::StatusOr<int>& outcome);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_COMMAND_END_H_
