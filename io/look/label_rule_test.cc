#include "io/look/label_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millrace
