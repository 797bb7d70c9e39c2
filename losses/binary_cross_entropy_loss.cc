#include "losses/binary_cross_entropy_loss.h"

#include <ATen/ATen.h>

#include <optional>

namespace millrace {

at::Tensor BinaryCrossEntropyLoss::sum(const at::Tensor& outputs,
                                       const LossExamples& examples) const {
  at::Tensor labels = examples.labels.to(outputs.scalar_type());
  if (label_smoothing_ > 0) labels = labels * (1 - label_smoothing_) + label_smoothing_ / 2;
  std::optional<at::Tensor> weights, positive_weight;
  if (examples.weights.defined()) weights = examples.weights.to(outputs.scalar_type());
  if (positive_weight_ != 1) positive_weight = at::full({}, positive_weight_, outputs.options());
  return at::binary_cross_entropy_with_logits(outputs, labels, weights, positive_weight,
                                              at::Reduction::Sum);
}

at::Tensor BinaryCrossEntropyLoss::predict(const at::Tensor& outputs) const {
  return at::sigmoid(outputs);
}

}  // namespace millrace
