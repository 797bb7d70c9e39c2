// Time of training.
#ifndef MILLRACE_FRAMEWORK_LOOP_TRAINING_CLOCK_H_
#define MILLRACE_FRAMEWORK_LOOP_TRAINING_CLOCK_H_

#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"

namespace millrace {

// Counts the time that is spent on training: from start() to stop(), but for pauses. Rates, reports
// and `max_elapsed` are over this time. Used by one thread.
class TrainingClock {
 public:
  // `clock` is borrowed.
  explicit TrainingClock(const Clock& clock) : clock_(clock) {}

  // Begins to count for a run. `total`: what runs before it counted.
  void start(absl::Duration total);
  // Ends that; does nothing if nothing is counted.
  void stop();

  // Counted since this clock was made. Never goes back: for differences.
  absl::Duration trained() const;
  // The `total` of the last start and what was counted since.
  absl::Duration total() const { return total_before_ + trained(); }

  // Counts nothing while it lives: an evaluation, say. May be nested, and may live while nothing is
  // counted anyway. stop() comes after its end.
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

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_TRAINING_CLOCK_H_
