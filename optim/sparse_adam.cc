#include "optim/sparse_adam.h"

#include <cmath>

#include "base/status_macros.h"
#include "optim/checked_number.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdamOptimizer::create(
    const SparseAdam& config) {
  RETURN_IF_ERROR(check_below_one("adam.beta1", config.beta1()));
  RETURN_IF_ERROR(check_below_one("adam.beta2", config.beta2()));
  RETURN_IF_ERROR(check_not_negative("adam.epsilon", config.epsilon()));
  return std::unique_ptr<RowOptimizer>(new SparseAdamOptimizer(config));
}

void SparseAdamOptimizer::update(const UpdateContext& context, int64_t dim,
                                 absl::Span<const RowUpdate> rows) const {
  const auto t = static_cast<double>(context.step);
  const double correction1 = 1 - std::pow(beta1_, t);
  const double correction2 = 1 - std::pow(beta2_, t);
  const auto rate = static_cast<float>(context.learning_rate * std::sqrt(correction2) / correction1);
  const auto scale = static_cast<float>(context.gradient_scale);
  const auto share1 = static_cast<float>(1 - beta1_), share2 = static_cast<float>(1 - beta2_);
  const auto epsilon = static_cast<float>(epsilon_);
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    float* __restrict m = row.slots;
    float* __restrict v = row.slots + dim;
    const float* __restrict gradient = row.gradient;
    for (int64_t c = 0; c < dim; ++c) {
      const float g = scale * gradient[c];
      m[c] += share1 * (g - m[c]);
      v[c] += share2 * (g * g - v[c]);
      // With epsilon 0, a column no gradient has reached is 0 / 0: it stays.
      const float divisor = std::sqrt(v[c]) + epsilon;
      weights[c] -= divisor > 0 ? rate * m[c] / divisor : 0.0f;
    }
  }
}

}  // namespace millrace
