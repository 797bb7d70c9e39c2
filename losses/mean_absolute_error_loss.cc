#include "losses/mean_absolute_error_loss.h"

#include <ATen/ATen.h>

#include "losses/weighted_sum.h"

namespace millrace {

at::Tensor MeanAbsoluteErrorLoss::sum(const at::Tensor& outputs,
                                      const LossExamples& examples) const {
  const at::Tensor errors = outputs - examples.labels.to(outputs.scalar_type());
  return weighted_sum(errors.abs(), examples.weights);
}

}  // namespace millrace
