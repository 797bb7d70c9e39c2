#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "base/catch_exceptions.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(LibTorchExceptionsTest, PassesStatusesOn) {
  EXPECT_OK(catch_exceptions("x", [] { return absl::OkStatus(); }));
  EXPECT_THAT(catch_exceptions("x", [] { return absl::DataLossError("as it was"); }),
              StatusIs(absl::StatusCode::kDataLoss, "as it was"));
}

TEST(LibTorchExceptionsTest, LibTorchErrorsWithoutTheirBacktrace) {
  EXPECT_THAT(catch_exceptions("adding",
                               []() -> absl::Status {
                                 at::ones({2}) + at::ones({3});
                                 return absl::OkStatus();
                               }),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(StartsWith("adding: "), HasSubstr("must match"), Not(HasSubstr("\n")),
                             Not(HasSubstr("frame #")))));
}

TEST(LibTorchExceptionsTest, OtherExceptions) {
  EXPECT_THAT(
      catch_exceptions("x", []() -> absl::Status { throw std::runtime_error("boom\nmore"); }),
      StatusIs(absl::StatusCode::kInternal, "x: boom"));
  EXPECT_THAT(catch_exceptions("x", []() -> absl::Status { throw std::bad_alloc(); }),
              StatusIs(absl::StatusCode::kResourceExhausted, StartsWith("x: out of memory")));
  // LibTorch's own allocator.
  EXPECT_THAT(catch_exceptions("x",
                               []() -> absl::Status {
                                 at::empty({1LL << 60}, at::kByte);
                                 return absl::OkStatus();
                               }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("1152921504606846976 bytes were asked for")));
  EXPECT_THAT(catch_exceptions("x", []() -> absl::Status { throw 7; }),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no std::exception")));
}

}  // namespace
}  // namespace millrace
