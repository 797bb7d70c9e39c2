#include "optim/sparse_sgd.h"

#include "optim/row_kernels.h"

namespace millrace {

void SparseSgdOptimizer::update(const UpdateContext& context, int64_t dim,
                                absl::Span<const RowUpdate> rows) const {
  SgdNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  row_kernels(context.instruction_set).sgd(numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
