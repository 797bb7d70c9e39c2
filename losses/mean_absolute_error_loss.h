// Absolute error.
#ifndef MILLRACE_LOSSES_MEAN_ABSOLUTE_ERROR_LOSS_H_
#define MILLRACE_LOSSES_MEAN_ABSOLUTE_ERROR_LOSS_H_

#include "losses/loss.h"

namespace millrace {

// The sum of w |x - y| over examples, with x the output, y the label and w the weight. The gradient
// is 0 where x = y.
class MeanAbsoluteErrorLoss : public Loss {
 public:
  absl::string_view name() const override { return "mean_absolute_error"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_MEAN_ABSOLUTE_ERROR_LOSS_H_
