// Focal loss.
#ifndef MILLRACE_LOSSES_FOCAL_LOSS_H_
#define MILLRACE_LOSSES_FOCAL_LOSS_H_

#include "losses/loss.h"
#include "proto/config.pb.h"

namespace millrace {

// Cross entropy in which well-classified examples count little (Lin et al., "Focal loss for dense
// object detection", arXiv:1708.02002). With p = sigmoid(x), w the weight of the example, and a and
// b the weights of positives and negatives, alpha and 1 - alpha or both 1:
//
//   sum of w (a y (1 - p)^gamma (-ln p) + b (1 - y) p^gamma (-ln(1 - p)))
//
// Computed from ln p and ln(1 - p), so that it is finite for any finite x.
class FocalLoss : public Loss {
 public:
  explicit FocalLoss(const FocalLossConfig& config)
      : gamma_(config.gamma()),
        positive_weight_(config.has_alpha() ? config.alpha() : 1),
        negative_weight_(config.has_alpha() ? 1 - config.alpha() : 1) {}

  absl::string_view name() const override { return "focal"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
  at::Tensor predict(const at::Tensor& outputs) const override;
  bool predicts_probabilities() const override { return true; }
  LossLabels labels() const override { return LossLabels::kProbabilities; }

 private:
  const double gamma_;
  const double positive_weight_;
  const double negative_weight_;
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_FOCAL_LOSS_H_
