#include "io/format/arrow_decimals.h"

#include <arrow/array/array_base.h>
#include <arrow/array/builder_base.h>
#include <arrow/builder.h>
#include <arrow/util/decimal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

// Appends the value of `text`, which has as many digits behind the point as the type.
template <typename Builder, typename Value>
void append(arrow::ArrayBuilder& builder, const std::string& text) {
  int32_t precision = 0, scale = 0;
  Value value;
  ASSERT_TRUE(Value::FromString(text, &value, &precision, &scale).ok()) << text;
  ASSERT_EQ(scale, static_cast<const arrow::DecimalType&>(*builder.type()).scale()) << text;
  ASSERT_TRUE(static_cast<Builder&>(builder).Append(value).ok());
}

std::shared_ptr<arrow::Array> decimals(const std::shared_ptr<arrow::DataType>& type,
                                       const Texts& texts) {
  auto builder = *arrow::MakeBuilder(type);
  for (const std::string& text : texts) {
    switch (type->id()) {
      case arrow::Type::DECIMAL32:
        append<arrow::Decimal32Builder, arrow::Decimal32>(*builder, text);
        break;
      case arrow::Type::DECIMAL64:
        append<arrow::Decimal64Builder, arrow::Decimal64>(*builder, text);
        break;
      case arrow::Type::DECIMAL128:
        append<arrow::Decimal128Builder, arrow::Decimal128>(*builder, text);
        break;
      default: append<arrow::Decimal256Builder, arrow::Decimal256>(*builder, text);
    }
  }
  return *builder->Finish();
}

const arrow::DecimalType& decimal_type(const arrow::Array& array) {
  return static_cast<const arrow::DecimalType&>(*array.type());
}

std::vector<std::shared_ptr<arrow::DataType>> types_of(int precision, int scale) {
  std::vector<std::shared_ptr<arrow::DataType>> types = {arrow::decimal128(precision, scale),
                                                         arrow::decimal256(precision, scale)};
  if (precision <= 18) types.push_back(arrow::decimal64(precision, scale));
  if (precision <= 9) types.push_back(arrow::decimal32(precision, scale));
  return types;
}

TEST(ArrowDecimalsTest, TypesFollowFromTheScale) {
  for (const auto& type : types_of(9, 0)) {
    EXPECT_EQ(type_of_decimals(static_cast<const arrow::DecimalType&>(*type)), ValueType::kInt64);
  }
  EXPECT_EQ(type_of_decimals(arrow::Decimal128Type(38, 0)), ValueType::kInt64);
  EXPECT_EQ(type_of_decimals(arrow::Decimal128Type(5, -2)), ValueType::kInt64);
  EXPECT_EQ(type_of_decimals(arrow::Decimal128Type(5, 1)), ValueType::kDouble);
}

TEST(ArrowDecimalsTest, IntegersOfEveryWidth) {
  for (const auto& type : types_of(9, 0)) {
    const auto array = decimals(type, {"0", "1", "-1", "999999999", "-999999999"});
    Column column;
    std::vector<BadValue> bad;
    append_decimals(*array, 0, 5, &column, &bad);
    EXPECT_THAT(column.int64s, ElementsAre(0, 1, -1, 999999999, -999999999)) << type->ToString();
    EXPECT_THAT(bad, IsEmpty());
  }
}

TEST(ArrowDecimalsTest, IntegersBeyond64BitsAreBad) {
  for (const auto& type : {arrow::decimal128(38, 0), arrow::decimal256(76, 0)}) {
    const auto array =
        decimals(type, {"7", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
                        "-9223372036854775809", "18446744073709551616", "8"});
    Column column;
    std::vector<BadValue> bad;
    append_decimals(*array, 0, 1, &column, &bad);
    append_decimals(*array, 1, 6, &column, &bad);
    EXPECT_THAT(column.int64s, ElementsAre(7, std::numeric_limits<int64_t>::max(), 0,
                                           std::numeric_limits<int64_t>::min(), 0, 0, 8));
    ASSERT_EQ(bad.size(), 3) << type->ToString();
    EXPECT_EQ(bad[0].index, 2);
    EXPECT_EQ(bad[0].what, "9223372036854775808 does not fit a 64-bit integer");
    EXPECT_EQ(bad[1].index, 4);
    EXPECT_EQ(bad[2].index, 5);
  }
}

TEST(ArrowDecimalsTest, NegativeScalesAreZerosBehindTheNumber) {
  const auto builder = *arrow::MakeBuilder(arrow::decimal128(19, -3));
  for (const char* text : {"12", "-7", "0", "9223372036854775", "9223372036854776"}) {
    ASSERT_TRUE(
        static_cast<arrow::Decimal128Builder&>(*builder).Append(arrow::Decimal128(text)).ok());
  }
  Column column;
  std::vector<BadValue> bad;
  append_decimals(**builder->Finish(), 0, 5, &column, &bad);
  EXPECT_THAT(column.int64s, ElementsAre(12000, -7000, 0, 9223372036854775000, 0));
  ASSERT_EQ(bad.size(), 1);
  EXPECT_EQ(bad[0].what, "9223372036854776e3 does not fit a 64-bit integer");
}

// The nearest double is what the C library reads from the same digits.
TEST(ArrowDecimalsTest, DoublesAreTheNearestOnes) {
  const Texts texts = {"0.10",
                       "-0.30",
                       "12345678.90",
                       "90071992547409.93",
                       "90071992547409.92",
                       "123456789012345678.91",
                       "-123456789012345678.93",
                       "99999999999999999999999999999999.99"};
  for (const auto& type : {arrow::decimal128(38, 2), arrow::decimal256(76, 2)}) {
    const auto array = decimals(type, texts);
    EXPECT_EQ(type_of_decimals(decimal_type(*array)), ValueType::kDouble);
    Column column;
    std::vector<BadValue> bad;
    append_decimals(*array, 0, array->length(), &column, &bad);
    ASSERT_EQ(column.doubles.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(column.doubles[i], std::strtod(texts[i].c_str(), nullptr)) << texts[i];
    }
  }
  for (const int scale : {1, 9, 17, 22, 23, 30, 38}) {
    const std::string digits = "98765432109876543";
    const auto builder = *arrow::MakeBuilder(arrow::decimal128(38, scale));
    ASSERT_TRUE(
        static_cast<arrow::Decimal128Builder&>(*builder).Append(arrow::Decimal128(digits)).ok());
    Column column;
    std::vector<BadValue> bad;
    append_decimals(**builder->Finish(), 0, 1, &column, &bad);
    EXPECT_EQ(column.doubles[0], std::strtod(absl::StrCat(digits, "e-", scale).c_str(), nullptr));
  }
}

TEST(ArrowDecimalsTest, SlicesBeginWhereTheyBegin) {
  const auto array = decimals(arrow::decimal128(9, 0), {"1", "2", "3", "4"})->Slice(1, 3);
  Column column;
  std::vector<BadValue> bad;
  append_decimals(*array, 1, 2, &column, &bad);
  EXPECT_THAT(column.int64s, ElementsAre(3, 4));
}

}  // namespace
}  // namespace millrace
