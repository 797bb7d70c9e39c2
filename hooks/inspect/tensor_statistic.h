// Statistics of a tensor.
#ifndef MILLRACE_HOOKS_INSPECT_TENSOR_STATISTIC_H_
#define MILLRACE_HOOKS_INSPECT_TENSOR_STATISTIC_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "proto/inspection_hook_configs.pb.h"

namespace millrace {

// Returns the name of a statistic in reports: "norm", "zero_share".
std::string statistic_name(WatchTensorsConfig::Statistic statistic);

// Returns a statistic of all elements, computed in float64. NORM, MEAN, STD, MIN, MAX and ABS_MAX
// are not-a-number if any element is. A tensor without elements has the same results, except NORM,
// which is 0. Reads the tensor. REQUIRES: the type of `tensor` is real.
double tensor_statistic(WatchTensorsConfig::Statistic statistic, const at::Tensor& tensor);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_TENSOR_STATISTIC_H_
