#include "sinks/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace millrace {
namespace {

TEST(NumberTextTest, ShortestOrAWord) {
  constexpr NumberWords kWords = {"none", "most", "least"};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(number_text(0.1, kWords), "0.1");
  EXPECT_EQ(number_text(-7, kWords), "-7");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN(), kWords), "none");
  EXPECT_EQ(number_text(kInfinity, kWords), "most");
  EXPECT_EQ(number_text(-kInfinity, kWords), "least");
}

}  // namespace
}  // namespace millrace
