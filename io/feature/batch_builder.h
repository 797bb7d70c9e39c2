// Conversion of blocks to tensors.
#ifndef MILLRACE_IO_FEATURE_BATCH_BUILDER_H_
#define MILLRACE_IO_FEATURE_BATCH_BUILDER_H_

#include "absl/types/span.h"
#include "io/batch.h"
#include "io/block.h"

namespace millrace {

// Rows of one block.
struct BatchPiece {
  const Block* block = nullptr;
  absl::Span<const BlockRow> rows;
};

// Puts the rows of the pieces, one piece after the other, column by column, into one tensor each.
// The batch's cursor is left empty.
// REQUIRES: at least one row; the rows of a piece lie side by side (put_in_order); all blocks have
// the same features and kept columns of the same types, but some may lack weights: their examples
// weigh 1 then.
Batch build_batch(absl::Span<const BatchPiece> parts);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_BATCH_BUILDER_H_
