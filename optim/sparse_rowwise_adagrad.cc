#include "optim/sparse_rowwise_adagrad.h"

#include "base/status_macros.h"
#include "optim/checked_number.h"
#include "optim/row_kernels.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseRowwiseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(
      check_not_negative("rowwise_adagrad.initial_accumulator", config.initial_accumulator()));
  RETURN_IF_ERROR(check_not_negative("rowwise_adagrad.epsilon", config.epsilon()));
  RETURN_IF_ERROR(check_not_negative("rowwise_adagrad.weight_decay", config.weight_decay()));
  return std::unique_ptr<RowOptimizer>(new SparseRowwiseAdagradOptimizer(config));
}

void SparseRowwiseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                           absl::Span<const RowUpdate> rows) const {
  AdagradNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.weight_decay = weight_decay_;
  numbers.epsilon = epsilon_;
  row_kernels(context.instruction_set).rowwise_adagrad(numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
