#include "losses/example_losses.h"

#include <ATen/ATen.h>

#include <optional>

#include "losses/weighted_sum.h"

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

at::Tensor FocalLoss::sum(const at::Tensor& outputs, const LossExamples& examples) const {
  const at::Tensor labels = examples.labels.to(outputs.scalar_type());
  const at::Tensor positive = at::log_sigmoid(outputs);   // ln p
  const at::Tensor negative = at::log_sigmoid(-outputs);  // ln(1 - p)
  const at::Tensor losses = positive_weight_ * labels * (gamma_ * negative).exp() * -positive +
                            negative_weight_ * (1 - labels) * (gamma_ * positive).exp() * -negative;
  return weighted_sum(losses, examples.weights);
}

at::Tensor FocalLoss::predict(const at::Tensor& outputs) const { return at::sigmoid(outputs); }

at::Tensor HuberLoss::sum(const at::Tensor& outputs, const LossExamples& examples) const {
  const at::Tensor labels = examples.labels.to(outputs.scalar_type());
  return weighted_sum(at::huber_loss(outputs, labels, at::Reduction::None, delta_),
                      examples.weights);
}

at::Tensor MeanAbsoluteErrorLoss::sum(const at::Tensor& outputs,
                                      const LossExamples& examples) const {
  const at::Tensor errors = outputs - examples.labels.to(outputs.scalar_type());
  return weighted_sum(errors.abs(), examples.weights);
}

at::Tensor MeanSquaredErrorLoss::sum(const at::Tensor& outputs,
                                     const LossExamples& examples) const {
  const at::Tensor errors = outputs - examples.labels.to(outputs.scalar_type());
  return weighted_sum(errors.square(), examples.weights);
}

}  // namespace millrace
