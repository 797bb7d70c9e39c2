// Tests ranks that `torchrun --no-python` of LibTorch's version starts. MILLRACE_TORCHRUN names the
// program, which `./bazelw test_setup` provides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
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

  // Starts the agent of one of up to two nodes of one rank, both on this machine.
  RunningProgram agent() const {
    // torchrun of LibTorch 2.13 shares its store with the ranks, and a node that joins later waits
    // in vain for the address of the store.
    return RunningProgram(
        {"/usr/bin/env",
         "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1",
         std::getenv("MILLRACE_TORCHRUN"),
         "--no-python",
         "--nnodes=1:2",
         "--nproc-per-node=1",
         "--max-restarts=1",
         "--local-addr=127.0.0.1",
         "--rdzv-backend=c10d",
         "--rdzv-id=job",
         absl::StrCat("--rdzv-endpoint=127.0.0.1:", port_.number),
         "--rdzv-conf=last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=3",
         millrace_path(),
         "train",
         "job.textproto",
         "--max_epochs",
         "1000000",
         "--set",
         "train.max_seconds=240",
         "--set",
         "run.report.when={every_steps: 200}",
         "--set",
         "run.distributed.interface=lo"},
        {.directory = path(""), .timeout = std::chrono::seconds(240)});
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

TEST_F(TorchrunTest, ARangeOfNodesTrainsOnTheNodesThatAreThere) {
  RunningProgram first = agent();
  ASSERT_TRUE(first.wait_for("step 200 "));
  {
    RunningProgram second = agent();
    // The rank of the first node is stopped with a checkpoint, which does not count as a restart.
    ASSERT_TRUE(first.wait_for("ranks: 2,"));
    ASSERT_TRUE(first.wait_for("resuming from "));
    const std::optional<pid_t> rank = process_of_rank(second.process(), 1);
    ASSERT_TRUE(rank.has_value());
    second.send(SIGKILL);
    ::kill(*rank, SIGKILL);
  }
  ASSERT_TRUE(first.wait_for("ranks: 1,", 2));
  ASSERT_TRUE(first.wait_for("resuming from ", 2));
  ASSERT_TRUE(first.wait_for_more("\nstep "));  // before, a signal ends the rank without a summary
  first.send(SIGTERM);
  const ProgramResult stopped = first.finish();
  EXPECT_EQ(stopped.exit_code, 1) << stopped.err;
  EXPECT_EQ(read_json("out/summary.json")["outcome"], "stopped");
  EXPECT_EQ(read_json("out/summary.json")["world_size"], 1);
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
