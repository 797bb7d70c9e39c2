#include "io/hashed_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr auto kText = DataIdentity::TEXT;
constexpr auto kNumbers = DataIdentity::NUMBERS;

DataIdentity::Column column(const std::string& name, DataIdentity::Cells cells,
                            const std::string& file = "a.csv") {
  DataIdentity::Column column;
  column.set_name(name);
  column.set_cells(cells);
  column.set_file(file);
  return column;
}

HashedColumns columns(std::initializer_list<DataIdentity::Column> list) {
  HashedColumns columns;
  for (const DataIdentity::Column& column : list) *columns.Add() = column;
  return columns;
}

// "NAME CELLS FILE", separated by commas.
std::string to_string(const HashedColumns& columns) {
  std::string text;
  for (const DataIdentity::Column& column : columns) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", column.name(), " ",
                    DataIdentity::Cells_Name(column.cells()), " ", column.file());
  }
  return text;
}

TEST(HashedColumnsTest, NewerColumnsReplaceOthersOfTheirName) {
  HashedColumns all = columns({column("b", kText), column("d", kText)});
  update_hashed_columns(columns({column("a", kNumbers, "n.orc"), column("d", kNumbers, "n.orc")}),
                        &all);
  EXPECT_EQ(to_string(all), "a NUMBERS n.orc, b TEXT a.csv, d NUMBERS n.orc");
  update_hashed_columns({}, &all);
  EXPECT_EQ(all.size(), 3);
}

TEST(HashedColumnsTest, SourcesThatDifferHaveAnUnknownType) {
  const HashedColumns first = columns({column("a", kText), column("b", kText)});
  const HashedColumns second = columns({column("b", kNumbers, "b.orc"), column("c", kNumbers)});
  const HashedColumns third = columns({column("a", kText, "c.csv"), column("b", kText, "c.csv")});
  EXPECT_EQ(to_string(common_hashed_columns({first, second, third})),
            "a TEXT a.csv, b UNKNOWN_CELLS a.csv, c NUMBERS a.csv");
  EXPECT_EQ(common_hashed_columns({}).size(), 0);
  HashedColumns earlier = columns({column("b", kText, "old.csv")});
  update_hashed_columns(common_hashed_columns({first, second}), &earlier);
  EXPECT_EQ(to_string(earlier), "a TEXT a.csv, b UNKNOWN_CELLS a.csv, c NUMBERS a.csv");
}

TEST(HashedColumnsTest, AnotherTypeThanInTrainingIsRefused) {
  const HashedColumns trained = columns({column("item", kNumbers), column("user", kText)});
  EXPECT_OK(check_hashed_columns(trained, trained));
  const HashedColumns now =
      columns({column("item", kNumbers), column("user", kNumbers, "new.orc")});
  EXPECT_THAT(
      check_hashed_columns(trained, now),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "column \"user\" holds numbers in new.orc, but text in training (a.csv), so that "
               "equal values would get other ids; store the column as text (string), as in "
               "a.csv"));
  EXPECT_THAT(check_hashed_columns(now, trained),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "column \"user\" holds text in a.csv, but numbers in training (new.orc), so "
                       "that equal values would get other ids; store the column as numbers, as in "
                       "new.orc"));
}

TEST(HashedColumnsTest, ColumnsThatOnlyOneHasAreNotCompared) {
  const HashedColumns user = columns({column("user", kText)});
  EXPECT_OK(check_hashed_columns({}, user));
  EXPECT_OK(check_hashed_columns(user, {}));
  EXPECT_OK(check_hashed_columns(user, columns({column("item", kNumbers)})));
  const HashedColumns unknown = columns({column("user", DataIdentity::UNKNOWN_CELLS)});
  EXPECT_OK(check_hashed_columns(user, unknown));
  EXPECT_OK(check_hashed_columns(unknown, user));
}

}  // namespace
}  // namespace millrace
