// Compiled once for each instruction set; //bazel:isa_kernels.bzl lists the permitted includes.
#include "optim/rows/adagrad_kernel.h"

#include "base/isa/isa_namespace.h"
#include "optim/rows/row_loops.h"

namespace millrace::MILLRACE_ISA {
namespace {

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

}  // namespace

void update_adagrad(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                    int64_t count) {
  (numbers.weight_decay != 0 ? adagrad_rows<true> : adagrad_rows<false>)(numbers, dim, rows, count);
}

}  // namespace millrace::MILLRACE_ISA
