#include "optim/sparse_sgd.h"

namespace millrace {

void SparseSgdOptimizer::update(const UpdateContext& context, int64_t dim,
                                absl::Span<const RowUpdate> rows) const {
  const auto rate = static_cast<float>(context.learning_rate);
  const auto scale = static_cast<float>(context.gradient_scale);
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    const float* __restrict gradient = row.gradient;
    for (int64_t c = 0; c < dim; ++c) weights[c] -= rate * (scale * gradient[c]);
  }
}

}  // namespace millrace
