#include "optim/schedule/kinds/inverse_square_root_schedule.h"

#include <algorithm>
#include <cmath>

#include "optim/schedule/schedule_length.h"

namespace millrace {

void InverseSquareRootSchedule::check(absl::string_view where, const ScheduleConfig& config,
                                      const ScheduleScope& scope, FieldErrors* errors) {
  const InverseSquareRootScheduleConfig& root = config.inverse_square_root();
  if (!root.has_warmup_length()) return;
  check_within_training(
      where, "warmup_length",
      check_length(where, "warmup_length", root.warmup_length(), 0, scope, errors), scope, errors);
}

absl::StatusOr<std::unique_ptr<Schedule>> InverseSquareRootSchedule::create(
    const ScheduleConfig& config, double learning_rate, const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new InverseSquareRootSchedule(config, learning_rate, scope));
}

InverseSquareRootSchedule::InverseSquareRootSchedule(const ScheduleConfig& config,
                                                     double learning_rate,
                                                     const ScheduleScope& scope)
    : Schedule(scope.unit),
      learning_rate_(learning_rate),
      warmup_length_(length_of(config.inverse_square_root().warmup_length(), scope).value_or(0)) {}

double InverseSquareRootSchedule::rate_at(double position) const {
  if (position < warmup_length_)
    return learning_rate_ * (position / warmup_length_ / std::sqrt(warmup_length_));
  return learning_rate_ / std::sqrt(std::max(position, 1.0));
}

}  // namespace millrace
