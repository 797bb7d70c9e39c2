// Huber's loss.
#ifndef MILLRACE_LOSSES_HUBER_LOSS_H_
#define MILLRACE_LOSSES_HUBER_LOSS_H_

#include "losses/loss.h"
#include "proto/config.pb.h"

namespace millrace {

// Squared near 0 and linear beyond delta (Huber, "Robust estimation of a location parameter", 1964;
// torch.nn.functional.huber_loss). With e = |x - y| and w the weight of the example:
//
//   sum of w e^2 / 2               where e <= delta
//          w delta (e - delta / 2) elsewhere
class HuberLoss : public Loss {
 public:
  explicit HuberLoss(const HuberLossConfig& config) : delta_(config.delta()) {}

  absl::string_view name() const override { return "huber"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;

 private:
  const double delta_;
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_HUBER_LOSS_H_
