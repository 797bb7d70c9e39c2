#include "optim/rows/sparse_adagrad.h"

#include "base/isa/instruction_set_choice.h"
#include "base/status_macros.h"
#include "optim/rows/row_kernels.h"
#include "proto/range_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(check_ranges("adagrad", config));
  return std::unique_ptr<RowOptimizer>(new SparseAdagradOptimizer(config));
}

void SparseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                    absl::Span<const RowUpdate> rows) const {
  AdagradNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.weight_decay = weight_decay_;
  numbers.epsilon = epsilon_;
  choose(context.instruction_set, baseline::update_adagrad, avx2::update_adagrad,
         avx512::update_adagrad)(numbers, dim, rows.data(), rows.size());
}

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseRowwiseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(check_ranges("rowwise_adagrad", config));
  return std::unique_ptr<RowOptimizer>(new SparseRowwiseAdagradOptimizer(config));
}

void SparseRowwiseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                           absl::Span<const RowUpdate> rows) const {
  AdagradNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.weight_decay = weight_decay_;
  numbers.epsilon = epsilon_;
  choose(context.instruction_set, baseline::update_rowwise_adagrad, avx2::update_rowwise_adagrad,
         avx512::update_rowwise_adagrad)(numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
