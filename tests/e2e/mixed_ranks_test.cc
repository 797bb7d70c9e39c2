// Tests processes in conflict: two processes of the same rank, and two jobs on the same port. Each
// process ends, reports the error, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/net/socket.h"
#include "base/status_matchers.h"
#include "tests/e2e/ranks_fixture.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kHurry[] = "run.distributed.rendezvous_timeout_seconds=6";

class MixedRanksTest : public RanksTest {
 protected:
  // Starts a rank that waits a few seconds for the others, with additional configuration.
  RunningProgram hurried(int rank, int world_size, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--set", kHurry});
    return this->rank(rank, world_size, port_.number, std::move(more));
  }

  const ReservedPort port_ = *reserve_port();
};

TEST_F(MixedRanksTest, TwoProcessesOfOneRankAreNamed) {
  RunningProgram first = hurried(0, 3), second = hurried(1, 3), third = hurried(1, 3);
  const std::string twice =
      "rank 1 was refused: it came twice: 2 processes have rank 1 of this job; each needs a RANK "
      "of its own";
  // Either process may come first. The exit code of the refused process allows another start,
  // because the other process may be about to end.
  for (RunningProgram* of_rank_1 : {&second, &third}) {
    const ProgramResult result = of_rank_1->finish();
    EXPECT_EQ(result.exit_code, kPeer) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(twice));
  }
  const ProgramResult result = first.finish();
  EXPECT_EQ(result.exit_code, kPeer) << result.err;
  EXPECT_THAT(result.last_error(), AllOf(HasSubstr("rank 2 of 3 did not come"), HasSubstr(twice)));
  EXPECT_FALSE(exists("out"));
}

TEST_F(MixedRanksTest, TwoProcessesOfRank0) {
  RunningProgram first = hurried(0, 2), second = hurried(0, 2);
  const ProgramResult one = first.finish(), two = second.finish();
  EXPECT_EQ(one.exit_code, kPeer) << one.err;
  EXPECT_EQ(two.exit_code, kPeer) << two.err;
  EXPECT_THAT(absl::StrCat(one.last_error(), two.last_error()),
              AllOf(HasSubstr("rank 1 of 2 did not come"),
                    HasSubstr(absl::StrCat("port ", port_.number, " of 127.0.0.1 is taken"))));
  EXPECT_FALSE(exists("out"));
}

TEST_F(MixedRanksTest, ARankOfAnotherJobIsRefused) {
  struct Other {
    const char* name;
    int world_size;
    std::string job_name;
    std::string said;
  };
  const std::vector<Other> others = {
      {"job name", 2, "other", "job name \"other\" here, \"millrace\" at rank 0"},
      {"world size", 3, "millrace", "world size 3 here, 2 at rank 0"}};
  for (const Other& other : others) {
    SCOPED_TRACE(other.name);
    RunningProgram first = hurried(0, 2);
    RunningProgram second = hurried(1, other.world_size,
                                    {"--set", absl::StrCat("run.job_name='", other.job_name, "'")});
    const std::string why =
        absl::StrCat("rank 1 was refused: it is not of the job of rank 0: ", other.said,
                     "; all ranks of a job need the same job, and each job a MASTER_PORT of its "
                     "own");
    const ProgramResult refused = second.finish();
    EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
    EXPECT_THAT(refused.last_error(), HasSubstr(why));
    const ProgramResult result = first.finish();
    EXPECT_EQ(result.exit_code, kPeer) << result.err;
    EXPECT_THAT(result.last_error(), AllOf(HasSubstr("rank 1 of 2 did not come"), HasSubstr(why)));
    EXPECT_FALSE(exists("out"));
  }
}

// Both jobs have all ranks: the owner of the port trains as if alone.
TEST_F(MixedRanksTest, AJobOnThePortOfAnotherLeavesThatAlone) {
  const std::vector<std::string> other = {"--set", "run.job_name='other'", "--output_dir", "other"};
  RunningProgram intruder = rank(1, 2, port_.number, other);
  RunningProgram first = rank(0, 2, port_.number, {});
  const ProgramResult refused = intruder.finish();
  EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
  // Rank 0 of the first job listens and waits for rank 1.
  const ProgramResult taken = hurried(0, 2, other).finish();
  EXPECT_EQ(taken.exit_code, kPeer) << taken.err;
  EXPECT_FALSE(exists("other"));
  RunningProgram second = rank(1, 2, port_.number, {});
  EXPECT_EQ(second.finish().exit_code, 0);
  const ProgramResult result = first.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("completed: 20 steps"));
}

}  // namespace
}  // namespace millrace
