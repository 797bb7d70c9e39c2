// Adam with decoupled weight decay on rows.
#ifndef MILLRACE_OPTIM_ROWS_SPARSE_ADAMW_H_
#define MILLRACE_OPTIM_ROWS_SPARSE_ADAMW_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "optim/rows/adam_kernel.h"
#include "optim/rows/adam_numbers.h"
#include "proto/config.pb.h"

namespace millrace {

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

#endif  // MILLRACE_OPTIM_ROWS_SPARSE_ADAMW_H_
