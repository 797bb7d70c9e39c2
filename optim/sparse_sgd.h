// Stochastic gradient descent on rows.
#ifndef MILLRACE_OPTIM_SPARSE_SGD_H_
#define MILLRACE_OPTIM_SPARSE_SGD_H_

#include "embedding/row_optimizer.h"

namespace millrace {

// With g = gradient_scale × gradient:
//   w ← w − learning_rate × g
// No slots, no numbers of its own. Equal to torch::optim::SGD on the rows a step touches.
class SparseSgdOptimizer : public RowOptimizer {
 public:
  absl::string_view name() const override { return "sgd"; }
  std::vector<SlotSpec> slots(int64_t dim) const override { return {}; }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SPARSE_SGD_H_
