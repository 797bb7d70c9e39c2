// What a model must return, checked once for the train step and the evaluator.
#ifndef MILLRACE_FRAMEWORK_MODEL_OUTPUT_CHECK_H_
#define MILLRACE_FRAMEWORK_MODEL_OUTPUT_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "framework/model.h"

namespace millrace {

// Looks at shapes alone, so it waits for no device. `counted`: the size of what
// Model::count_targets() returned.
// Errors: InvalidArgument unless the loss is one number, or `counted` numbers if that is above 0;
// the targets, where given, and each metric are one number; predictions are [batch.size, tasks]
// with a task for each label.
absl::Status check_model_output(const ModelOutput& output, const Batch& batch, size_t counted = 0);

// Calls model.count_targets(). Errors: its own, also as exceptions; InvalidArgument if the result
// has neither no entry nor one for each label, or a negative one.
absl::StatusOr<std::vector<int64_t>> count_targets(Model& model, const Batch& batch);

// Returns the factor of the summed loss of each task, float32 [tasks]: 1 / targets, and 0 where
// there is none.
at::Tensor target_factors(absl::Span<const int64_t> targets);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MODEL_OUTPUT_CHECK_H_
