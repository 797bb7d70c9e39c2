#include "framework/loop/consistency.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(ConsistencyTest, IsSuspendedAndComesBackAfterSuccessAlone) {
  Consistency state;
  EXPECT_TRUE(state.holds()) << "before the first run";
  state.begin_run();
  EXPECT_TRUE(state.holds());
  EXPECT_OK(state.suspend([&] {
    EXPECT_FALSE(state.holds());
    return absl::OkStatus();
  }));
  EXPECT_TRUE(state.holds());
  EXPECT_THAT(state.suspend([] { return absl::DataLossError("half a step"); }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(state.holds());
  EXPECT_OK(state.suspend([] { return absl::OkStatus(); }));
  EXPECT_FALSE(state.holds()) << "it did not hold before";
}

TEST(ConsistencyTest, AnInnerSectionDoesNotEndTheOuterOne) {
  Consistency state;
  state.begin_run();
  EXPECT_OK(state.suspend([&] {
    EXPECT_OK(state.suspend([] { return absl::OkStatus(); }));
    EXPECT_FALSE(state.holds());
    return absl::OkStatus();
  }));
  EXPECT_TRUE(state.holds());
}

TEST(ConsistencyTest, AnExceptionIsAFailure) {
  Consistency state;
  state.begin_run();
  EXPECT_THROW(
      state.suspend([]() -> absl::Status { throw std::runtime_error("hook"); }).IgnoreError(),
      std::runtime_error);
  EXPECT_FALSE(state.holds());
}

}  // namespace
}  // namespace millrace
