#include "checkpoint/inspect/tensor_values.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace millrace {
namespace {

template <typename Number>
Number number(absl::string_view bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

float float_of_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: fraction × 2^-24
    const float value = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -value : value;
  }
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

float float_of_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

double tensor_value(TensorType type, absl::string_view bytes) {
  switch (type) {
    case TensorType::kBool:
    case TensorType::kU8: return number<uint8_t>(bytes);
    case TensorType::kI8: return number<int8_t>(bytes);
    case TensorType::kI16: return number<int16_t>(bytes);
    case TensorType::kU16: return number<uint16_t>(bytes);
    case TensorType::kF16: return float_of_half(number<uint16_t>(bytes));
    case TensorType::kBf16: return float_of_bfloat16(number<uint16_t>(bytes));
    case TensorType::kI32: return number<int32_t>(bytes);
    case TensorType::kU32: return number<uint32_t>(bytes);
    case TensorType::kF32: return number<float>(bytes);
    case TensorType::kI64: return static_cast<double>(number<int64_t>(bytes));
    case TensorType::kU64: return static_cast<double>(number<uint64_t>(bytes));
    case TensorType::kF64: return number<double>(bytes);
  }
  return 0;
}

void to_floats(TensorType type, absl::string_view bytes, absl::Span<float> values) {
  if (type == TensorType::kF32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = number<uint16_t>(bytes.substr(2 * i));
    values[i] = type == TensorType::kF16 ? float_of_half(bits) : float_of_bfloat16(bits);
  }
}

}  // namespace millrace
