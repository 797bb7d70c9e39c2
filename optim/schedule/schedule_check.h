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
// A share of a total that is not known is an error, unless the job counts the total when it starts.
std::vector<absl::Status> schedule_errors(absl::string_view where, const ScheduleConfig& config,
                                          const ScheduleTotals& totals);

// Errors: InvalidArgument with schedule_errors(), one a line.
absl::Status check_schedule(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleTotals& totals);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_CHECK_H_
