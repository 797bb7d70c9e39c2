// Element types of tensors in files.
#ifndef MILLRACE_CHECKPOINT_FORMAT_TENSOR_TYPE_H_
#define MILLRACE_CHECKPOINT_FORMAT_TENSOR_TYPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// The types of the safetensors format that have whole bytes and a use in LibTorch.
enum class TensorType {
  kBool,
  kU8,
  kI8,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64
};

// Returns the name in the format: "F32".
absl::string_view tensor_type_name(TensorType type);
std::optional<TensorType> tensor_type_of_name(absl::string_view name);
std::vector<std::string> tensor_type_names();

// Returns the bytes of one element.
int64_t tensor_type_bytes(TensorType type);

// Returns the bytes of a tensor. Returns none if the shape has a negative dimension, or if the size
// computed without the zero dimensions exceeds 2^63 - 1 bytes.
std::optional<int64_t> tensor_bytes(TensorType type, absl::Span<const int64_t> shape);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_TENSOR_TYPE_H_
