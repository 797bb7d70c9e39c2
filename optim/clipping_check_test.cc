#include "optim/clipping_check.h"

#include <gtest/gtest.h>

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
  config.set_max_norm(0);
  fails(config, "train.clipping: max_norm is 0; must be greater than 0 and finite");
  config.set_max_value(-1);
  fails(config, "train.clipping: max_value is -1");
}

}  // namespace
}  // namespace millrace
