#include "checkpoint/inspect/tensor_values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace millrace {
namespace {

template <typename Number>
std::string bytes_of(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

TEST(FloatOfHalfTest, KnownValues) {
  EXPECT_EQ(float_of_half(0x3c00), 1.0f);
  EXPECT_EQ(float_of_half(0xc000), -2.0f);
  EXPECT_EQ(float_of_half(0x3555), 0.333251953125f);
  EXPECT_EQ(float_of_half(0x7bff), 65504.0f);
  EXPECT_EQ(float_of_half(0x0400), std::ldexp(1.0f, -14)) << "the smallest normal one";
  EXPECT_EQ(float_of_half(0x03ff), std::ldexp(1023.0f, -24)) << "the largest subnormal one";
  EXPECT_EQ(float_of_half(0x8001), -std::ldexp(1.0f, -24));
  EXPECT_EQ(float_of_half(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_of_half(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float_of_half(0x7e00)));
  EXPECT_TRUE(std::signbit(float_of_half(0x8000)));
  EXPECT_EQ(float_of_half(0x8000), 0.0f);
}

// Values increase with their bits.
TEST(FloatOfHalfTest, AllPositiveOnesAscend) {
  for (uint16_t bits = 1; bits <= 0x7c00; ++bits) {
    ASSERT_LT(float_of_half(bits - 1), float_of_half(bits)) << bits;
  }
}

TEST(FloatOfBfloat16Test, IsTheUpperHalf) {
  EXPECT_EQ(float_of_bfloat16(0x3f80), 1.0f);
  EXPECT_EQ(float_of_bfloat16(0xc020), -2.5f);
  EXPECT_EQ(float_of_bfloat16(0x7f80), std::numeric_limits<float>::infinity());
}

TEST(TensorValueTest, EveryType) {
  EXPECT_EQ(tensor_value(TensorType::kBool, bytes_of<uint8_t>(1)), 1);
  EXPECT_EQ(tensor_value(TensorType::kU8, bytes_of<uint8_t>(200)), 200);
  EXPECT_EQ(tensor_value(TensorType::kI8, bytes_of<int8_t>(-3)), -3);
  EXPECT_EQ(tensor_value(TensorType::kI16, bytes_of<int16_t>(-300)), -300);
  EXPECT_EQ(tensor_value(TensorType::kU16, bytes_of<uint16_t>(60000)), 60000);
  EXPECT_EQ(tensor_value(TensorType::kF16, bytes_of<uint16_t>(0x3c00)), 1);
  EXPECT_EQ(tensor_value(TensorType::kBf16, bytes_of<uint16_t>(0x4000)), 2);
  EXPECT_EQ(tensor_value(TensorType::kI32, bytes_of<int32_t>(-70000)), -70000);
  EXPECT_EQ(tensor_value(TensorType::kU32, bytes_of<uint32_t>(4000000000)), 4e9);
  EXPECT_EQ(tensor_value(TensorType::kF32, bytes_of(0.5f)), 0.5);
  EXPECT_EQ(tensor_value(TensorType::kI64, bytes_of<int64_t>(-1)), -1);
  EXPECT_EQ(tensor_value(TensorType::kU64, bytes_of<uint64_t>(1) + "more"), 1);
  EXPECT_EQ(tensor_value(TensorType::kF64, bytes_of(1e300)), 1e300);
}

TEST(ToFloatsTest, FloatingTypes) {
  std::vector<float> values(2);
  to_floats(TensorType::kF32, bytes_of(0.1f) + bytes_of(-7.0f), absl::MakeSpan(values));
  EXPECT_EQ(values, (std::vector<float>{0.1f, -7.0f}));
  to_floats(TensorType::kF16, bytes_of<uint16_t>(0x3c00) + bytes_of<uint16_t>(0xc000),
            absl::MakeSpan(values));
  EXPECT_EQ(values, (std::vector<float>{1, -2}));
  to_floats(TensorType::kBf16, bytes_of<uint16_t>(0x3f80) + bytes_of<uint16_t>(0xc020),
            absl::MakeSpan(values));
  EXPECT_EQ(values, (std::vector<float>{1, -2.5}));
}

}  // namespace
}  // namespace millrace
