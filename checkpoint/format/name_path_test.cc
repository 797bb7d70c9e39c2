#include "checkpoint/format/name_path.h"

#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(NamePathTest, OnceHoweverOftenItIsAsked) {
  absl::Status status = absl::DataLossError("its header is cut");
  for (int i = 0; i < 2; ++i) status = name_path(status, "out/step-1/file");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, "out/step-1/file: its header is cut"));
  EXPECT_EQ(name_path(status, "out/step-1"), status) << "what is in it names it";
  EXPECT_EQ(name_path(status, "out/step-2").message(),
            "out/step-2: out/step-1/file: its header is cut");
}

TEST(NamePathTest, NothingIsWrong) { EXPECT_OK(name_path(absl::OkStatus(), "out")); }

}  // namespace
}  // namespace millrace
