#include "optim/clipping_check.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(ClippingCheckTest, TakesALimitAboveZero) {
  ClippingConfig config;
  config.set_max_norm(1e-30);
  EXPECT_OK(check_clipping("clipping", config));
  config.set_max_value(5);
  EXPECT_OK(check_clipping("clipping", config));
}

TEST(ClippingCheckTest, RefusesNamingPlaceAndField) {
  const auto fails = [](const ClippingConfig& config, const char* what) {
    EXPECT_THAT(check_clipping("train.clipping", config),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  ClippingConfig config;
  fails(config, "train.clipping: no limit, so that nothing is clipped; give max_norm or max_value");
  config.set_over(ClippingConfig::DENSE);
  fails(config, "train.clipping: no limit");
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    config.set_max_norm(bad);
    fails(config, "train.clipping: max_norm is ");
    config.set_max_value(bad);
    fails(config, "train.clipping: max_value is ");
  }
}

}  // namespace
}  // namespace millrace
