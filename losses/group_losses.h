// Losses of examples in groups.
#ifndef MILLRACE_LOSSES_GROUP_LOSSES_H_
#define MILLRACE_LOSSES_GROUP_LOSSES_H_

#include <cstddef>

#include "losses/loss.h"
#include "proto/config.pb.h"

namespace millrace {

// The logistic loss of pairs (Rendle et al., "BPR: Bayesian personalized ranking from implicit
// feedback", arXiv:1205.2618). Over all pairs (i, j) of examples of one group with y_i > y_j, with
// x outputs and w weights:
//
//   sum of w_i w_j ln(1 + exp(x_j - x_i))
//
// Targets: the number of these pairs. Time grows with the number of pairs. Memory grows only up to
// `pairs_at_once`, about 40 bytes per pair: more pairs are summed in blocks.
class PairwiseLoss : public Loss {
 public:
  explicit PairwiseLoss(size_t pairs_at_once = 1 << 22) : pairs_at_once_(pairs_at_once) {}

  absl::string_view name() const override { return "pairwise"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
  int64_t count_targets(const LossExamples& examples) const override;
  bool targets_are_examples() const override { return false; }
  bool needs_groups() const override { return true; }
  LossLabels labels() const override { return LossLabels::kGrades; }

 private:
  const size_t pairs_at_once_;
};

// The cross entropy between the labels of a group and the softmax of its outputs (ListNet: Cao et
// al., "Learning to rank: from pairwise approach to listwise approach", ICML 2007). With x outputs,
// w weights and T the temperature, over groups G:
//
//   sum over G, i in G of w_i y_i (ln(sum over j in G of exp(x_j / T)) - x_i / T)
//
// Targets: the number of groups with a label above 0. A weight does not change the share of its
// example in the softmax.
class SoftmaxLoss : public Loss {
 public:
  explicit SoftmaxLoss(const SoftmaxLossConfig& config) : temperature_(config.temperature()) {}

  absl::string_view name() const override { return "softmax"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override;
  int64_t count_targets(const LossExamples& examples) const override;
  bool targets_are_examples() const override { return false; }
  bool needs_groups() const override { return true; }
  LossLabels labels() const override { return LossLabels::kGrades; }

 private:
  const double temperature_;
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_GROUP_LOSSES_H_
