// Adam on rows, and AdamW: with decoupled weight decay.
#ifndef MILLRACE_OPTIM_ROWS_SPARSE_ADAM_H_
#define MILLRACE_OPTIM_ROWS_SPARSE_ADAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "optim/rows/row_kernels.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the slots of both classes: "exp_avg" and "exp_avg_sq" [dim], and "step" [1] if rows
// count their steps. All begin at 0.
std::vector<SlotSpec> adam_slots(const AdamNumbers& numbers, int64_t dim);

// With g = gradient_scale × gradient + weight_decay × w, for each column:
//   m ← m + (1 − beta1) × (g − m)
//   v ← v + (1 − beta2) × (g² − v)
//   w ← w − learning_rate × √(1 − beta2ᵗ) / (1 − beta1ᵗ) × m / (√v + epsilon)
// Slots "exp_avg" (m) and "exp_avg_sq" (v), [dim] each, begin at 0. Rows that a step does not touch
// keep their averages ("lazy"). Epsilon is added to the root of the uncorrected average, so that
// relative to the corrected average it is epsilon / √(1 − beta2ᵗ), as in torch.optim.SparseAdam and
// the "epsilon hat" form of D. Kingma, J. Ba, "Adam: A method for stochastic optimization", ICLR
// 2015, end of section 2. (torch::optim::Adam corrects first.) Weight decay is L2, as in
// torch::optim::Adam (SparseAdam has none), but only in the rows that a step touches.
//
// The correction's t counts, by step_count,
//   TABLE: the steps applied to the table (UpdateContext::step), as SparseAdam does. A row that
//     first comes late takes a small first step: its averages begin at 0 but are corrected no more.
//   ROW: the updates of the row, in a slot "step" [1] that begins at 0 and ends at 2^24.
class SparseAdamOptimizer : public RowOptimizer {
 public:
  // Creates the optimizer. Errors: InvalidArgument for a beta outside [0, 1) and for other numbers
  // that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseAdam& config);

  absl::string_view name() const override { return "adam"; }
  std::vector<SlotSpec> slots(int64_t dim) const override { return adam_slots(numbers_, dim); }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  explicit SparseAdamOptimizer(const AdamNumbers& numbers) : numbers_(numbers) {}

  AdamNumbers numbers_;  // except the numbers of the context
};

// With g = gradient_scale × gradient, for each column:
//   m ← m + (1 − beta1) × (g − m)
//   v ← v + (1 − beta2) × (g² − v)
//   w ← w − learning_rate × (weight_decay × w + m̂ / (√v̂ + epsilon)),
//       m̂ = m / (1 − beta1ᵗ), v̂ = v / (1 − beta2ᵗ)
// Slots and t as for SparseAdamOptimizer. Epsilon is added to the root of the *corrected* average.
// Weight decay is decoupled: a share of the weight is subtracted without an effect on the averages,
// only in the rows that a step touches; other rows do not shrink. I. Loshchilov, F. Hutter,
// "Decoupled weight decay regularization", ICLR 2019, algorithm 2, with the schedule in
// learning_rate; equal to torch::optim::AdamW on the rows that a step touches.
class SparseAdamwOptimizer : public RowOptimizer {
 public:
  // Creates the optimizer. Errors: InvalidArgument for a beta outside [0, 1) and for other numbers
  // that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseAdam& config);

  absl::string_view name() const override { return "adamw"; }
  std::vector<SlotSpec> slots(int64_t dim) const override { return adam_slots(numbers_, dim); }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  SparseAdamwOptimizer(const AdamNumbers& numbers, double weight_decay)
      : numbers_(numbers), weight_decay_(weight_decay) {}

  AdamNumbers numbers_;  // except the numbers of the context
  double weight_decay_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_SPARSE_ADAM_H_
