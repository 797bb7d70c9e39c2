// The loop of SparseSgdOptimizer. Kernels include this header, so it includes only plain headers.
#ifndef MILLRACE_OPTIM_ROWS_SGD_KERNEL_H_
#define MILLRACE_OPTIM_ROWS_SGD_KERNEL_H_

#include "optim/rows/row_kernel.h"

namespace millrace {

// Options of the formula in optim/rows/sparse_sgd.h.
struct SgdNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
};

namespace baseline {
RowKernel<SgdNumbers> update_sgd;
}
namespace avx2 {
RowKernel<SgdNumbers> update_sgd;
}
namespace avx512 {
RowKernel<SgdNumbers> update_sgd;
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_SGD_KERNEL_H_
