// Norms of tensors whose last bits are the same on every rank.
#ifndef MILLRACE_OPTIM_DENSE_TENSOR_NORM_H_
#define MILLRACE_OPTIM_DENSE_TENSOR_NORM_H_

#include <ATen/core/Tensor.h>

namespace millrace {

// Returns the sum of the squares of all numbers of a dense, real tensor: float64 [] on the device
// of the tensor. On the CPU the order of additions is that of sum_of_squares() of
// embedding/rows/row_math.h over the numbers in row-major order. It depends neither on the vector
// instructions of the processor nor on the number of threads, unlike LibTorch's reductions, so that
// replicas on different hosts stay equal. Does not wait for an accelerator. May throw c10::Error.
at::Tensor sum_of_squares(const at::Tensor& tensor);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_TENSOR_NORM_H_
