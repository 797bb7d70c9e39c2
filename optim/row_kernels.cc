// Compiled once for each instruction set: see //bazel:isa_kernels.bzl for what may be included.
// Roots and quotients are correctly rounded on all of them, and no product is contracted into a
// sum, so that results are equal to the last bit.
#include "optim/row_kernels.h"

#include "base/isa_namespace.h"
#include "embedding/row_math.h"

namespace millrace::MILLRACE_ISA {
namespace {

void sgd(const SgdNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  const float rate = numbers.rate, scale = numbers.scale, decay = numbers.weight_decay;
  for (int64_t r = 0; r < count; ++r) {
    float* __restrict weights = rows[r].weights;
    const float* __restrict gradient = rows[r].gradient;
    for (int64_t c = 0; c < dim; ++c) {
      const float g = scale * gradient[c] + decay * weights[c];
      weights[c] -= rate * g;
    }
  }
}

void adagrad(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  const float rate = numbers.rate, scale = numbers.scale, decay = numbers.weight_decay;
  const float epsilon = numbers.epsilon;
  for (int64_t r = 0; r < count; ++r) {
    float* __restrict weights = rows[r].weights;
    float* __restrict sum = rows[r].slots;
    const float* __restrict gradient = rows[r].gradient;
    for (int64_t c = 0; c < dim; ++c) {
      const float g = scale * gradient[c] + decay * weights[c];
      sum[c] += g * g;
      // Nothing has been learned where no gradient came: 0 / 0 is 0 here.
      const float divisor = __builtin_sqrtf(sum[c]) + epsilon;
      weights[c] -= divisor > 0 ? rate * g / divisor : 0.0f;
    }
  }
}

// Rows whose sums and quotients are worked out side by side: one after the other each would wait
// for its own.
constexpr int64_t kTogether = 16;

// The sums of sum_of_squared_terms, bit for bit.
void sums_of_squares(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                     int64_t count, float sums[kTogether]) {
  const float scale = numbers.scale, decay = numbers.weight_decay;
  float quads[kTogether][4] = {};
  for (int64_t r = 0; r < count; ++r) {
    const float* weights = rows[r].weights;
    const float* gradient = rows[r].gradient;
    float lanes[16];
    lanes_of_squared_terms<float>(
        dim, [=](int64_t c) { return scale * gradient[c] + decay * weights[c]; }, lanes);
    for (int l = 0; l < 8; ++l) lanes[l] += lanes[l + 8];
    for (int l = 0; l < 4; ++l) quads[r][l] = lanes[l] + lanes[l + 4];
  }
  for (int64_t r = 0; r < kTogether; ++r) {
    sums[r] = (quads[r][0] + quads[r][2]) + (quads[r][1] + quads[r][3]);
  }
}

// REQUIRES: count <= kTogether.
void rowwise_adagrad_together(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                              int64_t count) {
  const float scale = numbers.scale, decay = numbers.weight_decay;
  float sums[kTogether], accumulated[kTogether] = {}, multipliers[kTogether];
  sums_of_squares(numbers, dim, rows, count, sums);
  for (int64_t r = 0; r < count; ++r) accumulated[r] = rows[r].slots[0];
  for (int64_t r = 0; r < kTogether; ++r) {
    accumulated[r] += sums[r] / static_cast<float>(dim);
    const float divisor = __builtin_sqrtf(accumulated[r]) + numbers.epsilon;
    multipliers[r] = divisor > 0 ? numbers.rate / divisor : 0.0f;
  }
  for (int64_t r = 0; r < count; ++r) {
    float* __restrict weights = rows[r].weights;
    const float* __restrict gradient = rows[r].gradient;
    rows[r].slots[0] = accumulated[r];
    const float multiplier = multipliers[r];
    if (!(multiplier > 0)) continue;  // no gradient has come yet
    for (int64_t c = 0; c < dim; ++c) {
      const float g = scale * gradient[c] + decay * weights[c];
      weights[c] -= multiplier * g;
    }
  }
}

void rowwise_adagrad(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                     int64_t count) {
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    const int64_t left = count - begin;
    rowwise_adagrad_together(numbers, dim, rows + begin, left < kTogether ? left : kTogether);
  }
}

// By multiplication alone: the library's has other last bits on machines with fused operations.
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

// Counts one more step, up to 2^24: corrections are 1 long before.
int64_t next_step(float& steps) {
  steps = steps < 0x1p24f ? steps + 1 : 0x1p24f;
  return steps >= 1 ? static_cast<int64_t>(steps) : 1;
}

void adam(const AdamNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  const auto share1 = static_cast<float>(1 - numbers.beta1);
  const auto share2 = static_cast<float>(1 - numbers.beta2);
  const float scale = numbers.scale, decay = numbers.weight_decay;
  const float shrinkage = numbers.shrinkage;
  AdamStep step = adam_step(numbers, numbers.step);
  for (int64_t r = 0; r < count; ++r) {
    float* __restrict weights = rows[r].weights;
    float* __restrict m = rows[r].slots;
    float* __restrict v = rows[r].slots + dim;
    const float* __restrict gradient = rows[r].gradient;
    if (numbers.row_steps) step = adam_step(numbers, next_step(rows[r].slots[2 * dim]));
    const float rate = step.rate, epsilon = step.epsilon;
    for (int64_t c = 0; c < dim; ++c) {
      const float w = weights[c];
      const float g = scale * gradient[c] + decay * w;
      m[c] += share1 * (g - m[c]);
      v[c] += share2 * (g * g - v[c]);
      // With epsilon 0, a column no gradient has reached is 0 / 0: it stays.
      const float divisor = __builtin_sqrtf(v[c]) + epsilon;
      const float change = divisor > 0 ? rate * m[c] / divisor : 0.0f;
      weights[c] = w - (shrinkage * w + change);
    }
  }
}

void ftrl(const FtrlNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  if (!(numbers.rate > 0)) return;
  const float rate = numbers.rate, scale = numbers.scale, beta = numbers.beta;
  const float l1 = numbers.l1, l2 = numbers.l2;
  for (int64_t r = 0; r < count; ++r) {
    float* __restrict weights = rows[r].weights;
    float* __restrict z = rows[r].slots;
    float* __restrict n = rows[r].slots + dim;
    const float* __restrict gradient = rows[r].gradient;
    for (int64_t c = 0; c < dim; ++c) {
      const float w = weights[c];
      const float g = scale * gradient[c];
      n[c] += g * g;
      const float divisor = (beta + __builtin_sqrtf(n[c])) / rate + l2;
      const float before = w != 0 ? -(w * divisor + __builtin_copysignf(l1, w)) : z[c];
      const float sum = before + g;
      z[c] = sum;
      const float moved = w - g / divisor;
      const bool keeps_sign = w > 0 ? moved > 0 : (w < 0) & (moved < 0);
      const float closed =
          __builtin_fabsf(sum) > l1 ? (__builtin_copysignf(l1, sum) - sum) / divisor : 0.0f;
      weights[c] = divisor > 0 ? (keeps_sign ? moved : closed) : w;
    }
  }
}

}  // namespace

extern const RowKernels kRowKernels = {sgd, adagrad, rowwise_adagrad, adam, ftrl};

}  // namespace millrace::MILLRACE_ISA
