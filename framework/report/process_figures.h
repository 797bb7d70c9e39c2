// What this process used of the machine.
#ifndef MILLRACE_FRAMEWORK_REPORT_PROCESS_FIGURES_H_
#define MILLRACE_FRAMEWORK_REPORT_PROCESS_FIGURES_H_

#include <cstdint>

#include "absl/time/time.h"

namespace millrace {

// Totals since the process began, but for resident_bytes.
struct ProcessFigures {
  absl::Duration at;                          // when they were read, by Clock::elapsed()
  absl::Duration cpu = absl::ZeroDuration();  // of all threads, user and system
  int64_t resident_bytes = 0;                 // now
  int64_t major_faults = 0;
  int64_t minor_faults = 0;
  int64_t bytes_read = 0;  // by read() and the like; 0 where the kernel does not tell
};

// Reads them, from getrusage() and /proc: three system calls and two small files.
ProcessFigures read_process_figures();

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_PROCESS_FIGURES_H_
