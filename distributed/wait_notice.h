// Log lines of a rank that waits.
#ifndef MILLRACE_DISTRIBUTED_WAIT_NOTICE_H_
#define MILLRACE_DISTRIBUTED_WAIT_NOTICE_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace millrace {

// Logs the reason of a rank's wait: 5 s after the wait began, then every 30 s.
class WaitNotice {
 public:
  // Begins the wait, which ends at `deadline`, a time of clock.elapsed(). Borrows `clock`.
  WaitNotice(Clock& clock, absl::Duration deadline);

  // Logs "waiting TEXT, at most 55s longer" if the interval has passed.
  void log_if_due(absl::string_view text);

 private:
  Clock& clock_;
  const absl::Duration deadline_;
  absl::Duration next_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_WAIT_NOTICE_H_
