// Conversion of the bytes of tensors to numbers.
#ifndef MILLRACE_CHECKPOINT_INSPECT_TENSOR_VALUES_H_
#define MILLRACE_CHECKPOINT_INSPECT_TENSOR_VALUES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checkpoint/format/tensor_type.h"

namespace millrace {

// Converts IEEE 754 binary16, or the upper half of binary32; exact.
float float_of_half(uint16_t bits);
float float_of_bfloat16(uint16_t bits);

// Returns the first element in `bytes`, little-endian, aligned or not. Rounds integers beyond 2^53;
// a bool gives 0 or 1. REQUIRES: `bytes` has an element.
double tensor_value(TensorType type, absl::string_view bytes);

// Converts all elements to float32. REQUIRES: F32, F16 or BF16; as many values as elements.
void to_floats(TensorType type, absl::string_view bytes, absl::Span<float> values);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_TENSOR_VALUES_H_
