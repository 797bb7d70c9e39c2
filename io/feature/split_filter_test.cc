#include "io/feature/split_filter.h"

#include <google/protobuf/text_format.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ColumnPlace kPlace = {.path = "f.orc", .column = "x", .first_row = 100};

absl::StatusOr<SplitFilter> make(const std::string& text, ValueType type = ValueType::kInt64) {
  SplitConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return SplitFilter::create(config, type);
}

absl::StatusOr<std::vector<uint8_t>> run(const std::string& text, const Column& column) {
  ASSIGN_OR_RETURN(const SplitFilter filter, make(text, column.type));
  std::vector<int64_t> numbers(column.rows);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<uint8_t> keep;
  BadRows bad(static_cast<int64_t>(numbers.size()), /*skip=*/false);
  RETURN_IF_ERROR(filter.append(numbers, column, kPlace, bad, &keep));
  return keep;
}

Column ints(std::vector<int64_t> values) {
  Column column;
  column.rows = static_cast<int64_t>(values.size());
  column.int64s = std::move(values);
  return column;
}

TEST(SplitFilterTest, PartsByHashOfExampleCoverEverythingOnce) {
  const Column none = ints(std::vector<int64_t>(20000));
  ASSERT_OK_AND_ASSIGN(const auto low, run("from: 0 to: 0.3", none));
  ASSERT_OK_AND_ASSIGN(const auto middle, run("from: 0.3 to: 0.9", none));
  ASSERT_OK_AND_ASSIGN(const auto high, run("from: 0.9 to: 1", none));
  int counts[3] = {};
  for (int i = 0; i < 20000; ++i) {
    ASSERT_EQ(low[i] + middle[i] + high[i], 1);
    counts[0] += low[i];
    counts[1] += middle[i];
  }
  EXPECT_NEAR(counts[0], 6000, 300);
  EXPECT_NEAR(counts[1], 12000, 300);
}

// The part of each of 1000 rows of a file, which is the `number`th of its list.
std::vector<uint8_t> parts(const std::string& path, int64_t number, TrainConfig::SplitRule rule) {
  SplitConfig half;
  half.set_to(0.5);
  const auto filter = SplitFilter::create(half, ValueType::kInt64, rule);
  EXPECT_OK(filter.status());
  std::vector<int64_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), number << 40);
  std::vector<uint8_t> keep;
  BadRows bad(1000, /*skip=*/false);
  EXPECT_OK(filter->append(numbers, Column(), {.path = path}, bad, &keep));
  return keep;
}

TEST(SplitFilterTest, AnExampleHasOnePartInEveryListOfFiles) {
  const auto part = parts("data/a.orc", 0, TrainConfig::FILE_NAME);
  EXPECT_EQ(parts("data/a.orc", 7, TrainConfig::FILE_NAME), part);
  EXPECT_EQ(parts("s3://moved/a.orc", 1, TrainConfig::FILE_NAME), part);
  EXPECT_NE(parts("data/b.orc", 0, TrainConfig::FILE_NAME), part);
}

TEST(SplitFilterTest, JobsOfEarlierVersionsKeepTheirParts) {
  const auto part = parts("data/a.orc", 1, TrainConfig::FILE_NUMBER);
  EXPECT_EQ(parts("data/b.orc", 1, TrainConfig::FILE_NUMBER), part);
  EXPECT_NE(parts("data/a.orc", 0, TrainConfig::FILE_NUMBER), part);
  // As version 0.1 kept them.
  EXPECT_THAT(absl::MakeConstSpan(part).first(16),
              ElementsAre(0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1));
}

TEST(SplitFilterTest, IntegersAndDoublesThatEqualThemLieInOnePart) {
  std::vector<int64_t> users(1000);
  std::iota(users.begin(), users.end(), -500);
  Column numbers;
  numbers.type = ValueType::kDouble;
  numbers.rows = 1000;
  numbers.doubles.assign(users.begin(), users.end());
  for (const char* text : {"by: HASH_OF_COLUMN column: 'x' from: 0 to: 0.5",
                           "by: ORDER_OF_COLUMN column: 'x' from: -3 to: 200"}) {
    EXPECT_EQ(*run(text, ints(users)), *run(text, numbers)) << text;
  }
  for (double& number : numbers.doubles) number += 0.5;
  const std::string half = "by: HASH_OF_COLUMN column: 'x' from: 0 to: 0.5";
  EXPECT_NE(*run(half, ints(users)), *run(half, numbers));
}

TEST(SplitFilterTest, HashOfColumnKeepsEqualValuesTogether) {
  std::vector<int64_t> users(1000);
  for (int i = 0; i < 1000; ++i) users[i] = i % 100;
  ASSERT_OK_AND_ASSIGN(const auto keep,
                       run("by: HASH_OF_COLUMN column: 'x' from: 0 to: 0.5", ints(users)));
  int kept = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(keep[i], keep[i % 100]);
    kept += keep[i];
  }
  EXPECT_GT(kept, 300);
  EXPECT_LT(kept, 700);
}

TEST(SplitFilterTest, HashOfColumnTakesTextAndLists) {
  Column column;
  column.type = ValueType::kString;
  column.rows = 4;
  column.offsets = {0, 1, 3, 3, 4};
  for (const char* text : {"a", "a", "b", "a"}) column.strings.push_back(text);
  ASSERT_OK_AND_ASSIGN(const auto keep, run("by: HASH_OF_COLUMN column: 'x' to: 0.5", column));
  EXPECT_EQ(keep[0], keep[3]);
}

TEST(SplitFilterTest, OrderOfColumn) {
  EXPECT_THAT(run("by: ORDER_OF_COLUMN column: 'x' from: 10 to: 20", ints({9, 10, 19, 20})),
              IsOkAndHolds(ElementsAre(0, 1, 1, 0)));
  Column missing = ints({9});
  missing.rows = 2;
  missing.offsets = {0, 1, 1};
  EXPECT_THAT(run("by: ORDER_OF_COLUMN column: 'x' from: 10 to: 20", missing),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f.orc, row 101, column x")));
}

// Runs a split by order over cells of delimited text or names of directories.
absl::StatusOr<std::vector<uint8_t>> run_texts(const std::string& bounds,
                                               const std::vector<std::string>& texts) {
  Column column{.type = ValueType::kString, .rows = static_cast<int64_t>(texts.size())};
  for (const std::string& text : texts) column.strings.push_back(text);
  ASSIGN_OR_RETURN(const SplitFilter filter,
                   make("by: ORDER_OF_COLUMN column: 'x' " + bounds, ValueType::kText));
  std::vector<uint8_t> keep;
  BadRows bad(column.rows, /*skip=*/false);
  RETURN_IF_ERROR(filter.append(std::vector<int64_t>(column.rows), column, kPlace, bad, &keep));
  return keep;
}

TEST(SplitFilterTest, DatesAreInTheirOrder) {
  EXPECT_THAT(run_texts("from: 20240105 to: 20240201",
                        {"2024-01-04", "2024-01-05", "2024-01-31", "2024-02-01", "20240106"}),
              IsOkAndHolds(ElementsAre(0, 1, 1, 0, 1)));
  EXPECT_THAT(run_texts("to: 202402", {"2024-01", "2024-02"}), IsOkAndHolds(ElementsAre(1, 0)));
  EXPECT_THAT(run_texts("from: -2.5", {"-3", " 7 ", "-2.5", "1e3"}),
              IsOkAndHolds(ElementsAre(0, 1, 1, 1)));
  EXPECT_THAT(run_texts("from: 1", {"True", "False", "False", "True", "1", "0"}),
              IsOkAndHolds(ElementsAre(1, 0, 0, 1, 1, 0)));
  for (const char* text : {"Monday", "2024-02-30-10", "nan", "", "1 2"}) {
    EXPECT_THAT(run_texts("from: 1", {text}),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("f.orc, row 100, column x"),
                               HasSubstr("neither a number nor a date such as 2024-01-31"))))
        << text;
  }
}

TEST(SplitFilterTest, DatesHaveTheDigitsOfTheBounds) {
  const auto refuses = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kDataLoss,
                    AllOf(HasSubstr("f.orc, row 100, column x"), HasSubstr(what)));
  };
  EXPECT_THAT(run_texts("from: 202402", {"2024-01-05"}),
              refuses("\"2024-01-05\" is a date of 8 digits, and the bound 202402 of the split has "
                      "6; give bounds of 8 digits"));
  EXPECT_THAT(run_texts("to: 20240101", {"2024-01"}), refuses("give bounds of 6 digits"));
  EXPECT_THAT(run_texts("from: 2024", {"2024-01-05"}), refuses("the bound 2024 "));
  EXPECT_THAT(run_texts("from: 20240132 to: 99999999", {"2024-01-31", "2024-02-01"}),
              IsOkAndHolds(ElementsAre(0, 1)));
  EXPECT_THAT(run_texts("from: 202402", {"20240105"}), IsOkAndHolds(ElementsAre(1)))
      << "a number may be anything";
}

TEST(SplitFilterTest, DelimitedTextIsReadAsNumbersUnlessABoundIsADate) {
  const auto reads_as = [](const std::string& text) {
    return make(text, ValueType::kText)->reads_as();
  };
  EXPECT_EQ(reads_as("by: ORDER_OF_COLUMN column: 'x' from: 0.5 to: 7"), ValueType::kDouble);
  EXPECT_EQ(reads_as("by: ORDER_OF_COLUMN column: 'x' from: 1700000000"), ValueType::kDouble);
  EXPECT_EQ(reads_as("by: ORDER_OF_COLUMN column: 'x' from: 20240131"), ValueType::kString);
  EXPECT_EQ(reads_as("by: ORDER_OF_COLUMN column: 'x' to: 202402"), ValueType::kString);
  EXPECT_EQ(reads_as("by: HASH_OF_COLUMN column: 'x' to: 0.5"), ValueType::kString);
}

TEST(SplitFilterTest, AnUnsetBoundOfAnOrderIsNone) {
  EXPECT_THAT(run("by: ORDER_OF_COLUMN column: 'x' from: 10", ints({-5, 9, 10, 1 << 30})),
              IsOkAndHolds(ElementsAre(0, 0, 1, 1)));
  EXPECT_THAT(run("by: ORDER_OF_COLUMN column: 'x' to: 10", ints({-5, 9, 10, 1 << 30})),
              IsOkAndHolds(ElementsAre(1, 1, 0, 0)));
}

TEST(SplitFilterTest, KnowsWhenItTakesAll) {
  EXPECT_TRUE(make("")->takes_all());
  EXPECT_TRUE(make("from: 0 to: 1")->takes_all());
  EXPECT_FALSE(make("to: 0.5")->takes_all());
  EXPECT_FALSE(make("by: ORDER_OF_COLUMN column: 'x' from: 0")->takes_all());
}

TEST(SplitFilterTest, Refuses) {
  auto fails = [](const std::string& text, const std::string& what,
                  ValueType type = ValueType::kInt64) {
    EXPECT_THAT(make(text, type), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  fails("from: 0.5 to: 0.2", "must not be above");
  fails("to: 1.5", "both must be 0 to 1");
  fails("from: nan", "must not be above");
  fails("column: 'x'", "takes no column");
  fails("by: HASH_OF_COLUMN", "needs a column");
  fails("by: ORDER_OF_COLUMN column: 'x'", "give from, to or both");
  fails("by: ORDER_OF_COLUMN column: 'x' to: 3", "holds text; store dates as numbers such as",
        ValueType::kString);
}

SplitConfig parse(const std::string& text) {
  SplitConfig split;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &split)) << text;
  return split;
}

TEST(SplitCheckTest, Accepts) {
  for (const char* text :
       {"", "to: 0.5", "from: 0.25 to: 0.25", "by: HASH_OF_COLUMN column: 'x'",
        "by: ORDER_OF_COLUMN column: 'x' from: 1e9", "by: ORDER_OF_COLUMN column: 'x' to: -3"}) {
    EXPECT_OK(check_split("here", parse(text))) << text;
  }
}

TEST(SplitCheckTest, Refuses) {
  const auto fails = [](const std::string& text, const std::string& what) {
    EXPECT_THAT(check_split("here", parse(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)))
        << text;
  };
  fails("from: 0.5 to: 0.2", "here: from 0.5 to 0.2; from must not be above to");
  fails("from: nan", "from must not be above to");
  fails("to: 1.5", "both must be 0 to 1");
  fails("from: -1", "both must be 0 to 1");
  fails("column: 'x'", "HASH_OF_EXAMPLE takes no column");
  fails("by: HASH_OF_COLUMN", "HASH_OF_COLUMN needs a column");
  fails("by: ORDER_OF_COLUMN column: 'x'", "give from, to or both");
  fails("by: ORDER_OF_COLUMN column: 'x' from: 2 to: 1", "from must not be above to");
}

}  // namespace
}  // namespace millrace
