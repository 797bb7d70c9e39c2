// The loop of SparseRowwiseAdagradOptimizer. Kernels include this header, so it includes only plain
// headers.
#ifndef MILLRACE_OPTIM_ROWS_ROWWISE_ADAGRAD_KERNEL_H_
#define MILLRACE_OPTIM_ROWS_ROWWISE_ADAGRAD_KERNEL_H_

#include "optim/rows/adagrad_numbers.h"
#include "optim/rows/row_kernel.h"

namespace millrace {

namespace baseline {
RowKernel<AdagradNumbers> update_rowwise_adagrad;
}
namespace avx2 {
RowKernel<AdagradNumbers> update_rowwise_adagrad;
}
namespace avx512 {
RowKernel<AdagradNumbers> update_rowwise_adagrad;
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROWWISE_ADAGRAD_KERNEL_H_
