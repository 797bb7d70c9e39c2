// Checks of numbers that several kinds of schedules have.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FIELD_CHECK_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FIELD_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Each returns wrong_number() of proto/field_check.h for a number that is out of range.
// 0 to 1.
absl::Status check_fraction(absl::string_view where, absl::string_view field, double value);
// Above 0 and at most 1.
absl::Status check_decay(absl::string_view where, absl::string_view field, double value);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_FIELD_CHECK_H_
