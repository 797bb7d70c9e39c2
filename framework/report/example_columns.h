// Properties of examples that group or slice metrics.
#ifndef MILLRACE_FRAMEWORK_REPORT_EXAMPLE_COLUMNS_H_
#define MILLRACE_FRAMEWORK_REPORT_EXAMPLE_COLUMNS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "framework/report/slice_metrics.h"
#include "hook/events.h"
#include "io/batch.h"

namespace millrace {

// Returns the first id of each example of `batch` for the sparse feature at index `feature` of
// Batch::sparse. The tensors are on the device of the batch, and the call does not wait for the
// device. REQUIRES: the feature exists.
FirstIds first_ids(const Batch& batch, int64_t feature);

// Sets StepResult::groups and StepResult::slices for all examples of `batches`, batch by batch.
// REQUIRES: `batches` is not empty.
void add_example_columns(absl::Span<const Batch> batches, absl::Span<const SliceOptions> slices,
                         StepResult& step);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_EXAMPLE_COLUMNS_H_
