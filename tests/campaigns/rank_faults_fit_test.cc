// Tests that the faults of plant_rank_faults.py fit the sources, and the numbers of cases of the
// campaign rank_failures on the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/campaigns/rank_failure_campaign.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

// The file in the test's folder is a link into the repository.
std::filesystem::path script() {
  return std::filesystem::canonical("tests/campaigns/plant_rank_faults.py");
}

TEST(RankFaultsFitTest, EachEditFindsItsPlace) {
  const ProgramResult result = run_program({"/usr/bin/python3", script().string(), "--check"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RankFaultsFitTest, ThePageHasTheNumbersOfCases) {
  const std::filesystem::path root = script().parent_path().parent_path().parent_path();
  std::ifstream file(root / "docs/reliability.md");
  std::ostringstream page;
  page << file.rdbuf();
  // The short version has one case of each phase, a crash and a loop.
  EXPECT_THAT(page.str(),
              testing::HasSubstr(absl::StrCat("runs ", kFailurePhases + 2, " of the ",
                                              all_rank_failures(/*seed=*/1).size(), " cases")));
}

}  // namespace
}  // namespace millrace
