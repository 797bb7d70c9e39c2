// The built-in kinds of schedules, by theme. Each is a factory function, whose comment has the
// formula and its source, and a check of the rules that are no ranges of single fields.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_KINDS_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_KINDS_H_

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_registry.h"

namespace millrace {

using ScheduleKinds = std::vector<ScheduleRegistry::Kind>;

ScheduleKinds ramps();     // constant, linear_warmup, tri_stage
ScheduleKinds decays();    // the kinds whose rate falls by one formula
ScheduleKinds chains();    // chained
ScheduleKinds plateaus();  // reduce_on_plateau

// A schedule whose rate is a function of the position. Immutable.
class PositionSchedule : public Schedule {
 public:
  // `rate_at` and `end` are the results of the functions of these names, see Schedule.
  PositionSchedule(const ScheduleInput& input, std::function<double(double position)> rate_at,
                   double end = std::numeric_limits<double>::infinity())
      : Schedule(input.unit), rate_at_(std::move(rate_at)), end_(end) {}

  double rate_at(double position) const override { return rate_at_(position); }
  double end() const override { return end_; }

 private:
  const std::function<double(double position)> rate_at_;
  const double end_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_KINDS_H_
