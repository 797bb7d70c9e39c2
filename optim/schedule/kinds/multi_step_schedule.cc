#include "optim/schedule/kinds/multi_step_schedule.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"
#include "proto/field_check.h"

namespace millrace {

void MultiStepSchedule::check(absl::string_view where, const ScheduleConfig& config,
                              const ScheduleScope& scope, FieldErrors* errors) {
  const MultiStepScheduleConfig& steps = config.multi_step();
  errors->add(check_decay(where, "gamma", steps.gamma()));
  if (steps.milestone().empty())
    errors->add(wrong(where, "milestone is missing; set at least one"));
  std::optional<double> last;
  for (int i = 0; i < steps.milestone_size(); ++i) {
    const std::string field = entry("milestone", i);
    const std::optional<double> position =
        check_length(where, field, steps.milestone(i), 0, scope, errors);
    if (position.has_value() && last.has_value() && *position < *last) {
      errors->add(wrong(absl::StrCat(where, ".", field),
                        absl::StrCat("is at ", *position, ", before ", *last,
                                     ", the milestone before it; milestones must ascend")));
    }
    if (position.has_value()) last = position;
  }
}

absl::StatusOr<std::unique_ptr<Schedule>> MultiStepSchedule::create(const ScheduleConfig& config,
                                                                    double learning_rate,
                                                                    const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new MultiStepSchedule(config, learning_rate, scope));
}

MultiStepSchedule::MultiStepSchedule(const ScheduleConfig& config, double learning_rate,
                                     const ScheduleScope& scope)
    : Schedule(scope.unit), learning_rate_(learning_rate), gamma_(config.multi_step().gamma()) {
  for (const ScheduleLength& milestone : config.multi_step().milestone()) {
    milestones_.push_back(*length_of(milestone, scope));
  }
}

double MultiStepSchedule::rate_at(double position) const {
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), position);
  return learning_rate_ * std::pow(gamma_, static_cast<double>(passed - milestones_.begin()));
}

double MultiStepSchedule::end() const { return milestones_.back(); }

}  // namespace millrace
