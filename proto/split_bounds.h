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

// Returns true if training or an evaluation set of `train`, or a source of their mixes, has a split
// by HASH_OF_EXAMPLE.
bool splits_by_example(const TrainConfig& train);

// Sets split_rule to FILE_NAME if `train` splits by example and has no rule yet.
void use_file_names(TrainConfig* train);

}  // namespace millrace

#endif  // MILLRACE_PROTO_SPLIT_BOUNDS_H_
