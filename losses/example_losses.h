// Losses of single examples.
#ifndef MILLRACE_LOSSES_EXAMPLE_LOSSES_H_
#define MILLRACE_LOSSES_EXAMPLE_LOSSES_H_

#include "losses/loss.h"
#include "proto/config.pb.h"

namespace millrace {

// With x the output, w the weight of the example, p the positive weight, s the label smoothing and
// y' = y (1 - s) + s / 2:
//
//   sum of w (p y' ln(1 + exp(-x)) + (1 - y') ln(1 + exp(x)))
//
// as torch.nn.functional.binary_cross_entropy_with_logits. Finite for any finite x.
class BinaryCrossEntropyLoss : public Loss {
 public:
  explicit BinaryCrossEntropyLoss(const BinaryCrossEntropyLossConfig& config)
      : label_smoothing_(config.label_smoothing()), positive_weight_(config.positive_weight()) {}

  absl::string_view name() const override { return "binary_cross_entropy"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
  at::Tensor predict(const at::Tensor& outputs) const override;
  bool predicts_probabilities() const override { return true; }
  LossLabels labels() const override { return LossLabels::kProbabilities; }

 private:
  const double label_smoothing_;
  const double positive_weight_;
};

// Cross entropy in which well-classified examples count little (Lin et al., "Focal loss for dense
// object detection", arXiv:1708.02002). With p = sigmoid(x), w the weight of the example, and a and
// b the weights of positives and negatives, alpha and 1 - alpha or both 1:
//
//   sum of w (a y (1 - p)^gamma (-ln p) + b (1 - y) p^gamma (-ln(1 - p)))
//
// Computed from ln p and ln(1 - p), so that the loss is finite for any finite x.
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

// The sum of w |x - y| over examples, with x the output, y the label and w the weight. The gradient
// is 0 where x = y.
class MeanAbsoluteErrorLoss : public Loss {
 public:
  absl::string_view name() const override { return "mean_absolute_error"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
};

// The sum of w (x - y)^2 over examples, with x the output, y the label and w the weight.
class MeanSquaredErrorLoss : public Loss {
 public:
  absl::string_view name() const override { return "mean_squared_error"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_EXAMPLE_LOSSES_H_
