#include "tools/launch/rank_end.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

#include "tools/exit_code.h"

namespace millrace {
namespace {

TEST(DecidingEndTest, Order) {
  const auto code = [](const std::vector<RankEnd>& ends) { return deciding_end(ends).code; };
  EXPECT_EQ(code({{0, 0}, {1, 0}}), 0);
  EXPECT_EQ(code({{0, 75}, {1, 75}}), 75);
  EXPECT_EQ(code({{0, 0}, {1, 75}}), 75);
  EXPECT_EQ(code({{0, 76}, {1, 75}}), 75) << "a rank that was stopped while it loaded";
  EXPECT_EQ(code({{0, 76}, {1, 75, true}}), 76) << "the launcher stopped it";
  EXPECT_EQ(code({{0, 76}, {1, 65}, {2, 137}}), 65);
  EXPECT_EQ(code({{0, 76}, {1, 137, true}}), 76);
  EXPECT_EQ(code({{0, 70}, {1, 143, true}, {2, 137, true}}), 70);
  EXPECT_EQ(code({{0, 0}, {1, 137}}), 137);
  EXPECT_EQ(deciding_end(std::vector<RankEnd>{{2, 76}, {1, 64}, {0, 64}}).rank, 1);
}

TEST(RankEndTest, LinesThatAreNoReason) {
  EXPECT_TRUE(is_progress_line("I20261121 05:37:05.542506 27767 saver.cc:52] saved"));
  EXPECT_TRUE(is_progress_line("step 200/400  epoch 1/2  1:40 left  0 examples/s"));
  EXPECT_TRUE(is_progress_line("step 200"));
  for (const char* line : {"", "I", "step 4: rank 1 failed", "step by step", "I20261121",
                           "W20261121 05:37:05 x.cc:1] slow", "E20261121 05:37:05 x.cc:1] broken",
                           "F20261121 05:37:05 x.cc:1] broken", "I2026112x 05:37:05 x",
                           "In 20261121 steps", "the data is bad"}) {
    EXPECT_FALSE(is_progress_line(line)) << line;
  }
}

struct CodeCase {
  int code;
  bool failure;
  bool restart;
};

TEST(RankEndTest, WhichCodesLeadToARestart) {
  const CodeCase cases[] = {
      {kExitFinished, false, false},
      {kExitDifferent, true, false},
      {kExitUsage, true, false},
      {kExitBadData, true, false},
      {kExitNoInput, true, false},
      {kExitBug, true, false},
      {kExitMachine, true, false},
      {kExitCannotCreate, true, false},
      {kExitIo, true, false},
      {kExitRunAgain, false, false},
      {kExitPeer, true, true},
      {kExitEvaluation, true, false},
      {kExitDiverged, true, false},
      {kExitPart, true, false},
      {127, true, false},  // the program cannot be started
      {128, true, false},  // no signal
      {128 + SIGKILL, true, true},
      {128 + SIGSEGV, true, true},
      {128 + SIGABRT, true, true},
      {128 + SIGBUS, true, true},
      {128 + SIGTERM, true, true},
      {255, true, false},
  };
  for (const CodeCase& expected : cases) {
    EXPECT_EQ(is_failure(expected.code), expected.failure) << expected.code;
    EXPECT_EQ(can_restart_after(expected.code), expected.restart) << expected.code;
  }
  for (int code = kExitUsage; code <= kExitIo; ++code) EXPECT_FALSE(can_restart_after(code));
}

TEST(RankEndTest, Description) {
  EXPECT_EQ(describe_end(65), "exited with code 65");
  EXPECT_EQ(describe_end(128 + SIGKILL), "was killed by signal 9 (Killed)");
}

}  // namespace
}  // namespace millrace
