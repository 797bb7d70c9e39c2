// Bounds of a split: their defaults and their rules.
#ifndef MILLRACE_PROTO_SPLIT_CHECK_H_
#define MILLRACE_PROTO_SPLIT_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// The part [from, to) of the positions.
struct SplitBounds {
  double from = 0;
  double to = 1;
};

// Returns the bounds of `split`. A bound that is not set is 0 or 1 for HASH_*, and minus or plus
// infinity for ORDER_OF_COLUMN.
SplitBounds split_bounds(const SplitConfig& split);

// True if every example is in the part, whatever its position.
bool takes_all(const SplitConfig& split);

// Checks a split without the type of its column. `where` is the place of `split` in the
// configuration and begins every message.
// Errors: InvalidArgument if `from` is not below or equal to `to`, a bound of HASH_* is not in
// [0, 1], ORDER_OF_COLUMN has no bound, or a column is missing or superfluous.
absl::Status check_split(absl::string_view where, const SplitConfig& split);

}  // namespace millrace

#endif  // MILLRACE_PROTO_SPLIT_CHECK_H_
