#include "optim/sparse_ftrl.h"

#include "base/status_macros.h"
#include "optim/checked_number.h"
#include "optim/row_kernels.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseFtrlOptimizer::create(
    const SparseFtrl& config) {
  RETURN_IF_ERROR(check_not_negative("ftrl.beta", config.beta()));
  RETURN_IF_ERROR(check_not_negative("ftrl.l1", config.l1()));
  RETURN_IF_ERROR(check_not_negative("ftrl.l2", config.l2()));
  RETURN_IF_ERROR(check_not_negative("ftrl.initial_accumulator", config.initial_accumulator()));
  return std::unique_ptr<RowOptimizer>(new SparseFtrlOptimizer(config));
}

void SparseFtrlOptimizer::update(const UpdateContext& context, int64_t dim,
                                 absl::Span<const RowUpdate> rows) const {
  FtrlNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.beta = beta_;
  numbers.l1 = l1_;
  numbers.l2 = l2_;
  row_kernels(context.instruction_set).ftrl(numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
