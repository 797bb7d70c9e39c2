#include "optim/schedule/kinds/cosine_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "absl/strings/str_cat.h"
#include "optim/schedule/schedule_field_check.h"
#include "optim/schedule/schedule_length.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

constexpr double kMostMultiplier = 1000;

}  // namespace

void CosineSchedule::check(absl::string_view where, const ScheduleConfig& config,
                           const ScheduleScope& scope, FieldErrors* errors) {
  const CosineScheduleConfig& cosine = config.cosine();
  const std::optional<double> length =
      check_length(where, "length", cosine.length(), 1, scope, errors);
  if (cosine.has_warmup()) {
    Warmup::check_within(absl::StrCat(where, ".warmup"), cosine.warmup(), length, scope, errors);
  }
  errors->add(check_fraction(where, "final_factor", cosine.final_factor()));
  errors->add(at_least(where, "cycles", cosine.cycles(), 0));
  if (!(cosine.cycle_multiplier() >= 1 && cosine.cycle_multiplier() <= kMostMultiplier)) {
    errors->add(wrong_number(where, "cycle_multiplier", cosine.cycle_multiplier(),
                             absl::StrCat("1 to ", kMostMultiplier)));
  }
  errors->add(check_decay(where, "cycle_decay", cosine.cycle_decay()));
}

absl::StatusOr<std::unique_ptr<Schedule>> CosineSchedule::create(const ScheduleConfig& config,
                                                                 double learning_rate,
                                                                 const ScheduleScope& scope) {
  return std::unique_ptr<Schedule>(new CosineSchedule(config, learning_rate, scope));
}

CosineSchedule::CosineSchedule(const ScheduleConfig& config, double learning_rate,
                               const ScheduleScope& scope)
    : Schedule(scope.unit),
      learning_rate_(learning_rate),
      warmup_(config.cosine().warmup(), scope),
      length_(*length_of(config.cosine().length(), scope) - warmup_.length()),
      final_factor_(config.cosine().final_factor()),
      cycles_(config.cosine().cycles() == 0 ? std::numeric_limits<double>::infinity()
                                            : static_cast<double>(config.cosine().cycles())),
      multiplier_(config.cosine().cycle_multiplier()),
      decay_(config.cosine().cycle_decay()) {}

double CosineSchedule::start_of(double cycle) const {
  if (multiplier_ == 1) return length_ * cycle;
  // The sum of a geometric series; expm1 is exact also where the multiplier is hardly above 1.
  const double growth = std::expm1(cycle * std::log(multiplier_));
  return snap_to_whole(length_ * growth / (multiplier_ - 1));
}

CosineSchedule::Point CosineSchedule::point_at(double time) const {
  Point point;
  const double ratio = time / length_;
  point.cycle = multiplier_ == 1
                    ? std::floor(ratio)
                    : std::floor(std::log1p(ratio * (multiplier_ - 1)) / std::log(multiplier_));
  // Rounding may have put a border into the wrong cycle.
  if (start_of(point.cycle) > time) --point.cycle;
  if (start_of(point.cycle + 1) <= time) ++point.cycle;
  if (point.cycle >= cycles_) return {cycles_ - 1, 1};
  const double start = start_of(point.cycle);
  const double length = start_of(point.cycle + 1) - start;
  // A cycle far out may be shorter than the distance of doubles.
  if (length > 0) point.share = std::clamp((time - start) / length, 0.0, 1.0);
  return point;
}

double CosineSchedule::rate_at(double position) const {
  if (position < warmup_.length()) return learning_rate_ * warmup_.factor(position);
  const Point point = point_at(position - warmup_.length());
  const double wave = (1 + std::cos(std::numbers::pi * point.share)) / 2;
  return learning_rate_ * std::pow(decay_, point.cycle) *
         (final_factor_ + (1 - final_factor_) * wave);
}

double CosineSchedule::end() const { return warmup_.length() + start_of(cycles_); }

}  // namespace millrace
