// A measured time, and the load of other programs during this time.
#ifndef MILLRACE_BENCH_MEASURED_WINDOW_H_
#define MILLRACE_BENCH_MEASURED_WINDOW_H_

#include <chrono>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// The approximate length of a measurement.
inline constexpr double kWindowSeconds = 1.5;

// Time of all processors since the machine started, in clock ticks.
struct ProcessorTicks {
  int64_t busy = 0;    // in processes and interrupts of this machine
  int64_t stolen = 0;  // given to other machines on the same hardware
};

// Parses the text of /proc/stat (man 5 proc). Errors: DataLoss.
absl::StatusOr<ProcessorTicks> parse_processor_ticks(absl::string_view stat);

// A window that begins with its creation. Figures have the resolution of a clock tick, 10 ms on
// each processor.
class MeasuredWindow {
 public:
  struct Figures {
    double seconds = 0;
    // Average number of cores that other programs kept busy, including stolen time.
    double foreign_cores = 0;
    double stolen_cores = 0;
  };

  // Begins a window. Errors: of reading /proc/stat.
  static absl::StatusOr<MeasuredWindow> begin();
  absl::StatusOr<Figures> end() const;

 private:
  MeasuredWindow() = default;

  ProcessorTicks ticks_;
  double own_seconds_ = 0;  // of the processors, in this process
  std::chrono::steady_clock::time_point start_;
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_MEASURED_WINDOW_H_
