// Weighted sums of losses.
#ifndef MILLRACE_LOSSES_WEIGHTED_SUM_H_
#define MILLRACE_LOSSES_WEIGHTED_SUM_H_

#include <ATen/core/Tensor.h>

namespace millrace {

// Returns the sum of `losses`, each times its weight, as a scalar of the type of `losses`. `losses`
// and `weights`: float [examples]; undefined weights are all 1.
at::Tensor weighted_sum(const at::Tensor& losses, const at::Tensor& weights);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_WEIGHTED_SUM_H_
