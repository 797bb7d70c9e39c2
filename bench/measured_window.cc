#include "bench/measured_window.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/cpu_time.h"

namespace millrace {
namespace {

absl::StatusOr<ProcessorTicks> read_processor_ticks() {
  // FileSystem cannot read files of /proc, because they have no size.
  std::ifstream stat("/proc/stat");
  std::string line;
  std::getline(stat, line);
  return parse_processor_ticks(line);
}

}  // namespace

absl::StatusOr<ProcessorTicks> parse_processor_ticks(absl::string_view stat) {
  // cpu user nice system idle iowait irq softirq steal ...
  constexpr size_t kUser = 1, kIdle = 4, kWaiting = 5, kStolen = 8;
  const absl::string_view line = stat.substr(0, stat.find('\n'));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  ProcessorTicks result;
  bool fits = words.size() > kStolen && words[0] == "cpu";
  for (size_t i = kUser; fits && i <= kStolen; ++i) {
    int64_t ticks = 0;
    fits = absl::SimpleAtoi(words[i], &ticks);
    if (i == kStolen) {
      result.stolen = ticks;
    } else if (i != kIdle && i != kWaiting) {
      result.busy += ticks;
    }
  }
  if (!fits) return absl::DataLossError("/proc/stat does not begin with times of all processors");
  return result;
}

absl::StatusOr<MeasuredWindow> MeasuredWindow::begin() {
  MeasuredWindow window;
  ASSIGN_OR_RETURN(window.ticks_, read_processor_ticks());
  window.own_seconds_ = process_cpu_seconds();
  window.start_ = std::chrono::steady_clock::now();
  return window;
}

absl::StatusOr<MeasuredWindow::Figures> MeasuredWindow::end() const {
  Figures figures;
  figures.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double own_seconds = process_cpu_seconds() - own_seconds_;
  ASSIGN_OR_RETURN(const ProcessorTicks ticks, read_processor_ticks());
  const double scale = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)) / figures.seconds;
  const double busy = static_cast<double>(ticks.busy - ticks_.busy) * scale;
  figures.stolen_cores = static_cast<double>(ticks.stolen - ticks_.stolen) * scale;
  figures.foreign_cores =
      std::max(0.0, busy - own_seconds / figures.seconds) + figures.stolen_cores;
  return figures;
}

}  // namespace millrace
