// Loops over rows and columns that the kernels of row optimizers share. Kernels include this
// header, so it includes only plain headers. Roots and quotients are correctly rounded on all
// instruction sets, and no product is contracted into a sum, so that results are equal to the last
// bit.
#ifndef MILLRACE_OPTIM_ROWS_ROW_LOOPS_H_
#define MILLRACE_OPTIM_ROWS_ROW_LOOPS_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"
#include "embedding/rows/row_update.h"

namespace millrace::MILLRACE_ISA {

// Calls column(c) for all columns, in any order. The loop body is long and has few branches,
// because a processor fetches data that is not in the caches only as far as its window of
// instructions reaches.
template <typename Column>
void for_each_column(int64_t dim, const Column& column) {
  constexpr int64_t kColumns = 32;
  int64_t c = 0;
  for (; c + kColumns <= dim; c += kColumns) {
#pragma GCC ivdep
    for (int64_t i = 0; i < kColumns; ++i) column(c + i);
  }
#pragma GCC ivdep
  for (; c < dim; ++c) column(c);
}

// Reads one value of each 16 columns of rows and gradients, and so touches nearly each of their
// cache lines.
inline void fetch_rows(int64_t dim, int64_t slots, const RowUpdate* rows, int64_t count) {
  constexpr int64_t kLine = 16;  // columns
  const auto read = [](const float* values, int64_t columns) {
    for (int64_t c = 0; c < columns; c += kLine) *static_cast<const volatile float*>(values + c);
  };
  for (int64_t r = 0; r < count; ++r) {
    read(rows[r].weights, dim);
    read(rows[r].slots, slots);
    read(rows[r].gradient, dim);
  }
}

// Calls update(row) for all rows, each with slots of `slots` numbers. For updates with long
// computations, during which the processor would not reach the loads of the next rows: fetches a
// group of rows before it updates the first row of the group.
template <typename Update>
void for_each_fetched_row(int64_t dim, int64_t slots, const RowUpdate* rows, int64_t count,
                          const Update& update) {
  constexpr int64_t kRows = 16;
  for (int64_t begin = 0; begin < count; begin += kRows) {
    const int64_t end = begin + kRows < count ? begin + kRows : count;
    fetch_rows(dim, slots, rows + begin, end - begin);
    for (int64_t r = begin; r < end; ++r) update(rows[r]);
  }
}

// Returns g of RowKernel. kDecays is true if weight_decay is not 0: without weight decay, short
// loops are faster, and a weight that is not finite is not multiplied by 0.
template <bool kDecays>
float whole_gradient(float scale, float gradient, float decay, float weight) {
  return kDecays ? scale * gradient + decay * weight : scale * gradient;
}

}  // namespace millrace::MILLRACE_ISA

#endif  // MILLRACE_OPTIM_ROWS_ROW_LOOPS_H_
