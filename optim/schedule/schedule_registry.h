// Schedules from their configuration.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_REGISTRY_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "proto/parts/kind_registry.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Creates a schedule. `config` has the extension that the schedule reads.
using ScheduleFactory = std::function<absl::StatusOr<std::unique_ptr<Schedule>>(
    const CustomConfig& config, const ScheduleInput& input)>;

// The checks of built-in kinds use the unit and the totals of the input, not its rate.
using ScheduleRegistry =
    KindRegistry<ScheduleConfig, ScheduleFactory, KindCheck<ScheduleConfig, const ScheduleInput&>>;

// Returns the registry of schedules, which also has the built-in kinds.
ScheduleRegistry& schedule_registry();

// Returns the schedule that `config` chooses. `learning_rate` is the highest rate of the schedule.
// Shares become lengths by `totals`, which must be equal on all ranks.
// Errors: as check_schedule() and check_ranges() (proto/range_check.h), with places that begin with
// `schedule`; InvalidArgument if `learning_rate` is negative or not finite.
absl::StatusOr<std::unique_ptr<Schedule>> create_schedule(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleTotals& totals);

// Checks `config`, whose place is `where`, except the ranges of single fields: see check_ranges().
// Errors: InvalidArgument with all errors, one a line. Each line begins with the place of the field
// in the configuration, and says what is wrong and what to set. A share of a total that is not
// known is an error, unless the job counts the total when it starts.
absl::Status check_schedule(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleTotals& totals);

}  // namespace millrace

// Registers a schedule. Used at namespace scope in a .cc whose cc_library has `alwayslink = True`:
//   MILLRACE_REGISTER_SCHEDULE(square_wave, "two rates in turn", &SquareWave::create);
#define MILLRACE_REGISTER_SCHEDULE(name, description, factory) \
  MILLRACE_REGISTER_PART(schedule, name, #name, description, factory)

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_REGISTRY_H_
