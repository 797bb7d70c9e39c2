#include "losses/huber_loss.h"

#include <ATen/ATen.h>

#include "losses/weighted_sum.h"

namespace millrace {

at::Tensor HuberLoss::sum(const at::Tensor& outputs, const LossExamples& examples) const {
  const at::Tensor labels = examples.labels.to(outputs.scalar_type());
  return weighted_sum(at::huber_loss(outputs, labels, at::Reduction::None, delta_),
                      examples.weights);
}

}  // namespace millrace
