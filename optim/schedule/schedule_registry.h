// Schedules from outside, by name.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_REGISTRY_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_totals.h"
#include "proto/parts/custom_registry.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Values that a schedule is made with.
struct ScheduleInput {
  double learning_rate = 0;                           // the highest rate, at least 0
  ScheduleConfig::Unit unit = ScheduleConfig::STEPS;  // of positions
  ScheduleTotals totals;                              // of training, where they are known
};

// Makes a schedule. `config` has the extension that the part reads.
using ScheduleFactory = std::function<absl::StatusOr<std::unique_ptr<Schedule>>(
    const CustomConfig& config, const ScheduleInput& input)>;

// Returns the registry of schedules, which also has the names of the built-in kinds.
CustomRegistry<ScheduleFactory>& schedule_registry();

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_SCHEDULE(square_wave, "two rates in turn", &SquareWave::create);
#define MILLRACE_REGISTER_SCHEDULE(name, description, factory) \
  MILLRACE_REGISTER_PART(schedule, name, #name, description, factory)

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_REGISTRY_H_
