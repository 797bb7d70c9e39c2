#include "optim/schedule/kinds/exponential_schedule.h"

#include <cmath>

#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"
#include "proto/field_check.h"

namespace millrace {

void ExponentialSchedule::check(absl::string_view where, const ScheduleConfig& config,
                                const ScheduleScope& scope, FieldErrors* errors) {
  const ExponentialScheduleConfig& exponential = config.exponential();
  if (exponential.has_gamma()) {
    errors->add(check_decay(where, "gamma", exponential.gamma()));
  } else {
    errors->add(wrong(where, "gamma is missing; set it above 0 and to at most 1"));
  }
  if (!exponential.has_length()) return;
  check_length(where, "length", exponential.length(), 1, scope, errors);
}

absl::StatusOr<std::unique_ptr<Schedule>> ExponentialSchedule::create(const ScheduleConfig& config,
                                                                      double learning_rate,
                                                                      const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new ExponentialSchedule(config, learning_rate, scope));
}

ExponentialSchedule::ExponentialSchedule(const ScheduleConfig& config, double learning_rate,
                                         const ScheduleScope& scope)
    : Schedule(scope.unit),
      learning_rate_(learning_rate),
      gamma_(config.exponential().gamma()),
      length_(config.exponential().has_length() ? *length_of(config.exponential().length(), scope)
                                                : 1) {}

double ExponentialSchedule::rate_at(double position) const {
  return learning_rate_ * std::pow(gamma_, position / length_);
}

}  // namespace millrace
