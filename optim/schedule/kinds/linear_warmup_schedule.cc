#include "optim/schedule/kinds/linear_warmup_schedule.h"

#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"

namespace millrace {

void LinearWarmupSchedule::check(absl::string_view where, const ScheduleConfig& config,
                                 const ScheduleScope& scope, FieldErrors* errors) {
  const LinearWarmupScheduleConfig& warmup = config.linear_warmup();
  errors->add(check_fraction(where, "start_factor", warmup.start_factor()));
  check_within_training(where, "length",
                        check_length(where, "length", warmup.length(), 0, scope, errors), scope,
                        errors);
}

absl::StatusOr<std::unique_ptr<Schedule>> LinearWarmupSchedule::create(const ScheduleConfig& config,
                                                                       double learning_rate,
                                                                       const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new LinearWarmupSchedule(config, learning_rate, scope));
}

LinearWarmupSchedule::LinearWarmupSchedule(const ScheduleConfig& config, double learning_rate,
                                           const ScheduleScope& scope)
    : Schedule(scope.unit),
      learning_rate_(learning_rate),
      warmup_(config.linear_warmup().start_factor(),
              *length_of(config.linear_warmup().length(), scope)) {}

double LinearWarmupSchedule::rate_at(double position) const {
  return learning_rate_ * warmup_.factor(position);
}

double LinearWarmupSchedule::end() const { return warmup_.length(); }

}  // namespace millrace
