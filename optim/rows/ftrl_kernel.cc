// Compiled once for each instruction set; //bazel:isa_kernels.bzl lists the permitted includes.
#include "optim/rows/ftrl_kernel.h"

#include "base/isa/isa_namespace.h"
#include "optim/rows/row_loops.h"

namespace millrace::MILLRACE_ISA {

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
