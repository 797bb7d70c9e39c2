#include "framework/guarded.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(GuardedTest, PassesStatusesOn) {
  EXPECT_OK(guarded("x", [] { return absl::OkStatus(); }));
  EXPECT_THAT(guarded("x", [] { return absl::DataLossError("as it was"); }),
              StatusIs(absl::StatusCode::kDataLoss, "as it was"));
}

TEST(GuardedTest, LibTorchErrorsWithoutTheirBacktrace) {
  EXPECT_THAT(guarded("adding",
                      []() -> absl::Status {
                        at::ones({2}) + at::ones({3});
                        return absl::OkStatus();
                      }),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(StartsWith("adding: "), HasSubstr("must match"), Not(HasSubstr("\n")),
                             Not(HasSubstr("frame #")))));
}

TEST(GuardedTest, OtherExceptions) {
  EXPECT_THAT(guarded("x", []() -> absl::Status { throw std::runtime_error("boom\nmore"); }),
              StatusIs(absl::StatusCode::kInternal, "x: boom"));
  EXPECT_THAT(guarded("x", []() -> absl::Status { throw std::bad_alloc(); }),
              StatusIs(absl::StatusCode::kResourceExhausted, StartsWith("x: out of memory")));
  // LibTorch's own allocator.
  EXPECT_THAT(guarded("x",
                      []() -> absl::Status {
                        at::empty({1LL << 60}, at::kByte);
                        return absl::OkStatus();
                      }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("1152921504606846976 bytes were asked for")));
  EXPECT_THAT(guarded("x", []() -> absl::Status { throw 7; }),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no std::exception")));
}

}  // namespace
}  // namespace millrace
