// Rules of the configuration of a split.
#ifndef MILLRACE_IO_FEATURE_SPLIT_CHECK_H_
#define MILLRACE_IO_FEATURE_SPLIT_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks a split without the type of its column. `where` is the place of `split` in the
// configuration and begins every message.
// Errors: InvalidArgument if `from` is not below or equal to `to`, a bound of HASH_* is not in
// [0, 1], ORDER_OF_COLUMN has no bound, or a column is missing or superfluous.
absl::Status check_split(absl::string_view where, const SplitConfig& split);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_SPLIT_CHECK_H_
