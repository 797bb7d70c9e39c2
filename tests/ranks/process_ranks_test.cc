// Tests cases of rank_cases.h with ranks as processes, over Gloo: each with two ranks, the first of
// each group with three. thread_ranks_test runs each with three, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "distributed/c10d_collectives.h"
#include "distributed/process_ranks_testing.h"
#include "tests/ranks/rank_cases.h"

namespace millrace {
namespace {

// Returns the outcome of a rank as the message of an OutOfRange error.
absl::Status run_rank(const RankCase& rank_case, int guilty, const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "rank cases", .version = "test", .config = rank_case.name};
  options.rendezvous_timeout = absl::Seconds(30);
  options.collective_timeout = absl::Seconds(20);
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
  return absl::OutOfRangeError(run_rank_case(rank_case, guilty, std::move(collectives)));
}

struct World {
  int size;
  int guilty;
};

class ProcessRanksTest : public testing::TestWithParam<World> {};

TEST_P(ProcessRanksTest, CasesEndAsDecided) {
  const auto [world_size, guilty_rank] = GetParam();
  const int guilty = guilty_rank;
  std::string last_group;
  for (const RankCase& rank_case : rank_cases()) {
    if (world_size > 2 && rank_case.group == last_group) continue;
    last_group = rank_case.group;
    SCOPED_TRACE(absl::StrCat(rank_case.group, ": ", rank_case.name));
    ProcessRanks ranks(world_size, [&](const RankEnvironment& environment, const ChildLink&) {
      return run_rank(rank_case, guilty, environment);
    });
    for (int rank = 0; rank < world_size; ++rank) {
      const absl::Status outcome = ranks.wait(rank);
      EXPECT_EQ(outcome.code(), absl::StatusCode::kOutOfRange) << outcome;
      EXPECT_EQ(outcome.message(),
                (rank == guilty ? rank_case.guilty : rank_case.others)(world_size, guilty))
          << "on rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProcessRanksTest,
                         testing::Values(World{2, 0}, World{2, 1}, World{3, 0}, World{3, 2}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.size, "On", info.param.guilty);
                         });

}  // namespace
}  // namespace millrace
