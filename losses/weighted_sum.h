// Sums of losses of examples.
#ifndef MILLRACE_LOSSES_WEIGHTED_SUM_H_
#define MILLRACE_LOSSES_WEIGHTED_SUM_H_

#include <ATen/core/Tensor.h>

namespace millrace {

// Returns the sum of `losses`, each times its weight. `losses` and `weights`: float [examples];
// undefined weights are all 1. The result has no dimension and the type of `losses`.
at::Tensor weighted_sum(const at::Tensor& losses, const at::Tensor& weights);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_WEIGHTED_SUM_H_
