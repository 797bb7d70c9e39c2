// Batches without examples, for ranks whose data ended before that of others.
#ifndef MILLRACE_FRAMEWORK_RANKS_PADDING_H_
#define MILLRACE_FRAMEWORK_RANKS_PADDING_H_

#include <cstdint>

#include "io/batch.h"

namespace millrace {

// A batch of size 0. Its tensors have the shapes of `like`'s, with 0 examples; where there is no
// `like` (this rank never had an example), labels are [0, tasks], and there are no features. Its
// cursor is `cursor`.
Batch padding_batch(const Batch* like, int64_t tasks, Cursor cursor);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_PADDING_H_
