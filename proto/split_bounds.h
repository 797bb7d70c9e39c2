// The interval of positions that a split keeps.
#ifndef MILLRACE_PROTO_SPLIT_BOUNDS_H_
#define MILLRACE_PROTO_SPLIT_BOUNDS_H_

#include "proto/config.pb.h"

namespace millrace {

// The interval [from, to) of positions.
struct SplitBounds {
  double from = 0;
  double to = 1;
};

// Returns the bounds of `split`. The default of a bound is 0 or 1 for HASH_*, and minus or plus
// infinity for ORDER_OF_COLUMN.
SplitBounds split_bounds(const SplitConfig& split);

// Returns true if the split keeps every example.
bool takes_all(const SplitConfig& split);

}  // namespace millrace

#endif  // MILLRACE_PROTO_SPLIT_BOUNDS_H_
