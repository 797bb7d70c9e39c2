#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/net/socket.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::ContainsRegex;

class InMemoryTest : public ProgramTest {
 protected:
  const std::string program_ = std::filesystem::absolute("examples/own_program/in_memory").string();
};

TEST_F(InMemoryTest, LearnsInOneProcess) {
  const ProgramResult result = run_program({program_}, {.directory = path("")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("^steps 400, examples 160, auc (1|0\\.9[0-9]*)\n$"));
}

TEST_F(InMemoryTest, LearnsInTwoProcesses) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  const std::string script = absl::StrCat(
      "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=", port.number, "; RANK=1 ", program_,
      " & RANK=0 ", program_, "; code=$?; wait $! && exit $code");
  const ProgramResult result = run_program({"/bin/bash", "-c", script}, {.directory = path("")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("^steps 200, examples 160, auc (1|0\\.9[0-9]*)\n$"));
}

}  // namespace
}  // namespace millrace
