// Bayesian personalised ranking.
#ifndef MILLRACE_LOSSES_PAIRWISE_LOSS_H_
#define MILLRACE_LOSSES_PAIRWISE_LOSS_H_

#include "losses/loss.h"

namespace millrace {

// The logistic loss of pairs (Rendle et al., "BPR: Bayesian personalized ranking from implicit
// feedback", arXiv:1205.2618). Over all pairs (i, j) of examples of one group with y_i > y_j, with
// x outputs and w weights:
//
//   sum of w_i w_j ln(1 + exp(x_j - x_i))
//
// Targets: the number of these pairs. Memory grows with it: about 40 bytes a pair.
class PairwiseLoss : public Loss {
 public:
  absl::string_view name() const override { return "pairwise"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
  int64_t count_targets(const LossExamples& examples) const override;
  bool targets_are_examples() const override { return false; }
  bool needs_groups() const override { return true; }
  LossLabels labels() const override { return LossLabels::kGrades; }
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_PAIRWISE_LOSS_H_
