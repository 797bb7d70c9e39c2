#include "bench/flag_checks.h"

#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(FlagChecksTest, AtLeast) {
  EXPECT_OK(check_at_least("rows", 1, 1));
  EXPECT_OK(check_at_least("rows", 2, 1));
  EXPECT_THAT(check_at_least("rows", 0, 1), StatusIs(kInvalid, "--rows is 0; at least 1 is due"));
}

TEST(FlagChecksTest, Zipf) {
  EXPECT_OK(check_zipf(0));
  EXPECT_OK(check_zipf(1.05));
  EXPECT_THAT(check_zipf(-0.5), StatusIs(kInvalid, "--zipf is -0.5; at least 0 and finite is due"));
  EXPECT_FALSE(check_zipf(std::numeric_limits<double>::infinity()).ok());
  EXPECT_FALSE(check_zipf(std::numeric_limits<double>::quiet_NaN()).ok());
}

}  // namespace
}  // namespace millrace
