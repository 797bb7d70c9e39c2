// Checks of numbers that are used in float32 computations.
#ifndef MILLRACE_PROTO_FLOAT_FIELD_CHECK_H_
#define MILLRACE_PROTO_FLOAT_FIELD_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Each function returns wrong_number() of proto/field_check.h for a number out of range. Numbers
// must be finite in float32.
absl::Status finite_float(absl::string_view where, absl::string_view field, double value);
// Checks that `value` is at least 0.
absl::Status not_negative_float(absl::string_view where, absl::string_view field, double value);
// Checks that `value` is above 0.
absl::Status positive_float(absl::string_view where, absl::string_view field, double value);
// Checks that `value` is above 0, and that neither the value nor its reciprocal becomes 0 or
// infinity in float32.
absl::Status normal_float(absl::string_view where, absl::string_view field, double value);

}  // namespace millrace

#endif  // MILLRACE_PROTO_FLOAT_FIELD_CHECK_H_
