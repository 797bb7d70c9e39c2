#include "tools/plot/svg_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RoundTicksTest, AreMultiplesOfOneTwoOrFive) {
  EXPECT_THAT(round_ticks(0), ElementsAre(0, 0.2, 0.4, 0.6, 0.8, 1));
  EXPECT_THAT(round_ticks(6), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(round_ticks(7), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(round_ticks(200), ElementsAre(0, 50, 100, 150, 200));
  EXPECT_THAT(round_ticks(0.00125), ElementsAre(0, 0.0005, 0.001, 0.0015));
  for (double most = 1e-9; most < 1e12; most *= 1.37) {
    const std::vector<double> ticks = round_ticks(most);
    EXPECT_GE(ticks.back(), most * (1 - 1e-9));
    EXPECT_LE(ticks.size(), 8u) << most;
    EXPECT_GE(ticks.size(), 3u) << most;
  }
}

TEST(SvgChartTest, LinesLieBetweenTheAxes) {
  const Chart chart{"Rates", "steps", "rate", {{"dense", {{0, 0}, {50, 1}, {100, 0.5}}}}};
  const std::string svg = svg_of({&chart, 1});
  EXPECT_THAT(svg, HasSubstr("points=\"80.0,290.0 330.0,40.0 580.0,165.0 \""));
  EXPECT_THAT(svg, HasSubstr(">dense</text>"));
  EXPECT_THAT(svg, HasSubstr(">steps</text>"));
  EXPECT_EQ(svg.find("<svg "), 0u);
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
}

TEST(SvgChartTest, ChartsStandBelowEachOther) {
  const std::vector<Chart> charts(3, {"a", "x", "y", {{"l", {{0, 1}, {1, 1}}}}});
  EXPECT_THAT(svg_of(charts), HasSubstr("viewBox=\"0 0 760 1020\""));
}

TEST(SvgChartTest, TextsAreEscaped) {
  const Chart chart{"a<b>&\"c\"", "x", "y", {}};
  const std::string svg = svg_of({&chart, 1});
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b>")));
}

}  // namespace
}  // namespace millrace
