// Runs deploy_test.py, which needs the Python of `./bazelw test_setup`.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tests/e2e/run_program.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

TEST(DeployTest, ManifestsAndScripts) {
  const char* python = std::getenv("MILLRACE_TEST_PYTHON");
  if (python == nullptr) {
    GTEST_SKIP() << skip_not_provided("MILLRACE_TEST_PYTHON", "./bazelw test_setup provides it");
  }
  const ProgramResult result =
      run_program({python, "-B", std::filesystem::absolute("deploy/deploy_test.py")},
                  {.timeout = std::chrono::seconds(120)});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace millrace
