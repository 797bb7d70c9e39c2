#include "optim/checked_number.h"

#include <cmath>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(CheckedNumberTest, NotNegative) {
  EXPECT_OK(check_not_negative("x", 0));
  EXPECT_OK(check_not_negative("x", 3e38));
  EXPECT_THAT(check_not_negative("x", 1e39), StatusIs(absl::StatusCode::kInvalidArgument));
  for (const double value : {-1e-300, -1.0, double{INFINITY}, double{NAN}}) {
    EXPECT_THAT(check_not_negative("rate", value),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("rate")));
  }
}

TEST(CheckedNumberTest, BelowOne) {
  EXPECT_OK(check_below_one("x", 0));
  EXPECT_OK(check_below_one("x", 0.999999));
  for (const double value : {-0.1, 1.0, double{INFINITY}, double{NAN}}) {
    EXPECT_THAT(check_below_one("beta", value),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("beta")));
  }
}

}  // namespace
}  // namespace millrace
