// Compiled once for each instruction set; //bazel:isa_kernels.bzl lists the permitted includes.
#include "optim/rows/row_kernels.h"

#include "base/isa/isa_namespace.h"
#include "embedding/rows/row_math.h"
#include "optim/rows/row_loops.h"

namespace millrace::MILLRACE_ISA {
namespace {

template <bool kDecays>
void sgd_rows(const SgdNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  const float rate = numbers.rate, scale = numbers.scale, decay = numbers.weight_decay;
  for (int64_t r = 0; r < count; ++r) {
    for_each_column(dim, [=, weights = rows[r].weights, gradient = rows[r].gradient](int64_t c) {
      weights[c] -= rate * whole_gradient<kDecays>(scale, gradient[c], decay, weights[c]);
    });
  }
}

template <bool kDecays>
void adagrad_rows(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                  int64_t count) {
  const float rate = numbers.rate, scale = numbers.scale, decay = numbers.weight_decay;
  const float epsilon = numbers.epsilon;
  for_each_fetched_row(dim, dim, rows, count, [=](const RowUpdate& row) {
    float* const sum = row.slots;
    for_each_column(dim, [=, weights = row.weights, gradient = row.gradient](int64_t c) {
      const float g = whole_gradient<kDecays>(scale, gradient[c], decay, weights[c]);
      sum[c] += g * g;
      // A column without any gradient so far has 0 / 0, which must leave the weight unchanged.
      const float divisor = __builtin_sqrtf(sum[c]) + epsilon;
      weights[c] -= divisor > 0 ? rate * g / divisor : 0.0f;
    });
  });
}

// Number of rows whose sums and quotients are computed together, since a single row would wait for
// each of its results.
constexpr int64_t kTogether = 16;

// Computes the same sums as sum_of_squared_terms(), bit for bit.
template <bool kDecays>
void sums_of_squares(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                     int64_t count, float sums[kTogether]) {
  const float scale = numbers.scale, decay = numbers.weight_decay;
  float quads[kTogether][4] = {};
  for (int64_t r = 0; r < count; ++r) {
    const float* weights = rows[r].weights;
    const float* gradient = rows[r].gradient;
    float lanes[16];
    lanes_of_squared_terms<float>(
        dim,
        [=](int64_t c) { return whole_gradient<kDecays>(scale, gradient[c], decay, weights[c]); },
        lanes);
    for (int l = 0; l < 8; ++l) lanes[l] += lanes[l + 8];
    for (int l = 0; l < 4; ++l) quads[r][l] = lanes[l] + lanes[l + 4];
  }
  for (int64_t r = 0; r < kTogether; ++r) {
    sums[r] = (quads[r][0] + quads[r][2]) + (quads[r][1] + quads[r][3]);
  }
}

// REQUIRES: count <= kTogether.
template <bool kDecays>
void rowwise_adagrad_together(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                              int64_t count) {
  const float scale = numbers.scale, decay = numbers.weight_decay;
  float sums[kTogether], accumulated[kTogether] = {}, multipliers[kTogether];
  sums_of_squares<kDecays>(numbers, dim, rows, count, sums);
  for (int64_t r = 0; r < count; ++r) accumulated[r] = rows[r].slots[0];
  for (int64_t r = 0; r < kTogether; ++r) {
    accumulated[r] += sums[r] / static_cast<float>(dim);
    const float divisor = __builtin_sqrtf(accumulated[r]) + numbers.epsilon;
    multipliers[r] = divisor > 0 ? numbers.rate / divisor : 0.0f;
  }
  for (int64_t r = 0; r < count; ++r) {
    rows[r].slots[0] = accumulated[r];
    const float multiplier = multipliers[r];
    if (!(multiplier > 0)) continue;  // no gradient so far
    for_each_column(dim, [=, weights = rows[r].weights, gradient = rows[r].gradient](int64_t c) {
      weights[c] -= multiplier * whole_gradient<kDecays>(scale, gradient[c], decay, weights[c]);
    });
  }
}

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
      // A column without any gradient so far has 0 / 0 if epsilon is 0; the weight must not change
      // then.
      const float divisor = __builtin_sqrtf(v[c]) + step.epsilon;
      const float change = divisor > 0 ? step.rate * m[c] / divisor : 0.0f;
      weights[c] = w - (shrinkage * w + change);
    });
  });
}

}  // namespace

void update_sgd(const SgdNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  (numbers.weight_decay != 0 ? sgd_rows<true> : sgd_rows<false>)(numbers, dim, rows, count);
}

void update_adagrad(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                    int64_t count) {
  (numbers.weight_decay != 0 ? adagrad_rows<true> : adagrad_rows<false>)(numbers, dim, rows, count);
}

void update_rowwise_adagrad(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                            int64_t count) {
  const auto together =
      numbers.weight_decay != 0 ? rowwise_adagrad_together<true> : rowwise_adagrad_together<false>;
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    const int64_t left = count - begin;
    together(numbers, dim, rows + begin, left < kTogether ? left : kTogether);
  }
}

void update_adam(const AdamNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  (numbers.weight_decay != 0 ? adam_rows<true> : adam_rows<false>)(numbers, dim, rows, count);
}

void update_ftrl(const FtrlNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  if (!(numbers.rate > 0)) return;
  const float rate = numbers.rate, scale = numbers.scale, beta = numbers.beta;
  const float l1 = numbers.l1, l2 = numbers.l2;
  for_each_fetched_row(dim, 2 * dim, rows, count, [=](const RowUpdate& row) {
    float* const z = row.slots;
    float* const n = row.slots + dim;
    for_each_column(dim, [=, weights = row.weights, gradient = row.gradient](int64_t c) {
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
    });
  });
}

}  // namespace millrace::MILLRACE_ISA
