// Runs a short faulty_bucket.py.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>

#include "tests/e2e/program_test.h"
#include "tests/e2e/run_program.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

TEST(FaultyBucketTest, ThreeKills) {
  if (::getenv("MILLRACE_S3_SERVER") == nullptr) {
    GTEST_SKIP() << skip_not_provided("MILLRACE_S3_SERVER",
                                      "./bazelw test_setup installs a server");
  }
  const ProgramResult result =
      run_program({"/usr/bin/python3", "tests/campaigns/faulty_bucket.py", "--millrace",
                   millrace_path(), "--kills", "3", "--share", "0.01", "--patience", "4"},
                  {.timeout = std::chrono::seconds(250)});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace millrace
