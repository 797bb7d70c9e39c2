// Rules of the configuration of schedules.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_CHECK_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_CHECK_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule_totals.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Returns all errors of `config`, each an InvalidArgument that begins with the place of the field
// in the configuration, says what is wrong, and says what to set. `where` is the place of `config`.
// Totals that are not known make every share of them an error.
std::vector<absl::Status> schedule_errors(absl::string_view where, const ScheduleConfig& config,
                                          const ScheduleTotals& totals);

// Errors: InvalidArgument with schedule_errors(), one a line.
absl::Status check_schedule(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleTotals& totals);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_CHECK_H_
