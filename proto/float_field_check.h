// Checks of numbers that are computed with in float32.
#ifndef MILLRACE_PROTO_FLOAT_FIELD_CHECK_H_
#define MILLRACE_PROTO_FLOAT_FIELD_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Each returns wrong_number() of proto/field_check.h for a number that is out of range. Numbers
// must be finite in float32.
absl::Status finite_float(absl::string_view where, absl::string_view field, double value);
// At least 0.
absl::Status not_negative_float(absl::string_view where, absl::string_view field, double value);
// Above 0.
absl::Status positive_float(absl::string_view where, absl::string_view field, double value);
// Above 0, and neither it nor its reciprocal is rounded to 0 or infinity in float32.
absl::Status normal_float(absl::string_view where, absl::string_view field, double value);

}  // namespace millrace

#endif  // MILLRACE_PROTO_FLOAT_FIELD_CHECK_H_
