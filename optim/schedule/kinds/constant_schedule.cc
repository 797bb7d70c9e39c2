#include "optim/schedule/kinds/constant_schedule.h"

#include "optim/schedule/schedule_field_check.h"

namespace millrace {

void ConstantSchedule::check(absl::string_view where, const ScheduleConfig& config,
                             const ScheduleScope& scope, FieldErrors* errors) {
  errors->add(check_fraction(where, "factor", config.constant().factor()));
}

absl::StatusOr<std::unique_ptr<Schedule>> ConstantSchedule::create(const ScheduleConfig& config,
                                                                   double learning_rate,
                                                                   const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new ConstantSchedule(config, learning_rate, scope));
}

ConstantSchedule::ConstantSchedule(const ScheduleConfig& config, double learning_rate,
                                   const ScheduleScope& scope)
    : Schedule(scope.unit), rate_(config.constant().factor() * learning_rate) {}

double ConstantSchedule::rate_at(double position) const { return rate_; }

double ConstantSchedule::end() const { return 0; }

}  // namespace millrace
