#include "base/random/normal_quantile.h"

#include <cmath>
#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

double probability_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(NormalQuantileTest, InvertsTheDistributionFunctionFarIntoTheTails) {
  for (double p = 1e-300; p < 0.5; p *= 1.07) {
    EXPECT_NEAR(probability_below(standard_normal_quantile(p)) / p, 1, 1e-5) << p;
  }
  for (double p = 0.001; p < 0.9995; p += 0.001) {
    EXPECT_NEAR(probability_below(standard_normal_quantile(p)), p, 1e-9) << p;
  }
}

TEST(NormalQuantileTest, IsOddAndIncreasing) {
  double last = -std::numeric_limits<double>::infinity();
  for (int i = 1; i < 4096; ++i) {
    const double p = i / 4096.0;
    EXPECT_EQ(standard_normal_quantile(p), -standard_normal_quantile(1 - p)) << p;
    EXPECT_GT(standard_normal_quantile(p), last) << p;
    last = standard_normal_quantile(p);
  }
}

TEST(NormalQuantileTest, TheFormulasMeet) {
  for (const double p : {0.02425, 1 - 0.02425}) {
    EXPECT_FALSE(in_quantile_tail(p));
    EXPECT_NEAR(central_quantile(p), tail_quantile(p), 1e-8);
  }
  EXPECT_TRUE(in_quantile_tail(0.024));
  EXPECT_TRUE(in_quantile_tail(0.976));
}

TEST(NormalQuantileTest, TheLogarithmIsOne) {
  for (double x = 1; x > 1e-300; x *= 0.93) {
    EXPECT_NEAR(quantile_log(x), std::log(x), 1e-15 * (1 - std::log(x))) << x;
  }
}

}  // namespace
}  // namespace millrace
