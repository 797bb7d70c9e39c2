// The linear increase with which several schedules begin.
#ifndef MILLRACE_OPTIM_SCHEDULE_WARMUP_H_
#define MILLRACE_OPTIM_SCHEDULE_WARMUP_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Factor of the learning rate at position t below the length W, and 1 from W on:
//   start_factor + (1 − start_factor) × t / W
// Sources: `LinearLR` of torch.optim.lr_scheduler; the warm-up of the schedules of fairseq2.
// Immutable.
class Warmup {
 public:
  // No warm-up.
  Warmup() = default;
  // REQUIRES: length >= 0 and finite.
  Warmup(double start_factor, double length) : start_factor_(start_factor), length_(length) {}
  // REQUIRES: check() adds no error, or `config` is the default message: no warm-up.
  Warmup(const ScheduleWarmup& config, const ScheduleScope& scope);

  // Adds all errors of the message at `where`, whose length must be at least `minimum` and at most
  // the length of training where that is known.
  // Returns: the length if it is right.
  static std::optional<double> check(absl::string_view where, const ScheduleWarmup& config,
                                     double minimum, const ScheduleScope& scope,
                                     FieldErrors* errors);
  // Adds also an error if the warm-up leaves less than one unit of `length`, the length of the
  // schedule with its warm-up. Ignores a length that is absent.
  static void check_within(absl::string_view where, const ScheduleWarmup& config,
                           std::optional<double> length, const ScheduleScope& scope,
                           FieldErrors* errors);

  // Returns the position at which the warm-up ends.
  double length() const { return length_; }
  // Returns the factor of the learning rate; 1 from length() on.
  double factor(double position) const;

 private:
  double start_factor_ = 0;
  double length_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_WARMUP_H_
