#include "io/look/label_tie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace millrace {
namespace {

using ::testing::HasSubstr;

// 1000 rows, of which every fifth has label 1; `value` gives the column, by row and label.
LabelTie tie_of(const std::function<std::optional<double>(int row, bool label)>& value,
                int rows = 1000, int64_t max_pairs = 512) {
  LabelTie tie(max_pairs);
  for (int row = 0; row < rows; ++row) tie.add(value(row, row % 5 == 0), row % 5 == 0);
  return tie;
}

TEST(LabelTieTest, ColumnsThatGiveTheLabelAway) {
  const double nan = std::nan("");
  const struct {
    const char* what;
    std::function<std::optional<double>(int, bool)> value;
    const char* reason;
  } cases[] = {
      {"a complement", [](int, bool label) { return 1.0 - label; },
       "area under the curve is 0.0000"},
      {"a time of the click",
       [](int row, bool label) { return label ? std::optional(row) : std::nullopt; },
       "area under the curve is 1.0000"},
      {"a time spent", [](int row, bool label) { return label ? row + 1.0 : 0; },
       "area under the curve is 1.0000"},
      {"what only some positives have", [](int row, bool label) { return label && row % 2 == 0; },
       "where it is above 0, the label is 1 in all 100 rows"},
      {"a text of positives",
       [nan](int, bool label) { return label ? std::optional(nan) : std::nullopt; },
       "where it is missing, the label is 0 in all 800 rows"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(tie_of(one.value).reason(), HasSubstr(one.reason)) << one.what;
    EXPECT_EQ(tie_of(one.value, 90).reason(), "") << one.what << ": perhaps by chance";
  }
}

TEST(LabelTieTest, ColumnsThatDoNot) {
  EXPECT_EQ(tie_of([](int row, bool) { return row % 7; }).reason(), "");
  EXPECT_EQ(tie_of([](int row, bool label) { return row % 7 + 3 * label; }).reason(), "")
      << "a good feature";
  EXPECT_EQ(tie_of([](int, bool) { return std::nan(""); }).reason(), "") << "text";
  EXPECT_EQ(tie_of([](int row, bool) {
              return row % 25 == 1 ? std::nullopt : std::optional(1);
            }).reason(),
            "")
      << "missing in 40 rows of label 0, by chance";
}

TEST(LabelTieTest, ASecondLabelIsNestedInTheFirst) {
  EXPECT_TRUE(tie_of([](int row, bool label) { return label && row % 2 == 0; }).is_nested());
  EXPECT_FALSE(tie_of([](int row, bool) { return row % 2; }).is_nested());
  EXPECT_FALSE(tie_of([](int row, bool label) { return label ? row + 1.0 : 0; }).is_nested());
}

}  // namespace
}  // namespace millrace
