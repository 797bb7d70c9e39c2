// The loop of SparseFtrlOptimizer. Kernels include this header, so it includes only plain headers.
#ifndef MILLRACE_OPTIM_ROWS_FTRL_KERNEL_H_
#define MILLRACE_OPTIM_ROWS_FTRL_KERNEL_H_

#include "optim/rows/row_kernel.h"

namespace millrace {

// Options of the formula in optim/rows/sparse_ftrl.h.
struct FtrlNumbers {
  float rate = 0;
  float scale = 1;
  float beta = 0;
  float l1 = 0;
  float l2 = 0;
};

namespace baseline {
RowKernel<FtrlNumbers> update_ftrl;
}
namespace avx2 {
RowKernel<FtrlNumbers> update_ftrl;
}
namespace avx512 {
RowKernel<FtrlNumbers> update_ftrl;
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_FTRL_KERNEL_H_
