// The faults of plant_rank_faults.py fit the sources of this repository, so that they can be
// planted.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

TEST(RankFaultsFitTest, EachEditFindsItsPlace) {
  // The file in the test's folder is a link into the repository.
  const std::string script =
      std::filesystem::canonical("tests/campaigns/plant_rank_faults.py").string();
  const ProgramResult result = run_program({"/usr/bin/python3", script, "--check"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace millrace
