// The learning rate of an optimizer, from its configuration.
#ifndef MILLRACE_OPTIM_DENSE_OPTIMIZER_SCHEDULE_H_
#define MILLRACE_OPTIM_DENSE_OPTIMIZER_SCHEDULE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Checks the schedule of an optimizer. Errors: InvalidArgument that begins with `where`, the place
// of the schedule: as check_schedule(); for a unit without a kind. Ranges of single fields:
// check_ranges().
absl::Status check_optimizer_schedule(absl::string_view where, const ScheduleConfig& config,
                                      const ScheduleTotals& totals);

// Returns the schedule of an optimizer; without a kind, a constant `learning_rate`. Errors: as
// check_optimizer_schedule() and create_schedule().
absl::StatusOr<std::unique_ptr<Schedule>> create_optimizer_schedule(const ScheduleConfig& config,
                                                                    double learning_rate,
                                                                    const ScheduleTotals& totals);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_OPTIMIZER_SCHEDULE_H_
