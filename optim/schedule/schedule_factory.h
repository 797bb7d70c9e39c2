// Schedules from their configuration.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FACTORY_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_totals.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Returns the schedule that `config` chooses. `learning_rate` is the highest rate of the schedule.
// `totals` give shares their lengths; two ranks must pass the same.
// Errors: InvalidArgument with all errors of `config`, one a line, each beginning with the place
// from `schedule` on; InvalidArgument if `learning_rate` is negative or not finite.
absl::StatusOr<std::unique_ptr<Schedule>> create_schedule(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleTotals& totals);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FACTORY_H_
