#include "optim/rows/sparse_adagrad.h"

#include "base/status_macros.h"
#include "optim/rows/row_kernels.h"
#include "proto/table_number_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(check_sparse_adagrad("adagrad", config));
  return std::unique_ptr<RowOptimizer>(new SparseAdagradOptimizer(config));
}

void SparseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                    absl::Span<const RowUpdate> rows) const {
  AdagradNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.weight_decay = weight_decay_;
  numbers.epsilon = epsilon_;
  row_kernels(context.instruction_set).adagrad(numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
