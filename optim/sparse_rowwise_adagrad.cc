#include "optim/sparse_rowwise_adagrad.h"

#include <cmath>

#include "base/status_macros.h"
#include "embedding/row_math.h"
#include "optim/checked_number.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseRowwiseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(
      check_not_negative("rowwise_adagrad.initial_accumulator", config.initial_accumulator()));
  RETURN_IF_ERROR(check_not_negative("rowwise_adagrad.epsilon", config.epsilon()));
  return std::unique_ptr<RowOptimizer>(new SparseRowwiseAdagradOptimizer(config));
}

void SparseRowwiseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                           absl::Span<const RowUpdate> rows) const {
  const auto rate = static_cast<float>(context.learning_rate);
  const auto scale = static_cast<float>(context.gradient_scale);
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    const float* __restrict gradient = row.gradient;
    float& sum = row.slots[0];
    sum += sum_of_squares<float>(gradient, dim, scale) / static_cast<float>(dim);
    const float divisor = std::sqrt(sum) + epsilon_;
    if (!(divisor > 0)) continue;  // no gradient has come yet
    const float multiplier = rate / divisor;
    for (int64_t c = 0; c < dim; ++c) weights[c] -= multiplier * (scale * gradient[c]);
  }
}

}  // namespace millrace
