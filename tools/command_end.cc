#include "tools/command_end.h"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>

#include "absl/strings/str_replace.h"
#include "base/clock.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

std::atomic<pid_t> command_process = 0;  // that a command runs in; 0: none

void refuse_exit(int code, void*) {
  if (command_process != ::getpid()) return;  // children may end as they like
  std::cerr << "millrace: exit(" << code << ") was called before the command had ended, by a hook, "
            << "a model or a library that is linked in; what it was doing is unfinished"
            << std::endl;
  ::_exit(kExitPart);
}

}  // namespace

ExitGuard::ExitGuard() {
  static const int registered = ::on_exit(refuse_exit, nullptr);
  if (registered == 0) command_process = ::getpid();
}

ExitGuard::~ExitGuard() { command_process = 0; }

int report_outcome(const absl::StatusOr<int>& outcome) {
  if (outcome.ok()) return *outcome;
  // Indents lines after the first, also in a list of errors without indentation.
  const std::string text =
      absl::StrReplaceAll(outcome.status().message(), {{"\n", "\n  "}, {"\n  ", "\n  "}});
  std::cerr << "millrace: " << text << std::endl;
  return exit_code(outcome.status());
}

void end_process(const absl::StatusOr<int>& outcome, Trainer* leaving) {
  const int code = report_outcome(outcome);
  std::cout << std::flush;
  if (leaving != nullptr) leaving->leave_job();
  ::_exit(code);
}

void end_within(absl::Duration limit, const absl::StatusOr<int>& outcome) {
  if (outcome.ok()) return;
  std::thread([limit, outcome] {
    Clock::real().sleep(limit);
    end_process(outcome);
  }).detach();
}

void end_if_data_hangs(Trainer* trainer, const absl::StatusOr<int>& outcome) {
  if (trainer != nullptr && trainer->data_hangs()) end_process(outcome, trainer);
}

}  // namespace millrace
