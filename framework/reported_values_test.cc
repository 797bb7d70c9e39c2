#include "framework/reported_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Values = std::map<std::string, double>;

double reduced(Reduction reduction, const std::vector<double>& values) {
  ReportedValues reported;
  for (double value : values) reported.add("x", value, reduction);
  Values drained;
  reported.drain(&drained);
  return drained.at("x");
}

TEST(ReportedValuesTest, Reductions) {
  const std::vector<double> values = {3, -1, 7, 2};
  EXPECT_EQ(reduced(Reduction::kMean, values), 2.75);
  EXPECT_EQ(reduced(Reduction::kSum, values), 11);
  EXPECT_EQ(reduced(Reduction::kMin, values), -1);
  EXPECT_EQ(reduced(Reduction::kMax, values), 7);
  EXPECT_EQ(reduced(Reduction::kLast, values), 2);
}

TEST(ReportedValuesTest, OneValueIsItself) {
  for (const Reduction reduction :
       {Reduction::kMean, Reduction::kSum, Reduction::kMin, Reduction::kMax, Reduction::kLast}) {
    EXPECT_EQ(reduced(reduction, {-5}), -5);
  }
}

TEST(ReportedValuesTest, NotANumberIsNeverHidden) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Reduction reduction :
       {Reduction::kMean, Reduction::kSum, Reduction::kMin, Reduction::kMax}) {
    EXPECT_TRUE(std::isnan(reduced(reduction, {nan, 1})));
    EXPECT_TRUE(std::isnan(reduced(reduction, {1, nan})));
    EXPECT_TRUE(std::isnan(reduced(reduction, {1, nan, 2})));
  }
  EXPECT_EQ(reduced(Reduction::kLast, {nan, 1}), 1);
}

TEST(ReportedValuesTest, DrainForgetsAndKeepsOthers) {
  ReportedValues reported;
  reported.add("b", 1, Reduction::kSum);
  reported.add("a", 2, Reduction::kSum);
  Values values = {{"b", 100}, {"c", 3}};
  reported.drain(&values);
  EXPECT_THAT(values, ElementsAre(Pair("a", 2), Pair("b", 1), Pair("c", 3)));
  Values none;
  reported.drain(&none);
  EXPECT_THAT(none, IsEmpty());
}

TEST(ReportedValuesTest, TheFirstReductionStays) {
  ReportedValues reported;
  reported.add("x", 1, Reduction::kMax);
  reported.add("x", 5, Reduction::kSum);
  Values values;
  reported.drain(&values);
  EXPECT_EQ(values["x"], 5);
  // Until it is drained.
  reported.add("x", 1, Reduction::kSum);
  reported.add("x", 5, Reduction::kMax);
  reported.drain(&values);
  EXPECT_EQ(values["x"], 6);
}

}  // namespace
}  // namespace millrace
