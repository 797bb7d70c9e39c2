// Squared error.
#ifndef MILLRACE_LOSSES_MEAN_SQUARED_ERROR_LOSS_H_
#define MILLRACE_LOSSES_MEAN_SQUARED_ERROR_LOSS_H_

#include "losses/loss.h"

namespace millrace {

// The sum of w (x - y)^2 over examples, with x the output, y the label and w the weight.
class MeanSquaredErrorLoss : public Loss {
 public:
  absl::string_view name() const override { return "mean_squared_error"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_MEAN_SQUARED_ERROR_LOSS_H_
