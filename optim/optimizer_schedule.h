// The learning rate of an optimizer, from its configuration.
#ifndef MILLRACE_OPTIM_OPTIMIZER_SCHEDULE_H_
#define MILLRACE_OPTIM_OPTIMIZER_SCHEDULE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_factory.h"
#include "optim/schedule/schedule_totals.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Checks the schedule of an optimizer. Errors: InvalidArgument that begins with `where`, the place
// of the schedule: those of check_schedule(); reduce_on_plateau, which no trainer feeds yet; a unit
// without a kind.
absl::Status check_optimizer_schedule(absl::string_view where, const ScheduleConfig& config,
                                      const ScheduleTotals& totals);

// Returns the schedule of an optimizer; without a kind, its learning rate throughout.
// OptimizerConfig: DenseOptimizerConfig or SparseOptimizerConfig. Errors: those of
// check_optimizer_schedule() and create_schedule().
template <typename OptimizerConfig>
absl::StatusOr<std::unique_ptr<Schedule>> create_optimizer_schedule(const OptimizerConfig& config,
                                                                    const ScheduleTotals& totals) {
  RETURN_IF_ERROR(check_optimizer_schedule("schedule", config.schedule(), totals));
  if (config.schedule().kind_case() != ScheduleConfig::KIND_NOT_SET) {
    return create_schedule(config.schedule(), config.learning_rate(), totals);
  }
  ScheduleConfig constant;
  constant.mutable_constant();
  return create_schedule(constant, config.learning_rate(), totals);
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_OPTIMIZER_SCHEDULE_H_
