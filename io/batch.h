// One batch of examples, the input of a model.
#ifndef MILLRACE_IO_BATCH_H_
#define MILLRACE_IO_BATCH_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "io/column.h"
#include "io/cursor.h"

namespace millrace {

// All sparse features of a batch in one jagged tensor: feature after feature in the order of
// the FeatureSchema, and within a feature example after example. The ids of feature f and
// example e are values[offsets[f * batch + e]] up to, not including, values[offsets[f * batch + e +
// 1]].
struct KeyedJagged {
  at::Tensor values;   // int64 [total ids]
  at::Tensor offsets;  // int64 [features * batch + 1], not decreasing, from 0 to the total
  at::Tensor weights;  // float32 [total ids], or undefined: all 1
};

// Batches are values: copies share the tensors, which are never modified. HookList::after_data()
// checks that hooks keep this rule, and ends the run if one does not.
struct Batch {
  int64_t size = 0;  // examples
  KeyedJagged sparse;
  at::Tensor dense;        // float32 [batch, dense features], in the order of the FeatureSchema
  at::Tensor labels;       // float32 [batch, tasks]; not-a-number: missing (FeatureConfig.MASK)
  at::Tensor weights;      // float32 [batch], or undefined: all 1
  at::Tensor example_ids;  // int64 [batch]; default: number of the file << 40 | row in the file
  at::Tensor group_ids;    // int64 [batch], or undefined; for grouped metrics
  // Columns of the files as they are, in the order of FeatureSchema::kept_columns(), with `size`
  // rows each; null: none are kept.
  std::shared_ptr<const std::vector<Column>> kept;
  Cursor cursor;  // the position in the data just after this batch
  // Number of examples skipped as bad data (DataConfig.bad_data) since the previous batch. The last
  // batch of an epoch also counts examples skipped after its last example.
  int64_t bad_examples = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_BATCH_H_
