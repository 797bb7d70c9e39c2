// The output of a model with one binary task.
#ifndef MILLRACE_MODELS_BINARY_OUTPUT_H_
#define MILLRACE_MODELS_BINARY_OUTPUT_H_

#include <ATen/core/Tensor.h>

#include "framework/model/model.h"
#include "io/batch.h"

namespace millrace {

// Returns loss and predictions for `logits`, float32 or a reduced precision [batch]. The loss is
// the binary cross entropy with logits: the sum over examples of weight * (ln(1 + exp(logit)) -
// label * logit). Predictions are the sigmoids of the logits, float32 [batch, 1], without gradient.
// An empty batch has loss 0.
ModelOutput binary_output(const at::Tensor& logits, const Batch& batch);

}  // namespace millrace

#endif  // MILLRACE_MODELS_BINARY_OUTPUT_H_
