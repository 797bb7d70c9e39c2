// The loops of the row optimizers. Kernels include this, so it is plain.
#ifndef MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_
#define MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_

#include <cstdint>

#include "embedding/rows/row_update.h"

namespace millrace {

// The type of a function that updates `count` distinct rows of `dim` columns in place. `Numbers`
// holds the rest of the formula, which the header of the optimizer documents. Where it has a
// weight_decay, g = scale × gradient + weight_decay × w, but scale × gradient if that is 0.
//
// A kernel NAME is compiled once for each instruction set and declared in each of the namespaces
// baseline, avx2 and avx512 as `RowKernel<Numbers> NAME;`. choose() of
// base/isa/instruction_set_choice.h takes one of the three.
template <typename Numbers>
using RowKernel = void(const Numbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count);

// The formula is that of optim/rows/sparse_sgd.h.
struct SgdNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
};

// The formulas are those of both classes of optim/rows/sparse_adagrad.h.
struct AdagradNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
  float epsilon = 0;
};

// The formulas are those of both classes of optim/rows/sparse_adam.h.
struct AdamNumbers {
  double rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  int64_t step = 1;             // of the bias correction, unless each row counts its own
  bool row_steps = false;       // whether a slot [1] after the averages counts the row's steps
  bool corrects_first = false;  // whether epsilon is added to the corrected root
  float scale = 1;
  float weight_decay = 0;
  float shrinkage = 0;  // the part of w that is taken away before the step
};

// The formula is that of optim/rows/sparse_ftrl.h.
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
