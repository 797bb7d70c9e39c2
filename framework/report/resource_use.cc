#include "framework/report/resource_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/clock.h"

namespace millrace {

void TrainingClock::start(absl::Duration total) {
  total_before_ = total - trained();
  if (!since_.has_value()) since_ = clock_.elapsed();
}

void TrainingClock::stop() {
  trained_ = trained();
  since_.reset();
}

absl::Duration TrainingClock::trained() const {
  return since_.has_value() ? trained_ + (clock_.elapsed() - *since_) : trained_;
}

namespace {

// Returns the number after `name` in /proc/self/io; 0 if the file has none.
int64_t io_figure(const std::string& name) {
  std::ifstream file("/proc/self/io");
  std::string word;
  int64_t value = 0;
  while (file >> word >> value) {
    if (word == name) return value;
  }
  return 0;
}

}  // namespace

ProcessFigures read_process_figures() {
  ProcessFigures figures;
  figures.at = Clock::real().elapsed();
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    figures.cpu =
        absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
    figures.major_faults = usage.ru_majflt;
    figures.minor_faults = usage.ru_minflt;
  }
  int64_t pages = 0, resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident) {
    figures.resident_bytes = resident * sysconf(_SC_PAGESIZE);
  }
  figures.bytes_read = io_figure("rchar:");
  return figures;
}

}  // namespace millrace
