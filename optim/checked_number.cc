#include "optim/checked_number.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status check_not_negative(absl::string_view field, double value) {
  if (value >= 0 && value <= std::numeric_limits<float>::max()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; a finite float32 of at least 0 is due"));
}

absl::Status check_below_one(absl::string_view field, double value) {
  if (value >= 0 && value < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, ", not in [0, 1)"));
}

}  // namespace millrace
