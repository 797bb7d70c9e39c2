// The numbers that the bytes of tensors stand for.
#ifndef MILLRACE_CHECKPOINT_INSPECT_TENSOR_VALUES_H_
#define MILLRACE_CHECKPOINT_INSPECT_TENSOR_VALUES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checkpoint/format/tensor_type.h"

namespace millrace {

// IEEE 754 binary16, and the upper half of binary32; exact.
float float_of_half(uint16_t bits);
float float_of_bfloat16(uint16_t bits);

// The first element in `bytes`, little-endian, aligned or not. Integers beyond 2^53 are rounded; of
// a bool 0 or 1. REQUIRES: there is one.
double tensor_value(TensorType type, absl::string_view bytes);

// All elements as float32. REQUIRES: F32, F16 or BF16; as many values as elements.
void to_floats(TensorType type, absl::string_view bytes, absl::Span<float> values);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_TENSOR_VALUES_H_
