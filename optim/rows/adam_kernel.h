// The loop of SparseAdamOptimizer and SparseAdamwOptimizer. Kernels include this header, so it
// includes only plain headers.
#ifndef MILLRACE_OPTIM_ROWS_ADAM_KERNEL_H_
#define MILLRACE_OPTIM_ROWS_ADAM_KERNEL_H_

#include <cstdint>

#include "optim/rows/row_kernel.h"

namespace millrace {

// Options of the formulas in optim/rows/sparse_adam.h and optim/rows/sparse_adamw.h.
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

namespace baseline {
RowKernel<AdamNumbers> update_adam;
}
namespace avx2 {
RowKernel<AdamNumbers> update_adam;
}
namespace avx512 {
RowKernel<AdamNumbers> update_adam;
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ADAM_KERNEL_H_
