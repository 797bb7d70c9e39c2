#include "optim/dense/tensor_norm.h"

#include <ATen/ATen.h>

#include "embedding/rows/row_math.h"

namespace millrace {

at::Tensor sum_of_squares(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) return tensor.to(at::kDouble).square().sum();
  // Every type but float64 is a subset of float32, or is rounded to it alike on every processor.
  const bool is_double = tensor.scalar_type() == at::kDouble;
  const at::Tensor values = tensor.detach().to(is_double ? at::kDouble : at::kFloat).contiguous();
  double sum = 0;
  if (is_double) {
    const double* const numbers = values.const_data_ptr<double>();
    sum = sum_of_squared_terms<double>(values.numel(), [=](int64_t i) { return numbers[i]; });
  } else {
    sum = sum_of_squares<double>(values.const_data_ptr<float>(), values.numel());
  }
  return at::scalar_tensor(sum, at::kDouble);
}

}  // namespace millrace
