#include "framework/report/sink.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(SinkStartTest, LaterStepsComeAgain) {
  for (const SinkStart& start :
       {SinkStart{.first_step = 20}, SinkStart{.first_step = 20, .written = {{"eval"}}}}) {
    EXPECT_FALSE(start.comes_again(19, "eval"));
    EXPECT_FALSE(start.comes_again(19, SinkStart::kTrain));
    EXPECT_TRUE(start.comes_again(21, "eval"));
    EXPECT_TRUE(start.comes_again(21, SinkStart::kTrain));
  }
}

TEST(SinkStartTest, TheFirstStepGoesByWhatWasWritten) {
  const SinkStart known{.first_step = 20, .written = {{"eval"}}};
  EXPECT_FALSE(known.comes_again(20, "eval"));
  EXPECT_TRUE(known.comes_again(20, "late"));
  EXPECT_TRUE(known.comes_again(20, SinkStart::kTrain));
  const SinkStart unknown{.first_step = 20};
  EXPECT_FALSE(unknown.comes_again(20, "eval"));
  EXPECT_FALSE(unknown.comes_again(20, SinkStart::kTrain));
}

}  // namespace
}  // namespace millrace
