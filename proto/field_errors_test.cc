#include "proto/field_errors.h"

#include "base/status_matchers.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

TEST(FieldErrorsTest, OkIsNoError) {
  FieldErrors errors;
  errors.add(absl::OkStatus());
  errors.add(not_negative("here", "gamma", 0));
  EXPECT_TRUE(errors.empty());
  EXPECT_OK(errors.status());
}

TEST(FieldErrorsTest, OneLineForEachErrorInOrder) {
  FieldErrors errors;
  errors.add(wrong("b", "first"));
  errors.add(absl::OkStatus());
  errors.add(wrong("a", "second"));
  EXPECT_EQ(errors.all().size(), 2);
  EXPECT_THAT(errors.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::StrEq("b: first\na: second")));
}

TEST(AllErrorsTest, OneLineForEachError) {
  EXPECT_OK(all_errors({absl::OkStatus(), absl::OkStatus()}));
  EXPECT_THAT(all_errors({wrong("b", "first"), absl::OkStatus(), wrong("a", "second")}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::StrEq("b: first\na: second")));
}

}  // namespace
}  // namespace millrace
