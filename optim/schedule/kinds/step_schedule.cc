#include "optim/schedule/kinds/step_schedule.h"

#include <cmath>

#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"

namespace millrace {

void StepSchedule::check(absl::string_view where, const ScheduleConfig& config,
                         const ScheduleScope& scope, FieldErrors* errors) {
  errors->add(check_decay(where, "gamma", config.step().gamma()));
  check_length(where, "length", config.step().length(), 1, scope, errors);
}

absl::StatusOr<std::unique_ptr<Schedule>> StepSchedule::create(const ScheduleConfig& config,
                                                               double learning_rate,
                                                               const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new StepSchedule(config, learning_rate, scope));
}

StepSchedule::StepSchedule(const ScheduleConfig& config, double learning_rate,
                           const ScheduleScope& scope)
    : Schedule(scope.unit),
      learning_rate_(learning_rate),
      gamma_(config.step().gamma()),
      length_(*length_of(config.step().length(), scope)) {}

double StepSchedule::rate_at(double position) const {
  return learning_rate_ * std::pow(gamma_, std::floor(position / length_));
}

}  // namespace millrace
