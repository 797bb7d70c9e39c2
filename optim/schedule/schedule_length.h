// Lengths of parts of a schedule in its unit.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_LENGTH_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_LENGTH_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Returns `value`, or the nearest whole number if that differs by no more than rounding errors
// (1e-9 × max(1, |value|)). Positions are whole numbers, and a length that should be whole must not
// end one position late.
double snap_to_whole(double value);

// Returns the length in the unit of `scope`; absent if `length` has an error, is not set, or is a
// share of a total that is counted when the job starts.
std::optional<double> length_of(const ScheduleLength& length, const ScheduleScope& scope);

// Adds an error if the length is not set, not finite, below `minimum`, or a share of a total that
// is not known. `where` is the place of the message that holds the length, `field` its name there.
// Returns: length_of(), or nothing if the length is below `minimum`.
std::optional<double> check_length(absl::string_view where, absl::string_view field,
                                   const ScheduleLength& length, double minimum,
                                   const ScheduleScope& scope, FieldErrors* errors);

// Adds an error if `length`, a length of `field` in the unit of `scope` that a schedule needs in
// order to reach its rate, exceeds the total of training. Ignores an absent length and a total that
// is not known.
void check_within_training(absl::string_view where, absl::string_view field,
                           std::optional<double> length, const ScheduleScope& scope,
                           FieldErrors* errors);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_LENGTH_H_
