// The loops over columns that take most of a step's time, for each instruction set. Kernels include
// this, so it is plain.
#ifndef MILLRACE_EMBEDDING_ROWS_KERNELS_H_
#define MILLRACE_EMBEDDING_ROWS_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"
#include "embedding/rows/row_type.h"

namespace millrace {

// What the gradients of rows consist of: that of row r, of i from begins[r] up to begins[r + 1],
// coefficients[i] × gradients[i][0 .. dim).
struct Summands {
  const float* const* gradients = nullptr;
  const float* coefficients = nullptr;  // null: all 1
  const uint32_t* begins = nullptr;     // [rows + 1]
  int64_t rows = 0;
  // Gradients up to this number may be fetched: those of rows that come next.
  uint32_t end = 0;
};

// What offsets say about lists.
struct ListsSeen {
  bool in_order = true;     // none is negative or less than the one before
  bool one_id_each = true;  // all lists have one id
};

// All of them give the same bits on every instruction set. Pointers do not overlap and need no
// alignment. Indexed by RowType: rows of that type.
struct Kernels {
  // output[i × stride + c] = rows[i][c]. `past_caches`: for outputs that they cannot hold; only an
  // advice.
  void (*copy_rows[kRowTypes])(const char* const* rows, int64_t count, int64_t dim, float* output,
                               int64_t stride, bool past_caches);
  // output[c] = (sum over i of weights[i] × rows[i][c], in order) / divisor, in float32. weights
  // null: all 1. REQUIRES: count >= 1.
  void (*pool_rows[kRowTypes])(const char* const* rows, const float* weights, int64_t count,
                               int64_t dim, float divisor, float* output, bool past_caches);
  // sums[r] becomes where the sum of row r is, null if nothing is to be added up. Summands in
  // order: up to two in float32, more in double, rounded once. Where gradients nearly
  // cancel, optimizers like Adam magnify what is left of them. The sum is in `memory`, row after
  // row, but where one gradient, with coefficient 1, is all there is. Returns: the largest
  // magnitude in the sums, as below, if `wants_largest`; else 0.
  uint32_t (*add_up)(const Summands& summands, int64_t dim, const float** sums, float* memory,
                     bool wants_largest);
  // The largest magnitude among values[i × stride + c] for i < rows and c < dim, as the bits of a
  // float32, which order like the magnitudes: infinite is 0x7f800000, not-a-number is more. 0 for
  // no values.
  uint32_t (*largest_magnitude)(const float* values, int64_t rows, int64_t stride, int64_t dim);
  // The sum over rows, in order, of sum_of_squares<double>(rows[i], dim) (row_math.h); rows that
  // are null are left out.
  double (*sum_of_squares)(const float* const* rows, int64_t count, int64_t dim);

  // Of lists from offsets[i] up to offsets[i + 1] for i < lists; offsets[0] itself may be negative.
  ListsSeen (*look_at_lists)(const int64_t* offsets, int64_t lists);

  // weights[c] = row[c]
  void (*widen[kRowTypes])(const char* row, int64_t dim, float* weights);
  // row[c] = weights[c], rounded to the nearest, halves to even. Magnitudes beyond the largest
  // finite float16 become it; infinite and not-a-number stay so.
  void (*round_to_nearest[kRowTypes])(const float* weights, int64_t dim, char* row);
  // row[c] = weights[c], rounded up or down with a chance by how near each is, so that the
  // expected value is weights[c] (float32: kept as it is). The bits for columns 4 k to 4 k + 3 are
  // Philox4x32-10 with that key and counter (k, counter[0], counter[1], counter[2]); a column uses
  // the lowest of its word, as many as the type drops. Otherwise as round_to_nearest.
  void (*round_randomly[kRowTypes])(const float* weights, int64_t dim, const uint32_t key[2],
                                    const uint32_t counter[3], char* row);
};

// REQUIRES: has_instruction_set(set).
const Kernels& kernels(InstructionSet set);

// The tables it chooses from.
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
