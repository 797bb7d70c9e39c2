#include "checkpoint/state/torch_types.h"

namespace millrace {

std::optional<TensorType> tensor_type_of(at::ScalarType type) {
  switch (type) {
    case at::kBool: return TensorType::kBool;
    case at::kByte: return TensorType::kU8;
    case at::kChar: return TensorType::kI8;
    case at::kShort: return TensorType::kI16;
    case at::kHalf: return TensorType::kF16;
    case at::kBFloat16: return TensorType::kBf16;
    case at::kInt: return TensorType::kI32;
    case at::kFloat: return TensorType::kF32;
    case at::kLong: return TensorType::kI64;
    case at::kDouble: return TensorType::kF64;
    default: return std::nullopt;
  }
}

std::optional<at::ScalarType> scalar_type_of(TensorType type) {
  switch (type) {
    case TensorType::kBool: return at::kBool;
    case TensorType::kU8: return at::kByte;
    case TensorType::kI8: return at::kChar;
    case TensorType::kI16: return at::kShort;
    case TensorType::kF16: return at::kHalf;
    case TensorType::kBf16: return at::kBFloat16;
    case TensorType::kI32: return at::kInt;
    case TensorType::kF32: return at::kFloat;
    case TensorType::kI64: return at::kLong;
    case TensorType::kF64: return at::kDouble;
    case TensorType::kU16:
    case TensorType::kU32:
    case TensorType::kU64: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace millrace
