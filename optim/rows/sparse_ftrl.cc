#include "optim/rows/sparse_ftrl.h"

#include "base/isa/instruction_set_choice.h"
#include "base/status_macros.h"
#include "optim/rows/row_kernels.h"
#include "proto/range_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseFtrlOptimizer::create(
    const SparseFtrl& config) {
  RETURN_IF_ERROR(check_ranges("ftrl", config));
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
  choose(context.instruction_set, baseline::update_ftrl, avx2::update_ftrl, avx512::update_ftrl)(
      numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
