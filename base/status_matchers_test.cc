#include "base/status_matchers.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<std::string> text(bool fail) {
  if (fail) return absl::InvalidArgumentError("line 3: odd");
  return std::string("hello");
}

TEST(StatusMatchersTest, MatchStatusesAndValues) {
  EXPECT_OK(absl::OkStatus());
  EXPECT_OK(text(false));
  EXPECT_THAT(text(true), Not(IsOk()));
  EXPECT_THAT(text(true), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(text(true), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 3")));
  EXPECT_THAT(text(true), Not(StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 4"))));
  EXPECT_THAT(text(true), Not(StatusIs(absl::StatusCode::kNotFound, HasSubstr("line 3"))));
  EXPECT_THAT(text(false), IsOkAndHolds("hello"));
  EXPECT_THAT(text(false), Not(IsOkAndHolds("hallo")));
  EXPECT_THAT(text(true), Not(IsOkAndHolds("hello")));
}

TEST(StatusMatchersTest, FailuresShowTheStatus) {
  EXPECT_NONFATAL_FAILURE(EXPECT_OK(text(true)), "INVALID_ARGUMENT: line 3: odd");
  EXPECT_NONFATAL_FAILURE(EXPECT_THAT(text(true), IsOkAndHolds("x")), "line 3: odd");
  EXPECT_FATAL_FAILURE(ASSERT_OK(absl::NotFoundError("gone")), "gone");
}

TEST(StatusMatchersTest, AssertOkAndAssignDeclaresAndMoves) {
  ASSERT_OK_AND_ASSIGN(const std::string value, text(false));
  EXPECT_EQ(value, "hello");
  auto make = []() -> absl::StatusOr<std::unique_ptr<int>> { return std::make_unique<int>(2); };
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<int> p, make());
  EXPECT_EQ(*p, 2);
}

}  // namespace
}  // namespace millrace
