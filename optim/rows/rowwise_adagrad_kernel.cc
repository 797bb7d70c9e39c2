// Compiled once for each instruction set; //bazel:isa_kernels.bzl lists the permitted includes.
#include "optim/rows/rowwise_adagrad_kernel.h"

#include "base/isa/isa_namespace.h"
#include "embedding/rows/row_math.h"
#include "optim/rows/row_loops.h"

namespace millrace::MILLRACE_ISA {
namespace {

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

}  // namespace

void update_rowwise_adagrad(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                            int64_t count) {
  const auto together =
      numbers.weight_decay != 0 ? rowwise_adagrad_together<true> : rowwise_adagrad_together<false>;
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    const int64_t left = count - begin;
    together(numbers, dim, rows + begin, left < kTogether ? left : kTogether);
  }
}

}  // namespace millrace::MILLRACE_ISA
