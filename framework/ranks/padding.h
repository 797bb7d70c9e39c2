// Batches without examples, for ranks whose data ended before the data of other ranks.
#ifndef MILLRACE_FRAMEWORK_RANKS_PADDING_H_
#define MILLRACE_FRAMEWORK_RANKS_PADDING_H_

#include <cstdint>

#include "io/batch.h"

namespace millrace {

// Returns a batch of size 0 with this cursor. Its tensors have the shapes of the tensors of `like`,
// with 0 examples. Without `like` (this rank never had an example), labels are [0, tasks], and
// there are no features.
Batch padding_batch(const Batch* like, int64_t tasks, Cursor cursor);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_PADDING_H_
