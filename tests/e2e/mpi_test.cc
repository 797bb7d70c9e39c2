// Tests ranks that the launchers of Open MPI and MPICH start, all on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/net/socket.h"
#include "base/status_matchers.h"
#include "tests/e2e/ranks_fixture.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

struct MpiLauncher {
  const char* name;
  const char* package;
  const char* program;
  std::vector<std::string> arguments;
};

const MpiLauncher kOpenMpi = {"OpenMpi",
                              "openmpi-bin",
                              "/usr/bin/mpirun.openmpi",
                              {"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}};
const MpiLauncher kMpich = {"Mpich", "mpich", "/usr/bin/mpiexec.mpich", {}};

class MpiTest : public RanksTest {
 protected:
  static bool is_installed(const MpiLauncher& launcher) {
    return ::access(launcher.program, X_OK) == 0;
  }
  static std::string needs_package(const MpiLauncher& launcher) {
    return skip_package(launcher.package, absl::StrCat("there is no ", launcher.program));
  }

  // Runs `LAUNCHER FLAGS -n 2 millrace train job.textproto ARGUMENTS`.
  ProgramResult train(const MpiLauncher& launcher, const std::vector<std::string>& flags,
                      const std::vector<std::string>& arguments = {}) const {
    std::vector<std::string> command = {launcher.program};
    for (const auto& part :
         {launcher.arguments, flags,
          std::vector<std::string>{"-n", "2", millrace_path(), "train", "job.textproto"},
          arguments}) {
      command.insert(command.end(), part.begin(), part.end());
    }
    return run_program(command, {.directory = path(""), .timeout = std::chrono::seconds(40)});
  }
};

class MpiLauncherTest : public MpiTest, public testing::WithParamInterface<MpiLauncher> {};

TEST_P(MpiLauncherTest, StartsTheRanksOfAJobWithoutFurtherSettings) {
  if (!is_installed(GetParam())) GTEST_SKIP() << needs_package(GetParam());
  const ProgramResult result = train(GetParam(), {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_json("out/summary.json")["world_size"], 2);
  const ProgramResult launched = launch(2, {"--output_dir", "launched"}).finish();
  ASSERT_EQ(launched.exit_code, 0) << launched.err;
  EXPECT_EQ(content_of("out"), content_of("launched"));
}

INSTANTIATE_TEST_SUITE_P(Each, MpiLauncherTest, testing::Values(kOpenMpi, kMpich),
                         [](const testing::TestParamInfo<MpiLauncher>& info) {
                           return std::string(info.param.name);
                         });

// The launcher "fork" starts the ranks of every host on this machine.
TEST_F(MpiTest, RanksOfTwoHostsNeedTheAddressOfRank0) {
  if (!is_installed(kMpich)) GTEST_SKIP() << needs_package(kMpich);
  std::vector<std::string> flags = {"-launcher", "fork", "-hosts", "node1,node2"};
  const ProgramResult refused = train(kMpich, flags);
  EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("MASTER_ADDR is not set, but there are 2 ranks, of which 1"));

  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  flags.insert(flags.end(), {"-genv", "MASTER_ADDR", "127.0.0.1", "-genv", "MASTER_PORT",
                             absl::StrCat(port.number)});
  const ProgramResult result = train(kMpich, flags, {"--set", "run.distributed.interface=lo"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_json("out/summary.json")["world_size"], 2);
}

}  // namespace
}  // namespace millrace
