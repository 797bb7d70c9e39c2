// The progress of training.
#ifndef MILLRACE_BASE_PROGRESS_H_
#define MILLRACE_BASE_PROGRESS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace millrace {

// Totals since the very first run, over all resumes; part of every checkpoint. The trainer owns and
// advances this value on its thread; all other code only reads it.
struct Progress {
  int64_t step = 0;              // updates applied
  int64_t examples = 0;          // examples those updates consumed, summed over ranks
  int64_t epoch = 0;             // epochs finished
  int64_t window = 0;            // windows finished
  int64_t skipped_steps = 0;     // steps refused as non-finite
  int64_t skipped_examples = 0;  // examples of those steps
  absl::Duration elapsed = absl::ZeroDuration();  // rank 0's time spent training

  // Returns the number of steps, including refused steps, which all ranks count too.
  int64_t steps_done() const { return step + skipped_steps; }

  friend bool operator==(const Progress&, const Progress&) = default;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_PROGRESS_H_
