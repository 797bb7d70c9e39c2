#include "checkpoint/format/tensor_type.h"

#include <gtest/gtest.h>

#include <limits>

namespace millrace {
namespace {

TEST(TensorTypeTest, NamesGoBothWays) {
  const std::vector<std::string> names = tensor_type_names();
  ASSERT_EQ(names.size(), 13u);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<TensorType> type = tensor_type_of_name(names[i]);
    ASSERT_TRUE(type.has_value()) << names[i];
    EXPECT_EQ(static_cast<size_t>(*type), i) << "entries stand in the order of the enumeration";
    EXPECT_EQ(tensor_type_name(*type), names[i]);
  }
  EXPECT_FALSE(tensor_type_of_name("f32").has_value());
  EXPECT_FALSE(tensor_type_of_name("").has_value());
  EXPECT_FALSE(tensor_type_of_name("F8_E4M3").has_value());
}

TEST(TensorTypeTest, SizesAreThoseInTheNames) {
  for (const std::string& name : tensor_type_names()) {
    const int64_t bits = name == "BOOL" ? 8 : std::stoi(name.substr(name.find_first_of("123468")));
    EXPECT_EQ(tensor_type_bytes(*tensor_type_of_name(name)) * 8, bits) << name;
  }
}

TEST(TensorBytesTest, MultipliesTheShape) {
  EXPECT_EQ(tensor_bytes(TensorType::kF32, {}), 4) << "a scalar has one element";
  EXPECT_EQ(tensor_bytes(TensorType::kF32, {3, 5}), 60);
  EXPECT_EQ(tensor_bytes(TensorType::kBool, {7}), 7);
  EXPECT_EQ(tensor_bytes(TensorType::kI64, {3, 0, 5}), 0);
}

TEST(TensorBytesTest, OverflowInAnyOrder) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(tensor_bytes(TensorType::kU8, {huge}), huge);
  EXPECT_FALSE(tensor_bytes(TensorType::kI16, {huge}).has_value());
  EXPECT_FALSE(tensor_bytes(TensorType::kU8, {huge, 2}).has_value());
  EXPECT_FALSE(tensor_bytes(TensorType::kU8, {huge, 2, 0}).has_value()) << "a zero hides nothing";
  EXPECT_FALSE(tensor_bytes(TensorType::kU8, {0, huge, huge}).has_value());
  EXPECT_FALSE(tensor_bytes(TensorType::kU8, {1LL << 32, 1LL << 32}).has_value());
  EXPECT_FALSE(tensor_bytes(TensorType::kU8, {-1}).has_value());
  EXPECT_FALSE(tensor_bytes(TensorType::kU8, {0, -1}).has_value());
}

}  // namespace
}  // namespace millrace
