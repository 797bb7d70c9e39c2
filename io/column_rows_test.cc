#include "io/column_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Column integers(std::vector<int64_t> values, std::vector<int64_t> offsets = {}) {
  Column column;
  column.rows = static_cast<int64_t>(offsets.empty() ? values.size() : offsets.size() - 1);
  column.offsets = std::move(offsets);
  column.int64s = std::move(values);
  return column;
}

Column texts(const std::vector<std::string>& values, std::vector<int64_t> offsets = {}) {
  Column column;
  column.type = ValueType::kString;
  column.rows = static_cast<int64_t>(offsets.empty() ? values.size() : offsets.size() - 1);
  column.offsets = std::move(offsets);
  for (const std::string& value : values) column.strings.push_back(value);
  return column;
}

std::vector<std::string> values_of(const Column& column) {
  std::vector<std::string> values;
  for (int64_t i = 0; i < column.strings.size(); ++i)
    values.push_back(std::string(column.strings[i]));
  return values;
}

TEST(ColumnRowsTest, NumbersBecomeThoseOfAnotherType) {
  Column column = integers({3, -4}, {0, 1, 1, 2});
  EXPECT_EQ(convert_column(ValueType::kDouble, column), std::nullopt);
  EXPECT_THAT(column.doubles, ElementsAre(3, -4));
  EXPECT_THAT(column.int64s, IsEmpty());
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(convert_column(ValueType::kUint64, column), 2) << "below 0";
  EXPECT_EQ(column.type, ValueType::kDouble);
  EXPECT_EQ(convert_column(ValueType::kInt64, column), std::nullopt);
  EXPECT_THAT(column.int64s, ElementsAre(3, -4));
  Column large = integers({1, (int64_t{1} << 53) + 1});
  EXPECT_EQ(convert_column(ValueType::kDouble, large), 1);
  EXPECT_THAT(large.int64s, ElementsAre(1, (int64_t{1} << 53) + 1)) << "unchanged";
  Column empty = texts({}, {0, 0, 0});
  EXPECT_EQ(convert_column(ValueType::kInt64, empty), std::nullopt);
  EXPECT_EQ(empty.type, ValueType::kInt64);
}

TEST(ColumnRowsTest, PlainColumnsStayPlain) {
  Column to;
  append_rows(integers({1, 2, 3}), 1, 3, to);
  append_rows(integers({4, 5}), 0, 1, to);
  EXPECT_EQ(to.rows, 3);
  EXPECT_THAT(to.offsets, IsEmpty());
  EXPECT_THAT(to.int64s, ElementsAre(2, 3, 4));
}

TEST(ColumnRowsTest, TheTypeIsThatOfTheFirstRows) {
  Column to;
  append_rows(texts({"a"}), 0, 0, to);
  EXPECT_EQ(to.type, ValueType::kString) << "of no rows, too";
  append_rows(texts({"", "b,c"}), 0, 2, to);
  EXPECT_THAT(values_of(to), ElementsAre("", "b,c"));
  Column numbers;
  numbers.type = ValueType::kDouble;
  numbers.rows = 2;
  numbers.doubles = {0.5, -1};
  Column doubles;
  append_rows(numbers, 1, 2, doubles);
  EXPECT_EQ(doubles.type, ValueType::kDouble);
  EXPECT_THAT(doubles.doubles, ElementsAre(-1));
}

TEST(ColumnRowsTest, MissingValuesAndListsKeepTheirRows) {
  Column to = integers({7});
  append_rows(integers({1, 2, 3}, {0, 1, 1, 3}), 1, 3, to);
  EXPECT_THAT(to.offsets, ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(to.int64s, ElementsAre(7, 2, 3));
  append_rows(integers({8, 9}), 1, 2, to);
  EXPECT_EQ(to.rows, 4);
  EXPECT_THAT(to.offsets, ElementsAre(0, 1, 1, 3, 4));
  EXPECT_THAT(to.int64s, ElementsAre(7, 2, 3, 9));
}

TEST(ColumnRowsTest, GathersInAnyOrder) {
  const Column gathered = gather_rows(texts({"a", "b", "c"}, {0, 1, 1, 3}), {2, 1, 0, 2});
  EXPECT_EQ(gathered.rows, 4);
  EXPECT_THAT(gathered.offsets, ElementsAre(0, 2, 2, 3, 5));
  EXPECT_THAT(values_of(gathered), ElementsAre("b", "c", "a", "b", "c"));
  const Column none = gather_rows(texts({"a"}), {});
  EXPECT_EQ(none.rows, 0);
  EXPECT_EQ(none.type, ValueType::kString);
}

TEST(ColumnRowsDeathTest, TwoTypesAreABug) {
  Column to = integers({7});
  EXPECT_DEATH(append_rows(texts({"a"}), 0, 1, to), "columns of two types");
}

}  // namespace
}  // namespace millrace
