#include "optim/name_pattern.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(NamePatternTest, EmptyFitsEverything) {
  EXPECT_TRUE(matches_pattern("", ""));
  EXPECT_TRUE(matches_pattern("deep.0.weight", ""));
}

TEST(NamePatternTest, WithoutStarsTheWholeName) {
  EXPECT_TRUE(matches_pattern("bias", "bias"));
  EXPECT_FALSE(matches_pattern("bias2", "bias"));
  EXPECT_FALSE(matches_pattern("bia", "bias"));
  EXPECT_FALSE(matches_pattern("Bias", "bias"));
}

TEST(NamePatternTest, StarsStandForAnyText) {
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("deep.0.weight", "deep.*"));
  EXPECT_TRUE(matches_pattern("deep.0.weight", "*.weight"));
  EXPECT_TRUE(matches_pattern("deep.0.weight", "*0*"));
  EXPECT_TRUE(matches_pattern("deep.0.weight", "d*.*t"));
  EXPECT_TRUE(matches_pattern("weight", "**weight**"));
  EXPECT_TRUE(matches_pattern("aab", "*ab"));
  EXPECT_FALSE(matches_pattern("deep.0.weight", "*.bias"));
  EXPECT_FALSE(matches_pattern("deep", "deep.*"));
  EXPECT_FALSE(matches_pattern("ab", "a*b*c"));
}

}  // namespace
}  // namespace millrace
