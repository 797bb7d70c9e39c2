// The length of training, as far as it is known before training begins.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TOTALS_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TOTALS_H_

#include <cstdint>
#include <optional>

#include "proto/schedule.pb.h"

namespace millrace {

// Totals of the whole training, over all resumes. Absent: not known.
struct ScheduleTotals {
  std::optional<int64_t> steps;
  std::optional<int64_t> examples;
  std::optional<int64_t> epochs;
  std::optional<int64_t> windows;
  // If true, the job counts the steps and examples of its files when it starts: checks of a
  // configuration accept shares of them, and only the creation of a schedule needs the numbers.
  bool counted_at_start = false;

  // Returns the total in `unit`.
  std::optional<int64_t> of(ScheduleConfig::Unit unit) const;
  // Returns true if the total in `unit` is known, or will be when the job starts.
  bool will_know(ScheduleConfig::Unit unit) const;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TOTALS_H_
