#include "optim/sparse_adagrad.h"

#include <cmath>

#include "base/status_macros.h"
#include "optim/checked_number.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(check_not_negative("adagrad.initial_accumulator", config.initial_accumulator()));
  RETURN_IF_ERROR(check_not_negative("adagrad.epsilon", config.epsilon()));
  return std::unique_ptr<RowOptimizer>(new SparseAdagradOptimizer(config));
}

void SparseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                    absl::Span<const RowUpdate> rows) const {
  const auto rate = static_cast<float>(context.learning_rate);
  const auto scale = static_cast<float>(context.gradient_scale);
  const float epsilon = epsilon_;
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    float* __restrict sum = row.slots;
    const float* __restrict gradient = row.gradient;
    for (int64_t c = 0; c < dim; ++c) {
      const float g = scale * gradient[c];
      sum[c] += g * g;
      // Nothing has been learned where no gradient came: 0 / 0 is 0 here.
      const float divisor = std::sqrt(sum[c]) + epsilon;
      weights[c] -= divisor > 0 ? rate * g / divisor : 0.0f;
    }
  }
}

}  // namespace millrace
