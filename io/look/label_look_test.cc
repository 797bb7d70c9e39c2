#include "io/look/label_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(LabelRule, IsAColumnOrAComparison) {
  ASSERT_OK_AND_ASSIGN(const LabelRule plain, parse_label_rule("click"));
  EXPECT_EQ(plain.column, "click");
  EXPECT_FALSE(plain.at_least.has_value());
  EXPECT_EQ(plain.label_of(3), 3);
  ASSERT_OK_AND_ASSIGN(const LabelRule rule, parse_label_rule(" rating >= 4 "));
  EXPECT_EQ(rule.column, "rating");
  EXPECT_EQ(rule.at_least, 4);
  EXPECT_EQ(rule.label_of(3.9), 0);
  EXPECT_EQ(rule.label_of(4), 1);
}

TEST(LabelRule, RefusesOtherComparisons) {
  for (const char* text : {"rating>4", "rating<=4", "rating==4", "rating=4", "rating>=", "a>=b",
                           "a>=nan", "a>=1>=2"}) {
    EXPECT_THAT(parse_label_rule(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("COLUMN>=NUMBER")))
        << text;
  }
  EXPECT_THAT(parse_label_rule(">=4"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names no column")));
}

TEST(LabelRule, UsualNamesAreFoundInAnyCase) {
  EXPECT_EQ(find_label_name({"user", "Click", "x"}), "Click");
  EXPECT_EQ(find_label_name({"click", "label"}), "label") << "the most usual one";
  EXPECT_EQ(find_label_name({"user", "clicks"}), std::nullopt);
  EXPECT_EQ(find_label_name({"user", " Click"}), " Click");
  EXPECT_EQ(find_label_name({" label", "click"}), "click") << "without blanks";
}

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
