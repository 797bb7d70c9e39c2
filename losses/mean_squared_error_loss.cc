#include "losses/mean_squared_error_loss.h"

#include <ATen/ATen.h>

#include "losses/weighted_sum.h"

namespace millrace {

at::Tensor MeanSquaredErrorLoss::sum(const at::Tensor& outputs,
                                     const LossExamples& examples) const {
  const at::Tensor errors = outputs - examples.labels.to(outputs.scalar_type());
  return weighted_sum(errors.square(), examples.weights);
}

}  // namespace millrace
