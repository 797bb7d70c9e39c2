#include "io/format/arrow_columns.h"

#include <arrow/array/array_base.h>
#include <arrow/array/builder_base.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_dict.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
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
#include "base/status_matchers.h"
#include "io/bad_rows.h"

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

ValueType type_of(const std::shared_ptr<arrow::DataType>& type) {
  const FileColumn column = describe_field(*arrow::field("x", type));
  EXPECT_TRUE(column.supported) << type->ToString();
  return column.type;
}

TEST(DescribeFieldTest, Types) {
  for (const auto& type : {arrow::boolean(), arrow::int8(), arrow::uint32(), arrow::int64(),
                           arrow::date32(), arrow::timestamp(arrow::TimeUnit::NANO)}) {
    EXPECT_EQ(type_of(type), ValueType::kInt64);
    EXPECT_EQ(type_of(arrow::list(type)), ValueType::kInt64);
  }
  EXPECT_EQ(type_of(arrow::uint64()), ValueType::kUint64);
  EXPECT_EQ(type_of(arrow::large_list(arrow::float32())), ValueType::kDouble);
  for (const auto& type : {arrow::float16(), arrow::decimal32(9, 1), arrow::decimal64(18, 2),
                           arrow::decimal128(38, 38), arrow::decimal256(50, 3)}) {
    EXPECT_EQ(type_of(type), ValueType::kDouble);
    EXPECT_EQ(type_of(arrow::list(type)), ValueType::kDouble);
  }
  for (const auto& type : {arrow::decimal32(9, 0), arrow::decimal128(38, 0),
                           arrow::decimal128(5, -3), arrow::decimal256(76, 0)}) {
    EXPECT_EQ(type_of(type), ValueType::kInt64);
  }
  EXPECT_EQ(type_of(arrow::fixed_size_list(arrow::large_binary(), 2)), ValueType::kString);
  EXPECT_EQ(type_of(arrow::dictionary(arrow::int8(), arrow::utf8())), ValueType::kString);
  for (const auto& type : {arrow::list(arrow::list(arrow::int8())),
                           arrow::struct_({arrow::field("a", arrow::int8())})}) {
    EXPECT_FALSE(describe_field(*arrow::field("x", type)).supported) << type->ToString();
  }
}

template <typename Builder, typename Values>
std::shared_ptr<arrow::Array> build(Builder builder, const Values& values) {
  for (const auto& value : values) EXPECT_TRUE(builder.Append(value).ok());
  return *builder.Finish();
}

// Appends an array without bad values.
absl::Status append_array(const arrow::Array& array, Column* column) {
  std::vector<BadValue> bad;
  const absl::Status status = append_array(array, column, &bad);
  EXPECT_THAT(bad, IsEmpty());
  return status;
}

TEST(AppendArrayTest, IntegersOfAnyWidth) {
  Column column;
  ASSERT_OK(append_array(*build(arrow::Int8Builder(), std::vector<int8_t>{-1, 2}), &column));
  ASSERT_OK(
      append_array(*build(arrow::UInt32Builder(), std::vector<uint32_t>{4000000000u}), &column));
  ASSERT_OK(append_array(*build(arrow::BooleanBuilder(), std::vector<bool>{true, false}), &column));
  EXPECT_THAT(column.int64s, ElementsAre(-1, 2, 4000000000, 1, 0));
  EXPECT_THAT(column.offsets, IsEmpty());
  EXPECT_EQ(column.rows, 5);
}

TEST(AppendArrayTest, NullsAreMissingAndSlicesAreHonoured) {
  arrow::Int64Builder builder;
  ASSERT_TRUE(builder.AppendValues({1, 2, 3, 4, 5}, {true, true, false, true, true}).ok());
  const std::shared_ptr<arrow::Array> array = *builder.Finish();
  Column column;
  ASSERT_OK(append_array(*array->Slice(0, 2), &column));
  EXPECT_THAT(column.offsets, IsEmpty());
  ASSERT_OK(append_array(*array->Slice(1, 3), &column));
  EXPECT_THAT(column.int64s, ElementsAre(1, 2, 2, 4));
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 2, 3, 3, 4));
}

TEST(AppendArrayTest, ListsWithNullsInsideAndOutside) {
  auto values = std::make_shared<arrow::DoubleBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  ASSERT_TRUE(lists.Append().ok() && values->Append(1).ok() && values->AppendNull().ok() &&
              values->Append(2).ok() && lists.AppendNull().ok() && lists.Append().ok() &&
              lists.Append().ok() && values->Append(3).ok());
  const std::shared_ptr<arrow::Array> array = *lists.Finish();
  Column column;
  column.type = ValueType::kDouble;
  ASSERT_OK(append_array(*array, &column));
  ASSERT_OK(append_array(*array->Slice(3), &column));
  EXPECT_THAT(column.doubles, ElementsAre(1, 2, 3, 3));
  EXPECT_THAT(column.offsets, ElementsAre(0, 2, 2, 2, 3, 4));
}

TEST(AppendArrayTest, TheTypeNullHasRowsWithoutValues) {
  for (const auto& type : {arrow::null(), arrow::list(arrow::null()),
                           arrow::dictionary(arrow::int8(), arrow::null())}) {
    const FileColumn described = describe_field(*arrow::field("x", type));
    EXPECT_TRUE(described.supported) << type->ToString();
    EXPECT_TRUE(described.is_empty) << type->ToString();
    EXPECT_EQ(described.type, ValueType::kText) << type->ToString();
    auto builder = *arrow::MakeBuilder(type);
    ASSERT_TRUE(builder->AppendNulls(3).ok());
    const std::shared_ptr<arrow::Array> array = *builder->Finish();
    Column column;
    ASSERT_OK(append_array(*array, &column));
    ASSERT_OK(append_array(*array->Slice(1, 1), &column));
    EXPECT_EQ(column.rows, 4);
    EXPECT_THAT(column.offsets, ElementsAre(0, 0, 0, 0, 0)) << type->ToString();
  }
  auto nulls = std::make_shared<arrow::NullBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), nulls);
  ASSERT_TRUE(lists.Append().ok() && nulls->AppendNulls(2).ok() && lists.Append().ok());
  Column column;
  ASSERT_OK(append_array(**lists.Finish(), &column));
  EXPECT_THAT(column.offsets, ElementsAre(0, 0, 0)) << "nulls inside lists are omitted";
  EXPECT_FALSE(describe_field(*arrow::field("x", arrow::int64())).is_empty);
}

TEST(AppendArrayTest, HalfPrecisionIsExact) {
  arrow::HalfFloatBuilder builder;
  // 1, -2, 65504, the least above 0, infinity.
  for (const uint16_t bits : {0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00}) {
    ASSERT_TRUE(builder.Append(bits).ok());
  }
  ASSERT_TRUE(builder.AppendNull().ok());
  Column column;
  column.type = ValueType::kDouble;
  ASSERT_OK(append_array(**builder.Finish(), &column));
  EXPECT_THAT(column.doubles,
              ElementsAre(1, -2, 65504, 0x1p-24, std::numeric_limits<double>::infinity()));
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 2, 3, 4, 5, 5));
}

TEST(AppendArrayTest, RowsOfBadDecimalsAreBad) {
  auto values = std::make_shared<arrow::Decimal128Builder>(arrow::decimal128(38, 0));
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  const arrow::Decimal128 large("9223372036854775808");
  ASSERT_TRUE(lists.Append().ok() && values->Append(1).ok() && values->AppendNull().ok() &&
              values->Append(2).ok() && lists.AppendNull().ok() && lists.Append().ok() &&
              values->Append(3).ok() && values->Append(large).ok() && lists.Append().ok() &&
              values->Append(4).ok());
  Column column;
  std::vector<BadValue> values_that_are_bad;
  ASSERT_OK(append_array(**lists.Finish(), &column, &values_that_are_bad));
  EXPECT_THAT(column.int64s, ElementsAre(1, 2, 3, 0, 4));
  EXPECT_THAT(column.offsets, ElementsAre(0, 2, 2, 4, 5));
  BadRows bad(4, /*skip=*/true);
  ASSERT_OK(add_bad_values(column, values_that_are_bad, {"a.parquet, row group 1", "x", 10}, bad));
  EXPECT_EQ(bad.count(), 1);
  EXPECT_TRUE(bad.contains(2));
  EXPECT_EQ(bad.first().message(),
            "a.parquet, row group 1, row 12, column x: 9223372036854775808 does not fit a 64-bit "
            "integer");
  BadRows strict(4, /*skip=*/false);
  EXPECT_FALSE(add_bad_values(column, values_that_are_bad, {}, strict).ok());
}

TEST(AppendArrayTest, Dictionaries) {
  arrow::StringDictionaryBuilder builder;
  for (const char* word : {"a", "b", "a"}) ASSERT_TRUE(builder.Append(word).ok());
  ASSERT_TRUE(builder.AppendNull().ok());
  Column column;
  column.type = ValueType::kString;
  ASSERT_OK(append_array(**builder.Finish(), &column));
  ASSERT_EQ(column.strings.size(), 3);
  EXPECT_EQ(column.strings[1], "b");
  EXPECT_EQ(column.strings[2], "a");
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 2, 3, 3));
}

}  // namespace
}  // namespace millrace
