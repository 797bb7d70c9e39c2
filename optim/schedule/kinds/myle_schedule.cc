#include "optim/schedule/kinds/myle_schedule.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace millrace {

void MyleSchedule::check(absl::string_view where, const ScheduleConfig& config,
                         const ScheduleScope& scope, FieldErrors* errors) {
  Warmup::check(absl::StrCat(where, ".warmup"), config.myle().warmup(), 1, scope, errors);
}

absl::StatusOr<std::unique_ptr<Schedule>> MyleSchedule::create(const ScheduleConfig& config,
                                                               double learning_rate,
                                                               const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new MyleSchedule(config, learning_rate, scope));
}

MyleSchedule::MyleSchedule(const ScheduleConfig& config, double learning_rate,
                           const ScheduleScope& scope)
    : Schedule(scope.unit), learning_rate_(learning_rate), warmup_(config.myle().warmup(), scope) {}

double MyleSchedule::rate_at(double position) const {
  if (position < warmup_.length()) return learning_rate_ * warmup_.factor(position);
  return learning_rate_ * std::sqrt(warmup_.length() / position);
}

}  // namespace millrace
