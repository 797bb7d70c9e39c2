#include "losses/focal_loss.h"

#include <ATen/ATen.h>

#include "losses/weighted_sum.h"

namespace millrace {

at::Tensor FocalLoss::sum(const at::Tensor& outputs, const LossExamples& examples) const {
  const at::Tensor labels = examples.labels.to(outputs.scalar_type());
  const at::Tensor positive = at::log_sigmoid(outputs);   // ln p
  const at::Tensor negative = at::log_sigmoid(-outputs);  // ln(1 - p)
  const at::Tensor losses = positive_weight_ * labels * (gamma_ * negative).exp() * -positive +
                            negative_weight_ * (1 - labels) * (gamma_ * positive).exp() * -negative;
  return weighted_sum(losses, examples.weights);
}

at::Tensor FocalLoss::predict(const at::Tensor& outputs) const { return at::sigmoid(outputs); }

}  // namespace millrace
