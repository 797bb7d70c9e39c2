// The loops of the row optimizers. Kernels include this header, so it includes only plain headers.
#ifndef MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_
#define MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_

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

// Options of the formula in optim/rows/sparse_sgd.h.
struct SgdNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
};

// Options of the formulas of both classes in optim/rows/adaptive_optimizers.h.
struct AdagradNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
  float epsilon = 0;
};

// Options of the formulas of both classes in optim/rows/adaptive_optimizers.h.
struct AdamNumbers {
  double rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  int64_t step = 1;             // of the bias correction, unless row_steps
  bool row_steps = false;       // if true, a slot [1] after the averages counts the row's steps
  bool corrects_first = false;  // if true, epsilon is added to the corrected root
  float scale = 1;
  float weight_decay = 0;
  float shrinkage = 0;  // the share of w that is subtracted before the step
};

// Options of the formula in optim/rows/adaptive_optimizers.h.
struct FtrlNumbers {
  float rate = 0;
  float scale = 1;
  float beta = 0;
  float l1 = 0;
  float l2 = 0;
};

namespace baseline {
RowKernel<SgdNumbers> update_sgd;
RowKernel<AdagradNumbers> update_adagrad;
RowKernel<AdagradNumbers> update_rowwise_adagrad;
RowKernel<AdamNumbers> update_adam;
RowKernel<FtrlNumbers> update_ftrl;
}  // namespace baseline
namespace avx2 {
RowKernel<SgdNumbers> update_sgd;
RowKernel<AdagradNumbers> update_adagrad;
RowKernel<AdagradNumbers> update_rowwise_adagrad;
RowKernel<AdamNumbers> update_adam;
RowKernel<FtrlNumbers> update_ftrl;
}  // namespace avx2
namespace avx512 {
RowKernel<SgdNumbers> update_sgd;
RowKernel<AdagradNumbers> update_adagrad;
RowKernel<AdagradNumbers> update_rowwise_adagrad;
RowKernel<AdamNumbers> update_adam;
RowKernel<FtrlNumbers> update_ftrl;
}  // namespace avx512

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_
