// Adam on rows.
#ifndef MILLRACE_OPTIM_SPARSE_ADAM_H_
#define MILLRACE_OPTIM_SPARSE_ADAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/row_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// With g = gradient_scale × gradient and t = UpdateContext::step, for each column:
//   m ← m + (1 − beta1) × (g − m)
//   v ← v + (1 − beta2) × (g² − v)
//   w ← w − learning_rate × √(1 − beta2ᵗ) / (1 − beta1ᵗ) × m / (√v + epsilon)
// Slots "exp_avg" (m) and "exp_avg_sq" (v), [dim] each, begin at 0. Rows that a step does not touch
// keep their averages ("lazy"). Epsilon is added to the root of the uncorrected average, so that its
// weight against the corrected one is epsilon / √(1 − beta2ᵗ): torch.optim.SparseAdam, and the
// "epsilon hat" form of D. Kingma, J. Ba, "Adam: A method for stochastic optimization", ICLR 2015,
// end of section 2. (torch::optim::Adam corrects first.) The correction's t counts the steps
// applied to the table, not to the row.
class SparseAdamOptimizer : public RowOptimizer {
 public:
  // Errors: InvalidArgument for a beta outside [0, 1) and an epsilon that is negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseAdam& config);

  absl::string_view name() const override { return "adam"; }
  std::vector<SlotSpec> slots(int64_t dim) const override {
    return {{"exp_avg", dim, 0.0f}, {"exp_avg_sq", dim, 0.0f}};
  }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  explicit SparseAdamOptimizer(const SparseAdam& config)
      : beta1_(config.beta1()), beta2_(config.beta2()), epsilon_(config.epsilon()) {}

  double beta1_;
  double beta2_;
  double epsilon_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SPARSE_ADAM_H_
