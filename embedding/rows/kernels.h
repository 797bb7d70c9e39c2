// The loops over columns that dominate the time of a step, one version per instruction set. Kernels
// include this file, so its includes are restricted (see //bazel:isa_kernels.bzl).
#ifndef MILLRACE_EMBEDDING_ROWS_KERNELS_H_
#define MILLRACE_EMBEDDING_ROWS_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"
#include "embedding/rows/row_type.h"

namespace millrace {

// The summands of the gradients of rows. The gradient of row r is the sum of coefficients[i] ×
// gradients[i][0 .. dim) over i in [begins[r], begins[r + 1]).
struct Summands {
  const float* const* gradients = nullptr;
  const float* coefficients = nullptr;  // null: all 1
  const uint32_t* begins = nullptr;     // [rows + 1]
  int64_t rows = 0;
  // Exclusive end of the summands that may be prefetched. Includes summands of later rows.
  uint32_t end = 0;
};

// Properties of the offsets of lists.
struct ListsSeen {
  bool in_order = true;     // no end of a list is negative or before its begin
  bool one_id_each = true;  // every list has one id
};

// All kernels have bitwise equal results on every instruction set. Pointers do not overlap and need
// no alignment. Arrays are indexed by RowType, the type of the rows.
struct Kernels {
  // Copies rows: output[i × stride + c] = rows[i][c]. `past_caches`: a hint for outputs larger than
  // the caches.
  void (*copy_rows[kRowTypes])(const char* const* rows, int64_t count, int64_t dim, float* output,
                               int64_t stride, bool past_caches);
  // Pools rows: output[c] = (sum over i of weights[i] × rows[i][c], in order) / divisor, in
  // float32. `weights` null: all 1. REQUIRES: count >= 1.
  void (*pool_rows[kRowTypes])(const char* const* rows, const float* weights, int64_t count,
                               int64_t dim, float divisor, float* output, bool past_caches);
  // Adds up gradients, in the order of summands. Sets sums[r] to the sum of row r, or null if the
  // row has no summands. Sums of up to two summands are float32; sums of more are float64, rounded
  // once, since optimizers such as Adam magnify the error of nearly cancelling gradients. The sum
  // is stored in `memory`, row after row. A single gradient with coefficient 1 is not copied:
  // sums[r] points to it. Returns the largest magnitude of the sums, as largest_magnitude(), if
  // `wants_largest`; else 0.
  uint32_t (*add_up)(const Summands& summands, int64_t dim, const float** sums, float* memory,
                     bool wants_largest);
  // Returns the largest magnitude of values[i × stride + c] for i < rows and c < dim, as the bits
  // of a float32. The bits have the order of the magnitudes: infinity is 0x7f800000, NaN is above.
  // 0 without values.
  uint32_t (*largest_magnitude)(const float* values, int64_t rows, int64_t stride, int64_t dim);
  // Returns the sum over rows, in order, of sum_of_squares<double>(rows[i], dim) (row_math.h).
  // Skips null rows.
  double (*sum_of_squares)(const float* const* rows, int64_t count, int64_t dim);

  // Checks the lists [offsets[i], offsets[i + 1]) for i < lists. Does not check that offsets[0] is
  // not negative.
  ListsSeen (*look_at_lists)(const int64_t* offsets, int64_t lists);

  // Converts weights to float32: weights[c] = row[c].
  void (*widen[kRowTypes])(const char* row, int64_t dim, float* weights);
  // Converts weights from float32: row[c] = weights[c], rounded to nearest, ties to even. Finite
  // magnitudes above the largest finite number of the type become that number. Infinity and NaN are
  // kept.
  void (*round_to_nearest[kRowTypes])(const float* weights, int64_t dim, char* row);
  // Converts weights from float32 with stochastic rounding: rounds up or down with a probability
  // such that the expected value is weights[c]. float32 is copied. The bits for columns 4 k to 4 k
  // + 3 are Philox4x32-10 with `key` and counter (k, counter[0], counter[1], counter[2]). A column
  // uses the lowest bits of its word: 16 for bfloat16, 24 for float16. Otherwise as
  // round_to_nearest.
  void (*round_randomly[kRowTypes])(const float* weights, int64_t dim, const uint32_t key[2],
                                    const uint32_t counter[3], char* row);
};

// Returns the kernels for `set`. REQUIRES: has_instruction_set(set).
const Kernels& kernels(InstructionSet set);

// The kernels of each instruction set, for kernels().
namespace baseline {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_KERNELS_H_
