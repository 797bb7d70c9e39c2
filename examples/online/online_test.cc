// Runs the online example for some seconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class OnlineExampleTest : public ProgramTest {};

TEST_F(OnlineExampleTest, ServersKnowNewItemsWithinSeconds) {
  const ProgramResult result = run_program(
      {"/usr/bin/env", "python3", std::filesystem::absolute("examples/online/online.py").string(),
       "--millrace", millrace_path(), "--seconds", "6", "--picture", path("online.svg")},
      {.directory = path(""), .timeout = std::chrono::seconds(50)});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const nlohmann::json figures = nlohmann::json::parse(result.out);
  EXPECT_GE(figures["answers"], 2) << result.out;
  EXPECT_EQ(figures["freshness of the last version"].size(), 2);
  EXPECT_THAT(read("online.svg"), HasSubstr("published to answer"));
}

}  // namespace
}  // namespace millrace
