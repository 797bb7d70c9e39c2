// Rules of the configuration of initializers.
#ifndef MILLRACE_EMBEDDING_ROWS_INITIALIZER_CHECK_H_
#define MILLRACE_EMBEDDING_ROWS_INITIALIZER_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Distance from the mean, in standard deviations, beyond which a normal distribution has no mass in
// float64.
inline constexpr double kNormalTail = 8;

// Checks the numbers of the kind that is chosen. Errors:
// InvalidArgument that begins with `where`, the place of the message in the configuration, and
// names the field that is out of range. Tables compute in float32, so that numbers must be finite
// in it.
absl::Status check_initializer(absl::string_view where, const InitializerConfig& config);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_INITIALIZER_CHECK_H_
