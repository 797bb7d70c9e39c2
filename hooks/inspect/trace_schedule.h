// The steps of a run to trace.
#ifndef MILLRACE_HOOKS_INSPECT_TRACE_SCHEDULE_H_
#define MILLRACE_HOOKS_INSPECT_TRACE_SCHEDULE_H_

#include <cstdint>

namespace millrace {

// Handling of the events of a step.
enum class TracePhase {
  kOff,     // nothing is recorded
  kWarmUp,  // events are recorded and dropped
  kActive,  // events are recorded and written
};

struct TracePoint {
  TracePhase phase = TracePhase::kOff;
  // The number of the cycle, from 0. Each cycle has a separate trace. 0 for kOff.
  int64_t cycle = 0;

  friend bool operator==(const TracePoint&, const TracePoint&) = default;
};

// A function of the step alone, so that a resumed run traces the same steps as an unbroken run. The
// first `skip_first` steps are skipped. Cycles of `wait`, `warmup` and `active` steps follow.
//
// REQUIRES: no number is negative, `active` is at least 1, and all are at most kMostSteps.
struct TraceSchedule {
  static constexpr int64_t kMostSteps = int64_t{1} << 60;

  int64_t skip_first = 0;
  int64_t wait = 1;
  int64_t warmup = 1;
  int64_t active = 3;
  int64_t repeat = 1;  // number of cycles; 0: no end

  // Returns the handling of step `step`. The first step of a run has number 1.
  TracePoint at(int64_t step) const {
    const int64_t position = step - 1 - skip_first;
    if (position < 0) return {};
    const int64_t length = wait + warmup + active;
    const int64_t cycle = position / length;
    const int64_t offset = position % length;
    if ((repeat > 0 && cycle >= repeat) || offset < wait) return {};
    return {offset < wait + warmup ? TracePhase::kWarmUp : TracePhase::kActive, cycle};
  }
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_TRACE_SCHEDULE_H_
