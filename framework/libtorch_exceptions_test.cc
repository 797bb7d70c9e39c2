#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/catch_exceptions.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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

TEST(LibTorchExceptionsTest, ItsAllocatorHasNoMemory) {
  EXPECT_THAT(catch_exceptions("x",
                               []() -> absl::Status {
                                 at::empty({1LL << 60}, at::kByte);
                                 return absl::OkStatus();
                               }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("1152921504606846976 bytes were asked for")));
}

}  // namespace
}  // namespace millrace
