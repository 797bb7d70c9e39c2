// Tests ranks that `torchrun --no-python` of LibTorch's version starts. MILLRACE_TORCHRUN names the
// program, which `./bazelw test_setup` provides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/net/socket.h"
#include "base/status_matchers.h"
#include "tests/e2e/ranks_fixture.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr char kRanks[] = "2";

class TorchrunTest : public RanksTest {
 protected:
  void SetUp() override {
    if (std::getenv("MILLRACE_TORCHRUN") == nullptr) {
      GTEST_SKIP() << skip_not_provided("MILLRACE_TORCHRUN", "./bazelw test_setup provides it");
    }
    ASSERT_OK_AND_ASSIGN(port_, reserve_port());
  }

  // Starts `torchrun --no-python ... PROGRAM train job.textproto FLAGS` on this machine.
  RunningProgram torchrun(const std::string& program, const std::vector<std::string>& flags,
                          int max_restarts = 0) const {
    std::vector<std::string> arguments = {std::getenv("MILLRACE_TORCHRUN"),
                                          "--no-python",
                                          "--nnodes=1",
                                          absl::StrCat("--nproc-per-node=", kRanks),
                                          "--master-addr=127.0.0.1",
                                          absl::StrCat("--master-port=", port_.number),
                                          absl::StrCat("--max-restarts=", max_restarts),
                                          program,
                                          "train",
                                          "job.textproto"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunningProgram(arguments, {.directory = path(""), .timeout = std::chrono::seconds(55)});
  }

  ReservedPort port_;
};

TEST_F(TorchrunTest, SigtermStopsAllRanksWithACheckpoint) {
  // The job has a limit, because ranks outlive torchrun if a test is interrupted.
  RunningProgram program = torchrun(millrace_path(), {"--set", "train.max_epochs=5000", "--set",
                                                      "run.report.when={every_steps: 200}"});
  ASSERT_TRUE(program.wait_for("step 200 "));
  program.send(SIGTERM);
  const ProgramResult stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 1) << stopped.err;  // the exit code of torchrun
  EXPECT_EQ(read_json("out/summary.json")["outcome"], "stopped");
  EXPECT_EQ(read_json("out/summary.json")["world_size"], 2);
  EXPECT_NE(newest_checkpoint("out"), "");
}

TEST_F(TorchrunTest, AJobWhoseRankIsKilledEndsAsAnUndisturbedOne) {
  const std::string job = absl::StrReplaceAll(
      read("job.textproto"),
      {{"model { name: \"mlp\" [millrace.mlp] { hidden: [8] } }",
        "model { name: \"faulty\" [millrace.faulty_model] { $FAULT } }"},
       {"output_dir: \"out\"", "output_dir: \"out\" checkpoint { when { every_steps: 3 } }"}});
  const std::string faulty = std::filesystem::absolute("tests/e2e/faulty_job").string();
  write("job.textproto",
        absl::StrReplaceAll(job, {{"$FAULT", "place: FORWARD kind: KILL step: 5 start: 0"}}));
  const ProgramResult restarted = torchrun(faulty, {}, 1).finish();
  ASSERT_EQ(restarted.exit_code, 0) << restarted.err;
  EXPECT_THAT(restarted.err, HasSubstr("resuming from out/checkpoints/step-00000003"));

  write("job.textproto", absl::StrReplaceAll(job, {{"$FAULT", ""}}));
  const ProgramResult whole = run_program(
      {faulty, "launch", "-n", kRanks, "--", "train", "job.textproto", "--output_dir", "whole"},
      {.directory = path("")});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(content_of("out"), content_of("whole"));
}

}  // namespace
}  // namespace millrace
