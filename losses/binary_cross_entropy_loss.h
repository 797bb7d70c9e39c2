// Binary cross entropy with logits.
#ifndef MILLRACE_LOSSES_BINARY_CROSS_ENTROPY_LOSS_H_
#define MILLRACE_LOSSES_BINARY_CROSS_ENTROPY_LOSS_H_

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

}  // namespace millrace

#endif  // MILLRACE_LOSSES_BINARY_CROSS_ENTROPY_LOSS_H_
