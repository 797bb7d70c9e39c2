#include "optim/schedule/kinds/polynomial_schedule.h"

#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"
#include "proto/field_check.h"

namespace millrace {

void PolynomialSchedule::check(absl::string_view where, const ScheduleConfig& config,
                               const ScheduleScope& scope, FieldErrors* errors) {
  const PolynomialScheduleConfig& polynomial = config.polynomial();
  const std::optional<double> length =
      check_length(where, "length", polynomial.length(), 1, scope, errors);
  if (polynomial.has_warmup()) {
    Warmup::check_within(absl::StrCat(where, ".warmup"), polynomial.warmup(), length, scope,
                         errors);
  }
  errors->add(positive(where, "power", polynomial.power()));
  errors->add(check_fraction(where, "final_factor", polynomial.final_factor()));
}

absl::StatusOr<std::unique_ptr<Schedule>> PolynomialSchedule::create(const ScheduleConfig& config,
                                                                     double learning_rate,
                                                                     const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new PolynomialSchedule(config, learning_rate, scope));
}

PolynomialSchedule::PolynomialSchedule(const ScheduleConfig& config, double learning_rate,
                                       const ScheduleScope& scope)
    : Schedule(scope.unit),
      learning_rate_(learning_rate),
      warmup_(config.polynomial().warmup(), scope),
      length_(*length_of(config.polynomial().length(), scope)),
      power_(config.polynomial().power()),
      final_factor_(config.polynomial().final_factor()) {}

double PolynomialSchedule::rate_at(double position) const {
  if (position >= length_) return learning_rate_ * final_factor_;
  if (position < warmup_.length()) return learning_rate_ * warmup_.factor(position);
  const double left = (length_ - position) / (length_ - warmup_.length());
  return learning_rate_ * (final_factor_ + (1 - final_factor_) * std::pow(left, power_));
}

double PolynomialSchedule::end() const { return length_; }

}  // namespace millrace
