#include "io/transform/missing_values.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/bad_rows.h"
#include "io/transform/transform_testing.h"

namespace millrace {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IsMissingTransformTest, TellsRowsWithoutAValue) {
  const auto transform = make_is_missing_transform();
  EXPECT_EQ(transform->takes(), Transform::Takes::kAny);
  EXPECT_EQ(transform->gives(ValueType::kString), ValueType::kInt64);
  const FeatureValues values = apply_to_ids(*transform, id_lists({{0}, {}, {7, 8}, {}}));
  EXPECT_TRUE(values.are_ids);
  EXPECT_EQ(values.list.rows, 4);
  EXPECT_THAT(values.list.values, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(values.list.offsets, IsEmpty()) << "one for each row";
}

TEST(IsMissingTransformTest, ColumnsOfOneValueARowMissNone) {
  const auto transform = make_is_missing_transform();
  EXPECT_THAT(apply_to_numbers(*transform, {0, 2.5}).list.values, ElementsAre(0, 0));
  EXPECT_THAT(apply_to_texts(*transform, {"", "a"}).list.values, ElementsAre(0, 0));
}

TEST(IsMissingTransformTest, WeightsOfTheValuesAreDropped) {
  IdColumn list = id_lists({{5, 6}, {}});
  list.weights = {2, 3};
  const FeatureValues values = apply_to_ids(*make_is_missing_transform(), list);
  EXPECT_THAT(values.list.values, ElementsAre(0, 1));
  EXPECT_THAT(values.list.weights, IsEmpty());
}

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
const ColumnPlace kPlace = {.path = "f.csv", .column = "x", .first_row = 100};

MissingValuesTransform parsed(const std::string& text) {
  MissingValuesTransform config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

absl::StatusOr<MissingValues> make(const std::string& text, ValueType column, ValueType gives) {
  const bool ignores_blanks = column == ValueType::kText && gives != ValueType::kString;
  return MissingValues::create(
      parsed(text), {.column = column, .gives = gives, .ignores_blanks = ignores_blanks});
}

using Texts = std::vector<std::vector<std::string>>;

// Rows whose values are given as text.
Column column_of(ValueType type, const Texts& rows) {
  Column column;
  column.type = type;
  column.rows = static_cast<int64_t>(rows.size());
  column.offsets = {0};
  for (const std::vector<std::string>& row : rows) {
    for (const std::string& text : row) {
      if (type == ValueType::kString) {
        column.strings.push_back(text);
      } else if (type == ValueType::kDouble) {
        EXPECT_TRUE(absl::SimpleAtod(text, &column.doubles.emplace_back()));
      } else if (type == ValueType::kUint64) {
        uint64_t value = 0;
        EXPECT_TRUE(absl::SimpleAtoi(text, &value));
        column.int64s.push_back(static_cast<int64_t>(value));
      } else {
        EXPECT_TRUE(absl::SimpleAtoi(text, &column.int64s.emplace_back()));
      }
    }
    column.offsets.push_back(column.offsets.back() + static_cast<int64_t>(row.size()));
  }
  return column;
}

// The values of each row as text.
Texts rows_of(const Column& column) {
  Texts rows(column.rows);
  for (int64_t row = 0; row < column.rows; ++row) {
    for (int64_t i = column.begin(row); i < column.end(row); ++i) {
      std::string& text = rows[row].emplace_back();
      if (column.type == ValueType::kString) {
        text = std::string(column.strings[i]);
      } else if (column.type == ValueType::kDouble) {
        text = absl::StrCat(column.doubles[i]);
      } else if (column.type == ValueType::kUint64) {
        text = absl::StrCat(static_cast<uint64_t>(column.int64s[i]));
      } else {
        text = absl::StrCat(column.int64s[i]);
      }
    }
  }
  return rows;
}

Texts left(const std::string& config, const Column& column) {
  const absl::StatusOr<MissingValues> missing = make(config, column.type, column.type);
  EXPECT_OK(missing);
  BadRows bad(column.rows, /*skip=*/false);
  const absl::StatusOr<MissingValues::Kept> kept = missing->apply({column, kPlace, bad});
  EXPECT_OK(kept);
  return rows_of(kept->column);
}

Texts left(const std::string& config, ValueType type, const Texts& rows) {
  return left(config, column_of(type, rows));
}

TEST(MissingValuesTest, RemovesNumbersAndNotANumber) {
  EXPECT_EQ(left("number: [-1, -999]", ValueType::kDouble, {{"-1"}, {"2"}, {"-999"}, {}, {"-1.5"}}),
            (Texts{{}, {"2"}, {}, {}, {"-1.5"}}));
  EXPECT_EQ(left("nan: true", ValueType::kDouble, {{"nan"}, {"2"}, {"inf"}}),
            (Texts{{}, {"2"}, {"inf"}}));
  EXPECT_EQ(left("number: inf", ValueType::kDouble, {{"nan"}, {"inf"}, {"-inf"}}),
            (Texts{{"nan"}, {}, {"-inf"}}));
  EXPECT_EQ(left("number: -1", ValueType::kInt64, {{"-1", "3", "-1"}, {"-1"}}), (Texts{{"3"}, {}}));
  EXPECT_EQ(left("text: ['NA', '?']", ValueType::kString, {{"NA", "x"}, {"?"}, {"na"}, {" NA"}}),
            (Texts{{"x"}, {}, {"na"}, {" NA"}}));
}

TEST(MissingValuesTest, ANumberEqualsTheNearestFloat32) {
  Column column;
  column.type = ValueType::kDouble;
  column.rows = 3;
  column.doubles = {static_cast<float>(-999.9), -999.9, -999.90000001};
  EXPECT_EQ(rows_of(column).size(), 3u);
  EXPECT_EQ(left("number: -999.9", column).at(0).size(), 0u);
  EXPECT_EQ(left("number: -999.9", column).at(1).size(), 0u);
  EXPECT_EQ(left("number: -999.9", column).at(2).size(), 1u);
  EXPECT_EQ(left("number: 1e300", ValueType::kDouble, {{"inf"}, {"1e300"}}), (Texts{{"inf"}, {}}))
      << "no float32 is near it";
}

TEST(MissingValuesTest, IntegersAreComparedExactly) {
  EXPECT_EQ(
      left("number: [16777217, 0.5, 1e30, -9223372036854775808]", ValueType::kInt64,
           {{"16777216"}, {"16777217"}, {"0"}, {"-9223372036854775808"}, {"9223372036854775807"}}),
      (Texts{{"16777216"}, {}, {"0"}, {}, {"9223372036854775807"}}));
  EXPECT_EQ(left("number: [-1, 9223372036854775808]", ValueType::kUint64,
                 {{"18446744073709551615"}, {"9223372036854775808"}}),
            (Texts{{"18446744073709551615"}, {}}))
      << "-1 is no unsigned number";
}

TEST(MissingValuesTest, DelimitedTextIsComparedBeforeItBecomesNumbers) {
  ASSERT_OK_AND_ASSIGN(const MissingValues missing, make("text: ['NA', '0'] number: -1 nan: true",
                                                         ValueType::kText, ValueType::kDouble));
  EXPECT_EQ(missing.reads_as(), ValueType::kString);
  const Column column = column_of(
      ValueType::kString, {{"NA"}, {" NA "}, {"0"}, {"0.0"}, {"-1"}, {"nan"}, {" 2.5"}, {" "}});
  BadRows bad(column.rows, /*skip=*/false);
  ASSERT_OK_AND_ASSIGN(const MissingValues::Kept kept, missing.apply({column, kPlace, bad}));
  EXPECT_EQ(kept.column.type, ValueType::kDouble);
  EXPECT_EQ(rows_of(kept.column), (Texts{{}, {}, {}, {"0"}, {}, {}, {"2.5"}, {}}));
}

TEST(MissingValuesTest, CellsThatAreNoNumbersAreBad) {
  ASSERT_OK_AND_ASSIGN(const MissingValues missing,
                       make("text: 'NA'", ValueType::kText, ValueType::kInt64));
  const Column column = column_of(ValueType::kString, {{"1"}, {"2", "N/A"}, {"NA"}, {"7.0"}});
  BadRows strict(4, /*skip=*/false);
  EXPECT_THAT(missing.apply({column, kPlace, strict}),
              StatusIs(absl::StatusCode::kDataLoss,
                       "f.csv, row 101, column x: \"N/A\" is not an integer; if it stands for a "
                       "missing value, add it to missing_values.text"));
  BadRows bad(4, /*skip=*/true);
  ASSERT_OK_AND_ASSIGN(const MissingValues::Kept kept, missing.apply({column, kPlace, bad}));
  EXPECT_EQ(bad.count(), 2);
  EXPECT_TRUE(bad.contains(3));
  EXPECT_EQ(rows_of(kept.column), (Texts{{"1"}, {"2", "0"}, {}, {"0"}}));
}

TEST(MissingValuesTest, BooleansAreNumbersAsInCells) {
  for (const ValueType type : {ValueType::kInt64, ValueType::kDouble}) {
    ASSERT_OK_AND_ASSIGN(const MissingValues missing, make("text: 'NA'", ValueType::kText, type));
    const Column column = column_of(ValueType::kString, {{"True"}, {"NA"}, {" false"}, {"yes"}});
    BadRows bad(4, /*skip=*/true);
    ASSERT_OK_AND_ASSIGN(const MissingValues::Kept kept, missing.apply({column, kPlace, bad}));
    EXPECT_EQ(rows_of(kept.column), (Texts{{"1"}, {}, {"0"}, {"0"}}));
    EXPECT_EQ(bad.count(), 1);
  }
}

TEST(MissingValuesTest, DelimitedTextWithoutTextsIsReadAsNumbers) {
  EXPECT_EQ(make("number: -1", ValueType::kText, ValueType::kInt64)->reads_as(), ValueType::kInt64);
  EXPECT_EQ(make("text: '-'", ValueType::kText, ValueType::kString)->reads_as(),
            ValueType::kString);
  EXPECT_EQ(make("nan: true", ValueType::kDouble, ValueType::kDouble)->reads_as(),
            ValueType::kDouble);
}

TEST(MissingValuesTest, ValuesKeepTheirWeights) {
  ASSERT_OK_AND_ASSIGN(const MissingValues missing,
                       make("number: -1", ValueType::kInt64, ValueType::kInt64));
  const Column column = column_of(ValueType::kInt64, {{"5", "-1", "6"}, {"-1"}, {"-1"}, {"7"}});
  const Column weights = column_of(ValueType::kDouble, {{"0.5", "nan", "1.5"}, {"2"}, {}, {"3"}});
  BadRows bad(4, /*skip=*/false);
  ASSERT_OK_AND_ASSIGN(const MissingValues::Kept kept,
                       missing.apply({column, kPlace, bad, &weights}));
  EXPECT_EQ(rows_of(kept.column), (Texts{{"5", "6"}, {}, {}, {"7"}}));
  EXPECT_EQ(rows_of(kept.weights), (Texts{{"0.5", "1.5"}, {}, {}, {"3"}}));
}

TEST(MissingValuesTest, OtherNumbersOfWeightsAreBad) {
  ASSERT_OK_AND_ASSIGN(const MissingValues missing,
                       make("number: -1", ValueType::kInt64, ValueType::kInt64));
  const Column column = column_of(ValueType::kInt64, {{"5", "-1", "6"}, {"-1"}, {"7"}});
  const Column weights = column_of(ValueType::kInt64, {{"1", "2"}, {"2", "3"}, {"4"}});
  BadRows bad(3, /*skip=*/true);
  ASSERT_OK_AND_ASSIGN(const MissingValues::Kept kept,
                       missing.apply({column, kPlace, bad, &weights}));
  EXPECT_EQ(rows_of(kept.weights), (Texts{{"0", "0"}, {}, {"4"}}));
  EXPECT_TRUE(bad.contains(0)) << "which of them has none?";
  EXPECT_TRUE(bad.contains(1));
  EXPECT_EQ(bad.first(), kPlace.error(0, "3 ids and 2 weights"));
}

TEST(MissingValuesTest, AnOwnedColumnIsMoved) {
  ASSERT_OK_AND_ASSIGN(const MissingValues missing,
                       make("number: -1", ValueType::kInt64, ValueType::kInt64));
  Column column = column_of(ValueType::kInt64, {{"5"}, {"6"}});
  const int64_t* const values = column.int64s.data();
  BadRows bad(2, /*skip=*/false);
  const FeatureInput input{
      .column = column, .place = kPlace, .bad = bad, .crossed = {}, .owned = &column};
  ASSERT_OK_AND_ASSIGN(const MissingValues::Kept kept, missing.apply(input));
  EXPECT_EQ(kept.column.int64s.data(), values);
}

TEST(MissingValuesTest, FieldsMustBeAboutTheColumn) {
  const auto fails = [](const std::string& config, ValueType column, ValueType gives,
                        const std::string& what) {
    EXPECT_THAT(make(config, column, gives), StatusIs(kInvalid, HasSubstr(what))) << config;
  };
  using enum ValueType;
  fails("text: 'NA'", kDouble, kDouble,
        "missing_values: text is given and the column holds numbers; give number or nan");
  fails("text: 'a' number: -1", kText, kString,
        "number is given and the values are text; write text: \"-1\"");
  fails("nan: true", kText, kString, "nan is given and the values are text; write text: \"nan\"");
  fails("text: 'NA' number: -1", kString, kString,
        "number is given and the column holds text; leave number out, or give the texts that stand "
        "for a missing value as text");
  fails("nan: true", kString, kString, "nan is given and the column holds text; leave nan out");
  EXPECT_OK(make("text: 'NA' nan: true", kDouble, kDouble)) << "for several formats";
  EXPECT_OK(make("text: 'NA' nan: true", kString, kString));
  EXPECT_OK(make("nan: true", kInt64, kInt64));
}

// ---------------------------------------------------------------------------
// Random columns, against a reference that works on one value at a time.

struct RandomCase {
  ValueType column;
  ValueType gives;
};

class MissingValuesPropertyTest : public testing::TestWithParam<RandomCase> {};

const std::vector<std::string>& candidates(ValueType type) {
  static const std::vector<std::string> integers = {"0", "1", "7", "12", "16777217"};
  static const std::vector<std::string> negative = {"0", "-1", "7", "-999", "16777217"};
  static const std::vector<std::string> numbers = {"0", "-1", "0.1", "nan", "-999.9", "inf"};
  static const std::vector<std::string> texts = {"NA", "a", " NA", "?", "-1"};
  switch (type) {
    case ValueType::kInt64: return negative;
    case ValueType::kUint64: return integers;
    case ValueType::kDouble: return numbers;
    case ValueType::kString:
    case ValueType::kText: break;
  }
  return texts;
}

// Returns true if a value, written as text, is missing.
bool is_missing(const MissingValuesTransform& config, const RandomCase& types,
                const std::string& written) {
  std::string text = written;
  const bool is_parsed = types.column == ValueType::kText && types.gives != ValueType::kString;
  if (is_parsed) text = std::string(absl::StripAsciiWhitespace(text));
  if (types.column == ValueType::kString || types.column == ValueType::kText) {
    for (const std::string& one : config.text()) {
      if (text == one) return true;
    }
    if (!is_parsed) return false;
  }
  double value = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  if (types.gives == ValueType::kDouble && config.nan() && std::isnan(value)) return true;
  for (const double number : config.number()) {
    if (value == number) return true;
    if (types.gives == ValueType::kDouble && value == static_cast<float>(number)) return true;
  }
  return false;
}

TEST_P(MissingValuesPropertyTest, AgreesWithAPlainReferenceWhateverTheCut) {
  const RandomCase types = GetParam();
  const ValueType stored = types.column == ValueType::kText ? ValueType::kString : types.column;
  std::mt19937_64 random(7);
  const auto below = [&](uint64_t n) { return random() % n; };
  for (int round = 0; round < 60; ++round) {
    MissingValuesTransform config;
    const bool is_text = types.gives == ValueType::kString;
    if (!is_text) config.set_nan(below(2) == 0);
    if (!is_text) config.add_number(below(2) == 0 ? -1 : 0.1);
    if (!is_text && below(2) == 0) config.add_number(-999.9);
    if (stored == ValueType::kString) config.add_text(below(2) == 0 ? "NA" : "-1");
    if (stored == ValueType::kString && below(2) == 0) config.add_text("?");

    // Cells that become numbers are numbers, or texts that are missing.
    std::vector<std::string> pool = candidates(types.gives);
    if (types.column == ValueType::kText && !is_text) {
      for (const std::string& text : config.text()) pool.push_back(text);
    }
    const int64_t rows = static_cast<int64_t>(below(20));
    const bool is_plain = below(3) == 0;
    Texts given(rows), expected(rows), weights(rows), expected_weights(rows);
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t count = is_plain ? 1 : below(4);
      for (uint64_t k = 0; k < count; ++k) {
        const std::string& value = given[row].emplace_back(pool[below(pool.size())]);
        const std::string& weight = weights[row].emplace_back(absl::StrCat(below(9)));
        if (is_missing(config, types, value)) continue;
        expected[row].push_back(value);
        expected_weights[row].push_back(weight);
      }
    }
    ASSERT_OK_AND_ASSIGN(const MissingValues missing,
                         make(config.ShortDebugString(), types.column, types.gives));
    const int64_t cut = rows == 0 ? 0 : static_cast<int64_t>(below(rows));
    Texts left, left_weights;
    for (const auto& [begin, end] : {std::pair{int64_t{0}, cut}, std::pair{cut, rows}}) {
      const Texts part(given.begin() + begin, given.begin() + end);
      const Texts part_weights(weights.begin() + begin, weights.begin() + end);
      Column column = column_of(missing.reads_as(), part);
      if (is_plain) simplify_offsets(column);
      const Column weight_column = column_of(ValueType::kDouble, part_weights);
      BadRows bad(column.rows, /*skip=*/false);
      ASSERT_OK_AND_ASSIGN(const MissingValues::Kept kept,
                           missing.apply({column, kPlace, bad, &weight_column}));
      EXPECT_EQ(kept.column.type, types.gives);
      for (const std::vector<std::string>& row : rows_of(kept.column)) left.push_back(row);
      for (const std::vector<std::string>& row : rows_of(kept.weights)) left_weights.push_back(row);
    }
    EXPECT_EQ(left, expected) << config.ShortDebugString();
    EXPECT_EQ(left_weights, expected_weights) << config.ShortDebugString();
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, MissingValuesPropertyTest,
                         testing::Values(RandomCase{ValueType::kInt64, ValueType::kInt64},
                                         RandomCase{ValueType::kUint64, ValueType::kUint64},
                                         RandomCase{ValueType::kDouble, ValueType::kDouble},
                                         RandomCase{ValueType::kString, ValueType::kString},
                                         RandomCase{ValueType::kText, ValueType::kInt64},
                                         RandomCase{ValueType::kText, ValueType::kDouble},
                                         RandomCase{ValueType::kText, ValueType::kString}));

}  // namespace

}  // namespace millrace
