// Compiled once for each instruction set; //bazel:isa_kernels.bzl lists the permitted includes.
#include "optim/rows/sgd_kernel.h"

#include "base/isa/isa_namespace.h"
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

}  // namespace

void update_sgd(const SgdNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count) {
  (numbers.weight_decay != 0 ? sgd_rows<true> : sgd_rows<false>)(numbers, dim, rows, count);
}

}  // namespace millrace::MILLRACE_ISA
