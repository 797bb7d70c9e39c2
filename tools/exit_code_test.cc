#include "tools/exit_code.h"

#include <gtest/gtest.h>

#include "base/failure_kind.h"

namespace millrace {
namespace {

TEST(ExitCode, FollowsSysexits) {
  EXPECT_EQ(exit_code(absl::OkStatus()), 0);
  EXPECT_EQ(exit_code(absl::InvalidArgumentError("x")), 64);
  EXPECT_EQ(exit_code(absl::FailedPreconditionError("x")), 64);
  EXPECT_EQ(exit_code(absl::AlreadyExistsError("x")), 64);
  EXPECT_EQ(exit_code(absl::DataLossError("x")), 65);
  EXPECT_EQ(exit_code(absl::NotFoundError("x")), 66);
  EXPECT_EQ(exit_code(absl::InternalError("x")), 70);
  EXPECT_EQ(exit_code(absl::UnknownError("x")), 70);
  EXPECT_EQ(exit_code(absl::PermissionDeniedError("x")), 73);
  EXPECT_EQ(exit_code(absl::ResourceExhaustedError("x")), 73);
  EXPECT_EQ(exit_code(absl::UnavailableError("x")), 74);
  EXPECT_EQ(exit_code(absl::AbortedError("x")), 76);
}

TEST(ExitCode, TheKindOfAFailureGoesFirst) {
  const absl::Status full = absl::ResourceExhaustedError("x");
  EXPECT_EQ(exit_code(with_kind(full, FailureKind::kMachine)), 71);
  EXPECT_EQ(exit_code(with_kind(full, FailureKind::kLimit)), 64);
  EXPECT_EQ(exit_code(with_kind(absl::FailedPreconditionError("x"), FailureKind::kBusy)), 76);
  EXPECT_EQ(exit_code(with_kind(absl::DataLossError("x"), FailureKind::kEvaluation)), 79);
  EXPECT_EQ(exit_code(with_kind(absl::FailedPreconditionError("x"), FailureKind::kDiverged)), 80);
  EXPECT_EQ(exit_code(with_kind(absl::InternalError("x"), FailureKind::kPart)), 81);
}

}  // namespace
}  // namespace millrace
