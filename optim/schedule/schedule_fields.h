// Fields that several kinds of schedules have: lengths and warm-ups.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FIELDS_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FIELDS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Returns `value`, or the nearest whole number if that number differs by no more than rounding
// errors (1e-9 × max(1, |value|)). Positions are whole numbers, and a length that should be whole
// must not end one position late.
double snap_to_whole(double value);

// Returns the length in the unit of `input`; absent if `length` has an error, is not set, or is a
// share of a total that is counted when the job starts.
std::optional<double> length_of(const ScheduleLength& length, const ScheduleInput& input);

// Adds an error if the length is not set, below `minimum`, or a share of a total that is not known.
// Ignores a number out of range, which check_ranges() reports. `where` is the place of the message
// that holds the length, `field` the name of the length in this message. Returns length_of(), or
// nothing if the length is below `minimum`.
std::optional<double> check_length(absl::string_view where, absl::string_view field,
                                   const ScheduleLength& length, double minimum,
                                   const ScheduleInput& input, FieldErrors* errors);

// Adds an error if `length`, a length of `field` in the unit of `input` that a schedule needs in
// order to reach its rate, exceeds the total of training. Ignores an absent length and a total that
// is not known.
void check_within_training(absl::string_view where, absl::string_view field,
                           std::optional<double> length, const ScheduleInput& input,
                           FieldErrors* errors);

// The factor of the learning rate at position t below the length W, and 1 from W on:
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
  Warmup(const ScheduleWarmup& config, const ScheduleInput& input);

  // Adds the errors of the message at `where`, except ranges of single fields: the length must be
  // at least `minimum` and at most the length of training, if known. Returns the length if there is
  // no error.
  static std::optional<double> check(absl::string_view where, const ScheduleWarmup& config,
                                     double minimum, const ScheduleInput& input,
                                     FieldErrors* errors);
  // Also adds an error if the warm-up leaves less than one unit of `length`, the length of the
  // schedule with its warm-up. Ignores an absent length.
  static void check_within(absl::string_view where, const ScheduleWarmup& config,
                           std::optional<double> length, const ScheduleInput& input,
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

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FIELDS_H_
