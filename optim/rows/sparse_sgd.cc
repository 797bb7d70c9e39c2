#include "optim/rows/sparse_sgd.h"

#include "base/isa/instruction_set_choice.h"
#include "base/status_macros.h"
#include "optim/rows/row_kernels.h"
#include "proto/range_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseSgdOptimizer::create(const SparseSgd& config) {
  RETURN_IF_ERROR(check_ranges("sgd", config));
  return std::unique_ptr<RowOptimizer>(new SparseSgdOptimizer(config));
}

void SparseSgdOptimizer::update(const UpdateContext& context, int64_t dim,
                                absl::Span<const RowUpdate> rows) const {
  SgdNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.weight_decay = weight_decay_;
  choose(context.instruction_set, baseline::update_sgd, avx2::update_sgd, avx512::update_sgd)(
      numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
