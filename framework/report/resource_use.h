// The time of training, and the resources that a process uses.
#ifndef MILLRACE_FRAMEWORK_REPORT_RESOURCE_USE_H_
#define MILLRACE_FRAMEWORK_REPORT_RESOURCE_USE_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"

namespace millrace {

// Counts the time of training, from start() to stop() without pauses. Rates, reports and
// `max_elapsed` use this time. Rates do not use Progress::elapsed: over ranks that time is rank 0's
// at the last exchange, up to a step ago. Used by one thread.
class TrainingClock {
 public:
  // Borrows `clock`.
  explicit TrainingClock(const Clock& clock) : clock_(clock) {}

  // Starts counting for a run. `total`: the time counted by earlier runs.
  void start(absl::Duration total);
  // Stops counting; does nothing if the clock is not counting.
  void stop();

  // Returns the clock that this object reads.
  const Clock& clock() const { return clock_; }

  // Returns the time counted since the creation of this clock. Never decreases: for differences.
  absl::Duration trained() const;
  // Returns the `total` of the last start plus the time counted since.
  absl::Duration total() const { return total_before_ + trained(); }

  // Suspends counting during its lifetime, for example in an evaluation. May be nested, and may
  // exist while the clock is not counting. REQUIRES: stop() is called only after its destruction.
  class Pause {
   public:
    explicit Pause(TrainingClock& clock) : clock_(clock), counted_(clock.since_.has_value()) {
      clock_.stop();
    }
    ~Pause() {
      if (counted_) clock_.since_ = clock_.clock_.elapsed();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    TrainingClock& clock_;
    const bool counted_;
  };

 private:
  const Clock& clock_;
  absl::Duration trained_ = absl::ZeroDuration();       // up to since_
  std::optional<absl::Duration> since_;                 // the clock's elapsed(); none: not counting
  absl::Duration total_before_ = absl::ZeroDuration();  // total() less trained()
};

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

#endif  // MILLRACE_FRAMEWORK_REPORT_RESOURCE_USE_H_
