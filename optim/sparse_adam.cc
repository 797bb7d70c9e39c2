#include "optim/sparse_adam.h"

#include "base/status_macros.h"
#include "optim/checked_number.h"
#include "optim/row_kernels.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdamOptimizer::create(
    const SparseAdam& config) {
  RETURN_IF_ERROR(check_below_one("adam.beta1", config.beta1()));
  RETURN_IF_ERROR(check_below_one("adam.beta2", config.beta2()));
  RETURN_IF_ERROR(check_not_negative("adam.epsilon", config.epsilon()));
  return std::unique_ptr<RowOptimizer>(new SparseAdamOptimizer(config));
}

void SparseAdamOptimizer::update(const UpdateContext& context, int64_t dim,
                                 absl::Span<const RowUpdate> rows) const {
  AdamNumbers numbers;
  numbers.rate = context.learning_rate;
  numbers.beta1 = beta1_;
  numbers.beta2 = beta2_;
  numbers.epsilon = epsilon_;
  numbers.step = context.step;
  numbers.scale = static_cast<float>(context.gradient_scale);
  row_kernels(context.instruction_set).adam(numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
