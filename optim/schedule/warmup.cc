#include "optim/schedule/warmup.h"

#include "absl/strings/str_cat.h"
#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"
#include "proto/field_check.h"

namespace millrace {

Warmup::Warmup(const ScheduleWarmup& config, const ScheduleScope& scope)
    : start_factor_(config.start_factor()),
      length_(length_of(config.length(), scope).value_or(0)) {}

std::optional<double> Warmup::check(absl::string_view where, const ScheduleWarmup& config,
                                    double minimum, const ScheduleScope& scope,
                                    FieldErrors* errors) {
  errors->add(check_fraction(where, "start_factor", config.start_factor()));
  const std::optional<double> length =
      check_length(where, "length", config.length(), minimum, scope, errors);
  check_within_training(where, "length", length, scope, errors);
  return length;
}

void Warmup::check_within(absl::string_view where, const ScheduleWarmup& config,
                          std::optional<double> length, const ScheduleScope& scope,
                          FieldErrors* errors) {
  const std::optional<double> warmup = check(where, config, 0, scope, errors);
  if (!warmup.has_value() || !length.has_value() || *warmup <= *length - 1) return;
  errors->add(
      wrong(where, absl::StrCat("its length is ", *warmup, "; must be at most ", *length - 1,
                                ", one less than the schedule with its warm-up")));
}

double Warmup::factor(double position) const {
  if (position >= length_) return 1;
  return start_factor_ + (1 - start_factor_) * (position / length_);
}

}  // namespace millrace
