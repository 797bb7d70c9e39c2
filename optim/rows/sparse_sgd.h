// Stochastic gradient descent on rows.
#ifndef MILLRACE_OPTIM_ROWS_SPARSE_SGD_H_
#define MILLRACE_OPTIM_ROWS_SPARSE_SGD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// The update, with g = gradient_scale × gradient + weight_decay × w:
//   w ← w − learning_rate × g
// Has no slots. Weight decay is L2: added to the gradient, unscaled, only in the rows that a step
// touches. Equal to torch::optim::SGD without momentum on these rows.
class SparseSgdOptimizer : public RowOptimizer {
 public:
  SparseSgdOptimizer() = default;  // without weight decay
  // Creates the optimizer. Errors: InvalidArgument for numbers that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseSgd& config);

  absl::string_view name() const override { return "sgd"; }
  std::vector<SlotSpec> slots(int64_t dim) const override { return {}; }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  explicit SparseSgdOptimizer(const SparseSgd& config)
      : weight_decay_(static_cast<float>(config.weight_decay())) {}

  float weight_decay_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_SPARSE_SGD_H_
