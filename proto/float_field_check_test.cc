#include "proto/float_field_check.h"

#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(FloatFieldCheckTest, NumbersMustBeFiniteInFloat32) {
  EXPECT_OK(finite_float("a", "b", -3e38));
  EXPECT_THAT(finite_float("a", "b", 1e39), StatusIs(kInvalid, "a: b is 1e+39; must be finite"));
  EXPECT_OK(not_negative_float("a", "b", 0));
  for (const double value : {-1.0, 1e39, kInfinity}) {
    EXPECT_THAT(not_negative_float("a", "b", value), StatusIs(kInvalid)) << value;
  }
  EXPECT_OK(positive_float("a", "b", 1e-30));
  EXPECT_THAT(positive_float("a", "b", 0),
              StatusIs(kInvalid, "a: b is 0; must be greater than 0 and finite"));
}

TEST(FloatFieldCheckTest, NormalNumbers) {
  for (const double value : {1e-37, 1.0, 3e38}) EXPECT_OK(normal_float("a", "b", value)) << value;
  for (const double value : {-1.0, 0.0, 1e-39, 1e39, kInfinity}) {
    EXPECT_THAT(normal_float("a", "b", value), StatusIs(kInvalid)) << value;
  }
  EXPECT_THAT(normal_float("a", "b", 1e39),
              StatusIs(kInvalid, "a: b is 1e+39; must be a positive, normal number of float32"));
}

}  // namespace
}  // namespace millrace
