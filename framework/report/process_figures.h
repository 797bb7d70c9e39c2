// Resources of the machine that this process used.
#ifndef MILLRACE_FRAMEWORK_REPORT_PROCESS_FIGURES_H_
#define MILLRACE_FRAMEWORK_REPORT_PROCESS_FIGURES_H_

#include <cstdint>

#include "absl/time/time.h"

namespace millrace {

// Totals since the start of the process; resident_bytes is current.
struct ProcessFigures {
  absl::Duration at;                          // time of reading, by Clock::elapsed()
  absl::Duration cpu = absl::ZeroDuration();  // of all threads, user and system
  int64_t resident_bytes = 0;                 // now
  int64_t major_faults = 0;
  int64_t minor_faults = 0;
  int64_t bytes_read = 0;  // by read() and the like; 0 if the kernel does not report them
};

// Reads the figures of this process from getrusage() and /proc: three system calls and two small
// files.
ProcessFigures read_process_figures();

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_PROCESS_FIGURES_H_
