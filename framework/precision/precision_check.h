// Checks of train.precision.
#ifndef MILLRACE_FRAMEWORK_PRECISION_PRECISION_CHECK_H_
#define MILLRACE_FRAMEWORK_PRECISION_PRECISION_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks a PrecisionConfig. Errors: InvalidArgument that begins with `where`, the place of
// `config`, and names all wrong fields: numbers out of range, and loss_scale without FLOAT16.
absl::Status check_precision(absl::string_view where, const PrecisionConfig& config);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_PRECISION_PRECISION_CHECK_H_
