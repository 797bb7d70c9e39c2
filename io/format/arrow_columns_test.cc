#include "io/format/arrow_columns.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_dict.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/builder.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "io/bad_rows.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
