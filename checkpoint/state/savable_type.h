// Element types of tensors that checkpoints can hold.
#ifndef MILLRACE_CHECKPOINT_STATE_SAVABLE_TYPE_H_
#define MILLRACE_CHECKPOINT_STATE_SAVABLE_TYPE_H_

#include "absl/status/statusor.h"
#include "checkpoint/format/tensor_type.h"
#include "optim/dense/named_parameter.h"

namespace millrace {

// Errors: InvalidArgument naming the tensor if the tensor is not dense, not on the CPU, or of a
// type that files do not have.
absl::StatusOr<TensorType> savable_type(const NamedParameter& tensor);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_SAVABLE_TYPE_H_
