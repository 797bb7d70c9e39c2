#include "io/look/column_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Column integers(std::vector<int64_t> values) {
  Column column{.type = ValueType::kInt64, .rows = static_cast<int64_t>(values.size())};
  column.int64s = std::move(values);
  return column;
}

Column numbers(std::vector<double> values) {
  Column column{.type = ValueType::kDouble, .rows = static_cast<int64_t>(values.size())};
  column.doubles = std::move(values);
  return column;
}

Column texts(const std::vector<std::string>& values) {
  Column column{.type = ValueType::kString, .rows = static_cast<int64_t>(values.size())};
  for (const std::string& value : values) column.strings.push_back(value);
  return column;
}

ColumnLook look_at(const Column& column, ValueType type, int64_t total_rows = 0) {
  ColumnSampler sampler({.name = "x", .type = type, .type_name = "t"});
  std::vector<uint64_t> hashes(column.rows);
  sampler.add(column, absl::MakeSpan(hashes));
  return sampler.finish(total_rows == 0 ? column.rows : total_rows);
}

TEST(ColumnLook, CountsValuesAndTheirFrequencies) {
  const ColumnLook look = look_at(integers({7, 7, 7, 1, 2, -4, 7, 1}), ValueType::kInt64);
  EXPECT_EQ(look.kind, ValueKind::kInteger);
  EXPECT_EQ(look.rows, 8);
  EXPECT_EQ(look.distinct, 4);
  EXPECT_EQ(look.estimated_distinct, 4);
  EXPECT_DOUBLE_EQ(look.top_share, 0.5);
  EXPECT_DOUBLE_EQ(look.top_ten_share, 1);
  EXPECT_EQ(look.most_frequent, 7);
  EXPECT_EQ(look.min, -4);
  EXPECT_EQ(look.max, 7);
  EXPECT_DOUBLE_EQ(look.mean, 28.0 / 8);
  EXPECT_DOUBLE_EQ(look.standard_deviation, std::sqrt(120.0 / 8));
  EXPECT_TRUE(look.is_whole);
}

TEST(ColumnLook, TheTenMostFrequentValuesAreOfManyOnes) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 20; ++i) values.insert(values.end(), i < 10 ? 9 : 1, i);
  EXPECT_DOUBLE_EQ(look_at(integers(values), ValueType::kInt64).top_ten_share, 0.9);
}

TEST(ColumnLook, MissesNullsAndEmptyLists) {
  Column column{.type = ValueType::kInt64, .rows = 4, .offsets = {0, 0, 3, 3, 4}};
  column.int64s = {1, 2, 3, 1};
  const ColumnLook look = look_at(column, ValueType::kInt64);
  EXPECT_DOUBLE_EQ(look.missing_share(), 0.5);
  EXPECT_EQ(look.values, 4);
  EXPECT_EQ(look.max_length, 3);
  EXPECT_DOUBLE_EQ(look.mean_length, 2);
}

TEST(ColumnLook, NumbersThatAreNotFiniteAreLeftOutOfTheirStatistics) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ColumnLook look = look_at(numbers({1.5, NAN, 2.5, infinity}), ValueType::kDouble);
  EXPECT_EQ(look.not_finite, 2);
  EXPECT_DOUBLE_EQ(look.mean, 2);
  EXPECT_EQ(look.max, 2.5);
  EXPECT_EQ(look.not_a_number, 1);
  EXPECT_DOUBLE_EQ(look.standard_deviation, 0.5);
  EXPECT_EQ(look.values, 3) << "not-a-number is none";
  EXPECT_EQ(look.distinct, 3);
  EXPECT_EQ(look.missing_rows, 1);
  EXPECT_DOUBLE_EQ(look.top_share, 1.0 / 3);
  EXPECT_FALSE(look.is_whole);
  EXPECT_TRUE(look_at(numbers({1, 2, 9}), ValueType::kDouble).is_whole);
  EXPECT_TRUE(look_at(numbers({1, NAN, 9}), ValueType::kDouble).is_whole);
  EXPECT_FALSE(look_at(numbers({1, infinity, 9}), ValueType::kDouble).is_whole);
}

TEST(ColumnLook, AListLosesNotANumberAlone) {
  Column column{.type = ValueType::kDouble, .rows = 3, .offsets = {0, 2, 3, 3}};
  column.doubles = {1, NAN, NAN};
  const ColumnLook look = look_at(column, ValueType::kDouble);
  EXPECT_EQ(look.values, 1);
  EXPECT_EQ(look.missing_rows, 2) << "one of not-a-number, one empty";
  EXPECT_EQ(look.not_a_number, 2);
}

TEST(ColumnLook, TheDeviationOfNumbersFarFromZeroIsExact) {
  const ColumnLook look = look_at(numbers({1e9 + 1, 1e9 + 2, 1e9 + 3}), ValueType::kDouble);
  EXPECT_DOUBLE_EQ(look.standard_deviation, std::sqrt(2.0 / 3));
  EXPECT_EQ(look_at(numbers({5, 5}), ValueType::kDouble).standard_deviation, 0);
}

TEST(ColumnLook, QuantilesOfMoreNumbersThanAreKept) {
  std::vector<double> values;
  for (int i = 0; i <= 100000; ++i) values.push_back((i * 7919) % 100001);
  const ColumnLook look = look_at(numbers(values), ValueType::kDouble);
  EXPECT_EQ(look.quantile(0), 0);
  EXPECT_NEAR(look.quantile(0.5), 50000, 2000);
  EXPECT_NEAR(look.quantile(0.99), 99000, 2000);
  EXPECT_EQ(look.quantile(1), 100000);
}

TEST(ColumnLook, CellsOfDelimitedTextGetTheKindThatAllHave) {
  const auto kind = [](const std::vector<std::string>& cells) {
    return look_at(texts(cells), ValueType::kText).kind;
  };
  EXPECT_EQ(kind({"1", "-20", "0"}), ValueKind::kInteger);
  EXPECT_EQ(kind({"1", "2.5", "1e3"}), ValueKind::kNumber);
  EXPECT_EQ(kind({"1", "2.5", "a"}), ValueKind::kText);
  EXPECT_EQ(kind({"007", "12"}), ValueKind::kText) << "leading zeros matter";
  EXPECT_EQ(kind({"+1"}), ValueKind::kText) << "the reader takes no sign +";
  EXPECT_EQ(kind({"-"}), ValueKind::kText);
  EXPECT_EQ(kind({}), ValueKind::kText);
  const ColumnLook look = look_at(texts({"3", "1", "2.5"}), ValueType::kText);
  EXPECT_EQ(look.min, 1);
  EXPECT_EQ(look.max, 3);
  EXPECT_EQ(look_at(texts({"3", "1"}), ValueType::kString).kind, ValueKind::kText)
      << "text of a format with types stays text";
}

TEST(ColumnLook, TextsAmongNumbersStandForMissingValues) {
  const ColumnLook look = look_at(texts({"3", "NA", "1", "null", "NA", "nan"}), ValueType::kText);
  EXPECT_EQ(look.kind, ValueKind::kInteger);
  EXPECT_EQ(look.missing_rows, 4);
  EXPECT_EQ(look.values, 2);
  EXPECT_EQ(look.distinct, 2);
  EXPECT_DOUBLE_EQ(look.top_share, 0.5);
  EXPECT_DOUBLE_EQ(look.mean, 2);
  EXPECT_TRUE(look.is_whole);
  EXPECT_EQ(look.not_finite, 0);
  EXPECT_THAT(look.missing_texts, ElementsAre(Pair("NA", 2), Pair("nan", 1), Pair("null", 1)));
  EXPECT_EQ(look_at(texts({"None", "2.5"}), ValueType::kText).kind, ValueKind::kNumber);
}

TEST(ColumnLook, BooleansAreIntegers) {
  const ColumnLook look = look_at(texts({"True", "False", "NA", "True"}), ValueType::kText);
  EXPECT_EQ(look.kind, ValueKind::kInteger);
  EXPECT_TRUE(look.is_boolean);
  EXPECT_EQ(look.distinct, 2);
  EXPECT_EQ(look.max, 1);
  EXPECT_DOUBLE_EQ(look.mean, 2.0 / 3);
  EXPECT_EQ(look.most_frequent, 0);
  const ColumnLook mixed = look_at(texts({"true", "true", "1"}), ValueType::kText);
  EXPECT_FALSE(mixed.is_boolean);
  EXPECT_EQ(mixed.most_frequent, 0);
  EXPECT_EQ(look_at(texts({"true", "5", "5"}), ValueType::kText).most_frequent, 5);
  const ColumnLook text = look_at(texts({"true", "maybe", "true"}), ValueType::kText);
  EXPECT_EQ(text.kind, ValueKind::kText);
  EXPECT_EQ(text.distinct, 2);
  EXPECT_FALSE(text.is_boolean);
  EXPECT_FALSE(look_at(texts({"true"}), ValueType::kString).is_boolean);
}

TEST(ColumnLook, TextsAmongTextAreValues) {
  const ColumnLook look = look_at(texts({"FR", "NA", "NA", "1"}), ValueType::kText);
  EXPECT_EQ(look.kind, ValueKind::kText) << "Namibia";
  EXPECT_EQ(look.missing_rows, 0);
  EXPECT_EQ(look.values, 4);
  EXPECT_EQ(look.distinct, 3);
  EXPECT_DOUBLE_EQ(look.top_share, 0.5);
  EXPECT_THAT(look.missing_texts, IsEmpty());
  EXPECT_THAT(look_at(texts({"NA", "1"}), ValueType::kString).missing_texts, IsEmpty())
      << "text of a format with types";
}

TEST(ColumnLook, AColumnOfMissingTextsAloneHasNoValue) {
  const ColumnLook look = look_at(texts({"NULL", "NULL"}), ValueType::kText);
  EXPECT_EQ(look.values, 0);
  EXPECT_EQ(look.missing_rows, 2);
  EXPECT_THAT(look.missing_texts, ElementsAre(Pair("NULL", 2)));
}

TEST(ColumnLook, ListsLoseMissingTextsAlone) {
  Column column{.type = ValueType::kString, .rows = 2, .offsets = {0, 2, 3}};
  for (const char* text : {"1", "NA", "NA"}) column.strings.push_back(text);
  const ColumnLook look = look_at(column, ValueType::kText);
  EXPECT_EQ(look.kind, ValueKind::kInteger);
  EXPECT_EQ(look.missing_rows, 1);
  EXPECT_EQ(look.values, 1);
}

TEST(ColumnLook, DatesAreFound) {
  const auto look_at_column = [](const Column& column, ValueType type, const std::string& name) {
    ColumnSampler sampler({.name = name, .type = type, .type_name = "t"});
    std::vector<uint64_t> hashes(column.rows);
    sampler.add(column, absl::MakeSpan(hashes));
    return sampler.finish(column.rows);
  };
  const auto cells = [&](const std::vector<std::string>& texts_of_cells, const char* name = "x") {
    return look_at_column(texts(texts_of_cells), ValueType::kText, name);
  };
  EXPECT_TRUE(cells({"2024-01-05", "NA", "2024-01-06 10:00:00"}).holds_dates);
  EXPECT_TRUE(cells({"2024-01-05T10:00"}).holds_dates);
  EXPECT_FALSE(cells({"2024-01-05", "soon"}).holds_dates);
  EXPECT_FALSE(cells({"2024-01-05x"}).holds_dates);
  EXPECT_FALSE(cells({"20240105", "20240106"}).holds_dates) << "may be ids";
  EXPECT_TRUE(cells({"20240105", "20240106"}, "day").holds_dates);
  EXPECT_TRUE(cells({"20240105.0", "20240106"}, "day").holds_dates);
  EXPECT_FALSE(cells({"20240105", "20241305"}, "day").holds_dates);
  EXPECT_FALSE(cells({"17", "18"}, "day").holds_dates);
  EXPECT_FALSE(cells({"NA"}, "day").holds_dates);
  std::vector<int64_t> days;
  for (int64_t day = 1; day <= 12; ++day) days.push_back(20240100 + day);
  EXPECT_TRUE(look_at_column(integers(days), ValueType::kInt64, "x").holds_dates);
  EXPECT_TRUE(look_at_column(numbers({20240101, NAN}), ValueType::kDouble, "dt").holds_dates);
  EXPECT_TRUE(look_at_column(texts({"2024-01-05"}), ValueType::kString, "x").holds_dates);
}

TEST(ColumnLook, DecimalCommasAreFound) {
  const auto example = [](const std::vector<std::string>& cells) {
    const ColumnLook look = look_at(texts(cells), ValueType::kText);
    EXPECT_EQ(look.decimal_comma.empty() ? look.kind : ValueKind::kText, look.kind);
    return look.decimal_comma;
  };
  EXPECT_EQ(example({"3", "NA", "-1,5", "2,25"}), "-1,5");
  EXPECT_EQ(example({"1.234,50", "12.345.678", "0,1"}), "1.234,50");
  EXPECT_EQ(example({"1", "2"}), "") << "integers";
  EXPECT_EQ(example({"1.5", "1,5"}), "") << "both";
  EXPECT_EQ(example({"1,5", "a"}), "");
  EXPECT_EQ(example({"1,5,6", "1,5"}), "") << "lists";
  EXPECT_EQ(example({"1,5", ",5"}), "");
  EXPECT_EQ(example({"1,5", "1,"}), "");
  EXPECT_EQ(look_at(texts({"1,5"}), ValueType::kString).decimal_comma, "");
}

// The reader of delimited text takes numbers without the blanks around them.
TEST(ColumnLook, NumbersMayHaveBlanksAroundThem) {
  const ColumnLook look = look_at(texts({" 7", "8 ", " NA", "  ", "9"}), ValueType::kText);
  EXPECT_EQ(look.kind, ValueKind::kInteger);
  EXPECT_TRUE(look.has_blanks);
  EXPECT_EQ(look.missing_rows, 2);
  EXPECT_THAT(look.missing_texts, ElementsAre(Pair("  ", 1), Pair(" NA", 1)));
  EXPECT_EQ(look.max, 9);
  EXPECT_EQ(look_at(texts({" 7.5", "8"}), ValueType::kText).kind, ValueKind::kNumber);
  EXPECT_TRUE(look_at(texts({" True", " False"}), ValueType::kText).is_boolean);
  EXPECT_TRUE(look_at(texts({" 2024-01-31"}), ValueType::kText).holds_dates);
  EXPECT_EQ(look_at(texts({" 1,5"}), ValueType::kText).decimal_comma, "1,5");
  EXPECT_FALSE(look_at(texts({"7", "8"}), ValueType::kText).has_blanks);
  const ColumnLook text = look_at(texts({" a", "a", "  "}), ValueType::kText);
  EXPECT_EQ(text.kind, ValueKind::kText);
  EXPECT_EQ(text.distinct, 3) << "text keeps its blanks";
  EXPECT_EQ(text.missing_rows, 0);
  EXPECT_TRUE(text.has_blanks);
  EXPECT_FALSE(look_at(texts({" a"}), ValueType::kString).has_blanks) << "no delimited text";
  EXPECT_TRUE(ColumnSampler({.name = " x", .type = ValueType::kInt64}).finish(0).has_blanks);
}

// Conversion to a number would round the ids, so that nearby ids become equal.
TEST(ColumnLook, WholeNumbersBeyondInt64AreText) {
  const ColumnLook look = look_at(
      texts({"7", "-1", "9223372036854775808", "9223372036854775809", "NA"}), ValueType::kText);
  EXPECT_EQ(look.kind, ValueKind::kText);
  EXPECT_EQ(look.long_integer, "9223372036854775808");
  EXPECT_EQ(look.distinct, 4);
  EXPECT_EQ(look.values, 4);
  EXPECT_THAT(look.missing_texts, ElementsAre(Pair("NA", 1)));
  const auto kind = [](const std::vector<std::string>& cells) {
    const ColumnLook look = look_at(texts(cells), ValueType::kText);
    EXPECT_EQ(look.long_integer, "") << cells[0];
    return look.kind;
  };
  EXPECT_EQ(kind({"9223372036854775807", "-9223372036854775808"}), ValueKind::kInteger);
  EXPECT_EQ(kind({"99999999999999999999", "2.5"}), ValueKind::kNumber);
  EXPECT_EQ(kind({"2.5", "99999999999999999999"}), ValueKind::kNumber);
  EXPECT_EQ(kind({"1e20"}), ValueKind::kNumber);
  EXPECT_EQ(kind({"99999999999999999999", "a"}), ValueKind::kText);
}

TEST(ColumnLook, FewCellsThatAreNoNumbersAreNamed) {
  std::vector<std::string> cells(29, "2.5");
  cells.push_back("NA");
  EXPECT_EQ(look_at(texts(cells), ValueType::kText).odd_cells, 0) << "a column of numbers";
  cells.push_back(" oops");
  const ColumnLook look = look_at(texts(cells), ValueType::kText);
  EXPECT_EQ(look.kind, ValueKind::kText);
  EXPECT_EQ(look.odd_cells, 1);
  EXPECT_THAT(look.odd_texts, ElementsAre("oops"));
  EXPECT_EQ(odd_cells_text(look), "1 of 31, such as \"oops\"");
  EXPECT_EQ(look_at(texts(cells), ValueType::kString).odd_cells, 0);
  cells.insert(cells.end(), {"?", "12.3%"});
  EXPECT_EQ(look_at(texts(cells), ValueType::kText).odd_cells, 3);
  cells.push_back("1,5");
  EXPECT_EQ(look_at(texts(cells), ValueType::kText).odd_cells, 0) << "more than a tenth";
  ColumnLook latin{.values = 9};
  latin.odd_cells = 1;
  latin.odd_texts = {"K\xf6ln"};
  EXPECT_EQ(odd_cells_text(latin), "1 of 9, such as \"K\\366ln\"");
}

TEST(ColumnLook, PercentSignsAndThousandsAreNamed) {
  const auto near = [](const std::vector<std::string>& cells) {
    return look_at(texts(cells), ValueType::kText).near_number;
  };
  EXPECT_EQ(near({"12.3%", "4%", "0"}), "12.3%");
  EXPECT_EQ(near({"999.5", "1,234.5", "NA", "2,345"}), "1,234.5");
  EXPECT_EQ(near({"950", "1 200", "12 450"}), "1 200");
  EXPECT_EQ(near({"950", "1 200", "12 45"}), "") << "a list";
  EXPECT_EQ(near({"12.3%", "a"}), "");
  EXPECT_EQ(near({"1", "2.5"}), "");
  EXPECT_EQ(near({"1,5", "2"}), "") << "a decimal comma";
}

TEST(ColumnLook, ListsInCellsAreNamed) {
  const ColumnLook look = look_at(texts({"7", "470|1", "NA", "8", "1|2"}), ValueType::kText);
  EXPECT_EQ(look.list_cell, "470|1");
  EXPECT_EQ(look.list_delimiter, '|');
  EXPECT_EQ(look.list_ids, 3);
  EXPECT_EQ(look.missing_rows, 1) << "NA among numbers";
  EXPECT_EQ(look.odd_cells, 0);
  for (const std::vector<std::string>& cells :
       std::vector<std::vector<std::string>>{{"1|2", "1;2"},
                                             {"1|2", "a"},
                                             {"a|b"},
                                             {"true", "1|2"},
                                             {"1", "2"},
                                             {"1|2", "2.5"},
                                             {"1,5", "2"},
                                             {"950", "1 200", "12 450"}}) {
    EXPECT_EQ(look_at(texts(cells), ValueType::kText).list_cell, "") << cells[0];
  }
  EXPECT_EQ(look_at(texts({"1|2"}), ValueType::kString).list_cell, "");
  EXPECT_EQ(look_at(texts({"a|b c", "d|"}), ValueType::kText).delimiters, "| ");
}

TEST(ColumnLook, DifferentValuesOfAllRowsAreEstimated) {
  EXPECT_EQ(estimate_distinct(100, 100, 40, 10), 40) << "all rows: exact";
  EXPECT_DOUBLE_EQ(estimate_distinct(100, 1000, 100, 100), 1000) << "unique";
  EXPECT_DOUBLE_EQ(estimate_distinct(1000, 100000, 5, 0), 5) << "each occurs again and again";
  // n d / (n - f + f n / N) = 100 * 60 / (100 - 40 + 40 * 0.1).
  EXPECT_DOUBLE_EQ(estimate_distinct(100, 1000, 60, 40), 6000.0 / 64);
  EXPECT_EQ(estimate_distinct(0, 1000, 0, 0), 0);
}

TEST(ColumnLook, RowHashesAreOfAllValuesInOrder) {
  const auto hash = [](const std::vector<std::vector<int64_t>>& columns) {
    std::vector<uint64_t> hashes(1);
    for (const std::vector<int64_t>& list : columns) {
      ColumnSampler sampler({.name = "x", .type = ValueType::kInt64});
      const auto count = static_cast<int64_t>(list.size());
      Column column{.type = ValueType::kInt64, .rows = 1, .offsets = {0, count}};
      column.int64s = list;
      sampler.add(column, absl::MakeSpan(hashes));
    }
    return hashes[0];
  };
  EXPECT_EQ(hash({{1, 2}, {3}}), hash({{1, 2}, {3}}));
  EXPECT_NE(hash({{1, 2}, {3}}), hash({{2, 1}, {3}}));
  EXPECT_NE(hash({{1, 2}, {3}}), hash({{1}, {2, 3}}));
  EXPECT_NE(hash({{}, {1}}), hash({{1}, {}}));
  EXPECT_NE(hash({{0}}), hash({{}}));
}

}  // namespace
}  // namespace millrace
