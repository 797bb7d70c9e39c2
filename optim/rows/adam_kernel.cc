// Compiled once for each instruction set; //bazel:isa_kernels.bzl lists the permitted includes.
#include "optim/rows/adam_kernel.h"

#include "base/isa/isa_namespace.h"
#include "optim/rows/row_loops.h"

namespace millrace::MILLRACE_ISA {
namespace {

// Uses only multiplication: std::pow has other last bits on machines with fused operations.
double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

struct AdamStep {
  float rate;
  float epsilon;
};

AdamStep adam_step(const AdamNumbers& numbers, int64_t t) {
  const double root = __builtin_sqrt(1 - power(numbers.beta2, t));
  return {static_cast<float>(numbers.rate * root / (1 - power(numbers.beta1, t))),
          static_cast<float>(numbers.corrects_first ? numbers.epsilon * root : numbers.epsilon)};
}

// Counts one more step, up to 2^24, the limit of exact counting in float32. Corrections are 1 long
// before.
int64_t next_step(float& steps) {
  steps = steps < 0x1p24f ? steps + 1 : 0x1p24f;
  return steps >= 1 ? static_cast<int64_t>(steps) : 1;
}

template <bool kDecays>
void adam_rows(const AdamNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  const auto share1 = static_cast<float>(1 - numbers.beta1);
  const auto share2 = static_cast<float>(1 - numbers.beta2);
  const float scale = numbers.scale, decay = numbers.weight_decay;
  const float shrinkage = numbers.shrinkage;
  const AdamStep table_step = adam_step(numbers, numbers.step);
  for_each_fetched_row(dim, 2 * dim, rows, count, [=, &numbers](const RowUpdate& row) {
    float* const m = row.slots;
    float* const v = row.slots + dim;
    const AdamStep step =
        numbers.row_steps ? adam_step(numbers, next_step(row.slots[2 * dim])) : table_step;
    for_each_column(dim, [=, weights = row.weights, gradient = row.gradient](int64_t c) {
      const float w = weights[c];
      const float g = whole_gradient<kDecays>(scale, gradient[c], decay, w);
      m[c] += share1 * (g - m[c]);
      v[c] += share2 * (g * g - v[c]);
      // With epsilon 0, a column without any gradient so far has 0 / 0, which must leave the weight
      // unchanged.
      const float divisor = __builtin_sqrtf(v[c]) + step.epsilon;
      const float change = divisor > 0 ? step.rate * m[c] / divisor : 0.0f;
      weights[c] = w - (shrinkage * w + change);
    });
  });
}

}  // namespace

void update_adam(const AdamNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  (numbers.weight_decay != 0 ? adam_rows<true> : adam_rows<false>)(numbers, dim, rows, count);
}

}  // namespace millrace::MILLRACE_ISA
