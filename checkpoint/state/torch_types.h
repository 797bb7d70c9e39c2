// Element types of files and of LibTorch.
#ifndef MILLRACE_CHECKPOINT_STATE_TORCH_TYPES_H_
#define MILLRACE_CHECKPOINT_STATE_TORCH_TYPES_H_

#include <ATen/core/Tensor.h>

#include <optional>

#include "checkpoint/format/tensor_type.h"

namespace millrace {

// Returns none for a type that files do not have, such as complex numbers.
std::optional<TensorType> tensor_type_of(at::ScalarType type);
// Returns none for a type that LibTorch does not have or hardly supports: U16, U32, U64.
std::optional<at::ScalarType> scalar_type_of(TensorType type);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_TORCH_TYPES_H_
