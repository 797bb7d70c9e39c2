#include "tools/command_end.h"

#include <unistd.h>

#include <iostream>
#include <string>

#include "absl/strings/str_replace.h"
#include "tools/exit_code.h"

namespace millrace {

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

void end_if_data_hangs(Trainer* trainer, const absl::StatusOr<int>& outcome) {
  if (trainer != nullptr && trainer->data_hangs()) end_process(outcome, trainer);
}

}  // namespace millrace
