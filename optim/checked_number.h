// Checks of configured numbers.
#ifndef MILLRACE_OPTIM_CHECKED_NUMBER_H_
#define MILLRACE_OPTIM_CHECKED_NUMBER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Errors: InvalidArgument naming the field unless `value` is at least 0 and finite as float32.
absl::Status check_not_negative(absl::string_view field, double value);

// Errors: InvalidArgument naming the field unless `value` is in [0, 1).
absl::Status check_below_one(absl::string_view field, double value);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_CHECKED_NUMBER_H_
