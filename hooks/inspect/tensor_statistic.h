// Statistics and the histogram of a tensor.
#ifndef MILLRACE_HOOKS_INSPECT_TENSOR_STATISTIC_H_
#define MILLRACE_HOOKS_INSPECT_TENSOR_STATISTIC_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "hook/reported_value.h"
#include "proto/inspection_hook_configs.pb.h"

namespace millrace {

// Returns the name of a statistic in reports: "norm", "zero_share".
std::string statistic_name(WatchTensorsConfig::Statistic statistic);

// Returns a statistic of all elements, computed in float64. NORM, MEAN, STD, MIN, MAX and ABS_MAX
// are not-a-number if any element is. A tensor without elements has the same results, except NORM,
// which is 0. Reads the tensor. REQUIRES: the type of `tensor` is real.
double tensor_statistic(WatchTensorsConfig::Statistic statistic, const at::Tensor& tensor);

// Returns the histogram of all elements, as float32, in 30 bins of equal width from the minimum to
// the maximum of the finite elements. If all elements are equal, the histogram has a single bin of
// width 1. Reads the tensor. REQUIRES: the type of `tensor` is real.
Distribution tensor_distribution(const at::Tensor& tensor);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_TENSOR_STATISTIC_H_
