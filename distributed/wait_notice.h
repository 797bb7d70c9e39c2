// Log lines of a rank that waits.
#ifndef MILLRACE_DISTRIBUTED_WAIT_NOTICE_H_
#define MILLRACE_DISTRIBUTED_WAIT_NOTICE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace millrace {

// Times of the lines about a wait.
struct NoticeTimes {
  absl::Duration first = absl::Seconds(5);  // since the wait began
  absl::Duration interval = absl::Seconds(30);
};

// Logs the reason of a rank's wait, at intervals.
class WaitNotice {
 public:
  // Begins the wait, which ends at `deadline`, a time of clock.elapsed(), or has no known end if
  // `deadline` is infinite. Borrows `clock`.
  WaitNotice(Clock& clock, absl::Duration deadline, NoticeTimes times = {});

  // Logs the line of line_if_due() if a line is due.
  void log_if_due(absl::string_view text);
  // Returns "waiting TEXT, at most 55s longer", or without a known end "waiting TEXT, for 2m so
  // far", if the interval has passed; else none.
  std::optional<std::string> line_if_due(absl::string_view text);

 private:
  Clock& clock_;
  const absl::Duration began_, deadline_, interval_;
  absl::Duration next_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_WAIT_NOTICE_H_
