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

TEST(NumberTextTest, TheDecimalOfAFloat) {
  EXPECT_EQ(shortest_decimal(0.1f), 0.1);
  EXPECT_EQ(shortest_decimal(0.1234567f), 0.1234567);
  EXPECT_EQ(shortest_decimal(16777216.0f), 16777216);
  EXPECT_EQ(shortest_decimal(std::numeric_limits<float>::infinity()),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace millrace
