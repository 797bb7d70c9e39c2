#include "optim/schedule/schedule_field_check.h"

#include "proto/field_check.h"

namespace millrace {

absl::Status check_fraction(absl::string_view where, absl::string_view field, double value) {
  if (value >= 0 && value <= 1) return absl::OkStatus();
  return wrong_number(where, field, value, "0 to 1");
}

absl::Status check_decay(absl::string_view where, absl::string_view field, double value) {
  if (value > 0 && value <= 1) return absl::OkStatus();
  return wrong_number(where, field, value, "above 0 and at most 1");
}

}  // namespace millrace
