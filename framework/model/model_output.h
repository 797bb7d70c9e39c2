// The output of a model: checks, and the values of a step, shared by the train step and the
// evaluator.
#ifndef MILLRACE_FRAMEWORK_MODEL_MODEL_OUTPUT_H_
#define MILLRACE_FRAMEWORK_MODEL_MODEL_OUTPUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "framework/model/model.h"
#include "hook/events.h"

namespace millrace {

// Checks the shapes of `output`, which needs no wait for a device. `counted`: the size of the
// result of Model::count_targets(). Errors: InvalidArgument unless the loss is one number, or
// `counted` numbers if `counted` is above 0; the targets, if given, and each metric are one number;
// predictions are [batch.size, tasks] with a task for each label. The kind of these errors is kPart
// (base/failure_kind.h).
absl::Status check_model_output(const ModelOutput& output, const Batch& batch, size_t counted = 0);

// Calls model.count_targets(). Errors: of the model, also as exceptions; InvalidArgument if the
// result is neither empty nor one entry for each label, or has a negative entry. The kind of these
// errors is kPart, as that of exceptions.
absl::StatusOr<std::vector<int64_t>> count_targets(Model& model, const Batch& batch);

// Returns the factor of the summed loss of each task, float32 [tasks]: 1 / targets, or 0 for a task
// without targets.
at::Tensor target_factors(absl::Span<const int64_t> targets);

// Reduces the values of all micro-batches of a step, in their order, to one for each name. A name
// keeps the reduction of its first value. Detaches the tensors and reads none.
std::vector<StepValue> step_values(std::vector<NamedValue> reported);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MODEL_MODEL_OUTPUT_H_
