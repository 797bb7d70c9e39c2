// Tests every case of rank_cases.h with ranks as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/thread_collectives.h"
#include "tests/ranks/rank_cases.h"

namespace millrace {
namespace {

std::vector<std::string> run_case(const RankCase& rank_case, int world_size, int guilty) {
  std::vector<std::string> outcomes(world_size);
  ThreadRanksOptions options;
  options.world_size = world_size;
  run_thread_ranks(options, [&](std::unique_ptr<Collectives> collectives) {
    const int rank = collectives->rank();
    outcomes[rank] = run_rank_case(rank_case, guilty, std::move(collectives));
    return absl::OkStatus();
  });
  return outcomes;
}

class ThreadRanksTest : public testing::TestWithParam<int> {};

TEST_P(ThreadRanksTest, EveryCaseEndsAsDecided) {
  const int world_size = GetParam();
  for (const int guilty : {0, world_size - 1}) {
    for (const RankCase& rank_case : rank_cases()) {
      SCOPED_TRACE(absl::StrCat(rank_case.group, ": ", rank_case.name, ", on rank ", guilty));
      const std::vector<std::string> outcomes = run_case(rank_case, world_size, guilty);
      for (int rank = 0; rank < world_size; ++rank) {
        EXPECT_EQ(outcomes[rank],
                  (rank == guilty ? rank_case.guilty : rank_case.others)(world_size, guilty))
            << "on rank " << rank;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadRanksTest, testing::Values(2, 3));

TEST(RankCases, ThePageIsThatOfTheCases) {
  std::ifstream file("docs/rank_cases.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), rank_cases_page())
      << "write it anew: ./bazelw run //tests/ranks:write_rank_cases";
}

}  // namespace
}  // namespace millrace
