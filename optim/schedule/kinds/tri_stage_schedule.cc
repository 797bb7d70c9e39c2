#include "optim/schedule/kinds/tri_stage_schedule.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"
#include "proto/field_check.h"

namespace millrace {

void TriStageSchedule::check(absl::string_view where, const ScheduleConfig& config,
                             const ScheduleScope& scope, FieldErrors* errors) {
  const TriStageScheduleConfig& stages = config.tri_stage();
  check_length(where, "length", stages.length(), 1, scope, errors);
  errors->add(check_fraction(where, "warmup_ratio", stages.warmup_ratio()));
  errors->add(check_fraction(where, "hold_ratio", stages.hold_ratio()));
  const double sum = stages.warmup_ratio() + stages.hold_ratio();
  if (sum >= 1) {
    errors->add(wrong(where, absl::StrCat("warmup_ratio + hold_ratio is ", sum,
                                          "; must be below 1, so that the decay has a length")));
  }
  errors->add(check_fraction(where, "start_factor", stages.start_factor()));
  errors->add(check_decay(where, "final_factor", stages.final_factor()));
}

absl::StatusOr<std::unique_ptr<Schedule>> TriStageSchedule::create(const ScheduleConfig& config,
                                                                   double learning_rate,
                                                                   const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new TriStageSchedule(config, learning_rate, scope));
}

TriStageSchedule::TriStageSchedule(const ScheduleConfig& config, double learning_rate,
                                   const ScheduleScope& scope)
    : Schedule(scope.unit),
      learning_rate_(learning_rate),
      length_(*length_of(config.tri_stage().length(), scope)),
      final_factor_(config.tri_stage().final_factor()) {
  const TriStageScheduleConfig& stages = config.tri_stage();
  warmup_ = Warmup(stages.start_factor(), snap_to_whole(stages.warmup_ratio() * length_));
  decay_start_ = snap_to_whole((stages.warmup_ratio() + stages.hold_ratio()) * length_);
}

double TriStageSchedule::rate_at(double position) const {
  if (position < warmup_.length()) return learning_rate_ * warmup_.factor(position);
  if (position < decay_start_) return learning_rate_;
  if (position >= length_) return learning_rate_ * final_factor_;
  const double share = (position - decay_start_) / (length_ - decay_start_);
  return learning_rate_ * std::pow(final_factor_, share);
}

double TriStageSchedule::end() const { return length_; }

}  // namespace millrace
