#include "optim/rows/sparse_adamw.h"

#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdamwOptimizer::create(
    const SparseAdam& config) {
  ASSIGN_OR_RETURN(AdamNumbers numbers, adam_numbers("adamw", config));
  numbers.corrects_first = true;
  return std::unique_ptr<RowOptimizer>(new SparseAdamwOptimizer(numbers, config.weight_decay()));
}

void SparseAdamwOptimizer::update(const UpdateContext& context, int64_t dim,
                                  absl::Span<const RowUpdate> rows) const {
  AdamNumbers numbers = numbers_;
  numbers.rate = context.learning_rate;
  numbers.step = context.step;
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.shrinkage = static_cast<float>(context.learning_rate * weight_decay_);
  update_adam_rows(context.instruction_set, numbers, dim, rows);
}

}  // namespace millrace
