#include "optim/rows/sparse_adam.h"

#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdamOptimizer::create(
    const SparseAdam& config) {
  ASSIGN_OR_RETURN(AdamNumbers numbers, adam_numbers("adam", config));
  numbers.weight_decay = static_cast<float>(config.weight_decay());
  return std::unique_ptr<RowOptimizer>(new SparseAdamOptimizer(numbers));
}

void SparseAdamOptimizer::update(const UpdateContext& context, int64_t dim,
                                 absl::Span<const RowUpdate> rows) const {
  AdamNumbers numbers = numbers_;
  numbers.rate = context.learning_rate;
  numbers.step = context.step;
  numbers.scale = static_cast<float>(context.gradient_scale);
  update_adam_rows(context.instruction_set, numbers, dim, rows);
}

}  // namespace millrace
