#include "checkpoint/state/savable_type.h"

#include "absl/strings/str_cat.h"
#include "checkpoint/state/torch_types.h"

namespace millrace {

absl::StatusOr<TensorType> savable_type(const NamedParameter& tensor) {
  if (!tensor.value.defined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense tensor \"", tensor.name, "\" is undefined"));
  }
  if (!tensor.value.device().is_cpu() || tensor.value.layout() != at::kStrided) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense tensor \"", tensor.name, "\" is no dense tensor on the CPU"));
  }
  if (const auto type = tensor_type_of(tensor.value.scalar_type())) return *type;
  return absl::InvalidArgumentError(absl::StrCat(
      "dense tensor \"", tensor.name,
      "\": no such element type in safetensors: ", c10::toString(tensor.value.scalar_type())));
}

}  // namespace millrace
