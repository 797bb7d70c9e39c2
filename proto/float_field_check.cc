#include "proto/float_field_check.h"

#include <cmath>
#include <limits>

#include "proto/field_check.h"

namespace millrace {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();
constexpr double kSmallestNormal = std::numeric_limits<float>::min();

}  // namespace

absl::Status finite_float(absl::string_view where, absl::string_view field, double value) {
  if (std::fabs(value) <= kLargest) return absl::OkStatus();
  return wrong_number(where, field, value, "finite");
}

absl::Status not_negative_float(absl::string_view where, absl::string_view field, double value) {
  if (value >= 0 && value <= kLargest) return absl::OkStatus();
  return wrong_number(where, field, value, "at least 0 and finite");
}

absl::Status normal_float(absl::string_view where, absl::string_view field, double value) {
  if (value >= kSmallestNormal && value <= kLargest) return absl::OkStatus();
  return wrong_number(where, field, value, "a positive, normal number of float32");
}

absl::Status positive_float(absl::string_view where, absl::string_view field, double value) {
  if (value > 0 && value <= kLargest) return absl::OkStatus();
  return wrong_number(where, field, value, "greater than 0 and finite");
}

}  // namespace millrace
