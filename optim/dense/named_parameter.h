// A tensor and its name.
#ifndef MILLRACE_OPTIM_DENSE_NAMED_PARAMETER_H_
#define MILLRACE_OPTIM_DENSE_NAMED_PARAMETER_H_

#include <ATen/core/Tensor.h>

#include <string>

namespace millrace {

struct NamedParameter {
  std::string name;
  at::Tensor value;
};

// Returns type and shape for messages, such as "float32 [3, 2]".
std::string describe(const at::Tensor& tensor);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_NAMED_PARAMETER_H_
