// What a model must return, checked once for the train step and the evaluator.
#ifndef MILLRACE_FRAMEWORK_MODEL_OUTPUT_CHECK_H_
#define MILLRACE_FRAMEWORK_MODEL_OUTPUT_CHECK_H_

#include "absl/status/status.h"
#include "framework/model.h"

namespace millrace {

// Looks at shapes alone, so it waits for no device.
// Errors: InvalidArgument unless the loss and, where given, the targets and each metric are one
// number, and predictions are [batch.size, tasks] with a task for each label.
absl::Status check_model_output(const ModelOutput& output, const Batch& batch);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MODEL_OUTPUT_CHECK_H_
