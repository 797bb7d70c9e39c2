// The histogram of a tensor.
#ifndef MILLRACE_HOOKS_INSPECT_TENSOR_DISTRIBUTION_H_
#define MILLRACE_HOOKS_INSPECT_TENSOR_DISTRIBUTION_H_

#include <ATen/core/Tensor.h>

#include "hook/reported_value.h"

namespace millrace {

// Returns the histogram of all elements, as float32, in 30 bins of equal width from the minimum to
// the maximum of the finite elements. If all elements are equal, the histogram has a single bin of
// width 1. Reads the tensor. REQUIRES: the type of `tensor` is real.
Distribution tensor_distribution(const at::Tensor& tensor);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_TENSOR_DISTRIBUTION_H_
