// The shape of the loops of row optimizers. Kernels include this header, so it includes only plain
// headers.
#ifndef MILLRACE_OPTIM_ROWS_ROW_KERNEL_H_
#define MILLRACE_OPTIM_ROWS_ROW_KERNEL_H_

#include <cstdint>

#include "embedding/rows/row_update.h"

namespace millrace {

// The type of a function that updates `count` distinct rows of `dim` columns in place. `Numbers`:
// the options of the formula, which the header of the optimizer documents. With a weight_decay, g =
// scale × gradient + weight_decay × w; if weight_decay is 0, g = scale × gradient.
//
// A kernel NAME is compiled once for each instruction set and declared in each of the namespaces
// baseline, avx2 and avx512 as `RowKernel<Numbers> NAME;`. choose() of
// base/isa/instruction_set_choice.h takes one of the three.
template <typename Numbers>
using RowKernel = void(const Numbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_KERNEL_H_
