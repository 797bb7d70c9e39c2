// Time of a run by phase.
#ifndef MILLRACE_FRAMEWORK_LOOP_PHASE_TIMER_H_
#define MILLRACE_FRAMEWORK_LOOP_PHASE_TIMER_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "distributed/collectives.h"
#include "distributed/forwarded_collectives.h"
#include "framework/report/summary.h"

namespace millrace {

// Divides the wall time of a run into parts that sum to it. Time in hooks is a separate part; all
// other time belongs to the phase of the rank. Thread-safe.
class PhaseTimer {
 public:
  // Borrows `clock`.
  explicit PhaseTimer(const Clock& clock) : clock_(clock) {}

  // Clears all times, and begins with RankPhase::kStart.
  void begin_run();
  // Ends the current phase and begins `phase`.
  void enter(RankPhase phase);
  // Returns the current phase.
  RankPhase phase() const;
  // Moves `time`, which hooks used since the current phase began, from the phase to hooks.
  void add_hooks(absl::Duration time);

  // Returns the times since begin_run().
  RunTimes times() const;

 private:
  static constexpr size_t kPhases = static_cast<size_t>(RankPhase::kEnd) + 1;

  const Clock& clock_;
  mutable Mutex mutex_;
  RankPhase phase_ ABSL_GUARDED_BY(mutex_) = RankPhase::kStart;
  absl::Duration since_ ABSL_GUARDED_BY(mutex_);
  absl::Duration hooks_ ABSL_GUARDED_BY(mutex_);
  std::array<absl::Duration, kPhases> phases_ ABSL_GUARDED_BY(mutex_);
};

// Collectives that time their phases.
class TimedCollectives : public ForwardedCollectives {
 public:
  // Borrows `timer`.
  TimedCollectives(std::unique_ptr<Collectives> others, PhaseTimer& timer)
      : ForwardedCollectives(std::move(others)), timer_(timer) {}

  void set_phase(RankPhase phase, int64_t step) override {
    timer_.enter(phase);
    others().set_phase(phase, step);
  }

 private:
  PhaseTimer& timer_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_PHASE_TIMER_H_
