// The part of the positions that a split keeps.
#ifndef MILLRACE_PROTO_SPLIT_BOUNDS_H_
#define MILLRACE_PROTO_SPLIT_BOUNDS_H_

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

}  // namespace millrace

#endif  // MILLRACE_PROTO_SPLIT_BOUNDS_H_
