// Tests `millrace launch --max_restarts`: ranks are killed, and the job reaches the same end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/net/socket.h"
#include "base/status_matchers.h"
#include "tests/e2e/ranks_fixture.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAgain[] = "starting all ranks again";

// A job of 20 steps whose ranks fail at places chosen by a test, with a checkpoint every third
// step.
class RestartTest : public RanksTest {
 protected:
  RestartTest() {
    write("job.textproto",
          absl::StrReplaceAll(
              read("job.textproto"),
              {{"model { name: \"mlp\" [millrace.mlp] { hidden: [8] } }",
                "model { name: \"faulty\" [millrace.faulty_model] { $IN_MODEL } }\n"
                "  hooks { name: \"faulty\" [millrace.faulty_hook] { $IN_HOOK } }"},
               {"output_dir: \"out\"",
                "output_dir: \"$OUT\"\n  checkpoint { when { every_steps: 3 } keep_last: 20 }"}}));
  }

  // Writes NAME.textproto, whose output goes to the folder NAME.
  void write_job(const std::string& name, const std::string& in_model,
                 const std::string& in_hook) const {
    write(name + ".textproto",
          absl::StrReplaceAll(read("job.textproto"),
                              {{"$IN_MODEL", in_model}, {"$IN_HOOK", in_hook}, {"$OUT", name}}));
  }

  RunningProgram launch_job(const std::string& name, std::vector<std::string> flags) const {
    std::vector<std::string> arguments = {
        std::filesystem::absolute("tests/e2e/faulty_job").string(), "launch", "-n", "2"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    arguments.insert(arguments.end(), {"--", "train", name + ".textproto"});
    return RunningProgram(arguments, {.directory = path(""), .timeout = std::chrono::seconds(50)});
  }

  // Trains without a fault.
  std::string undisturbed_content() const {
    write_job("whole", "", "");
    const ProgramResult result = launch_job("whole", {}).finish();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return content_of("whole");
  }
};

TEST_F(RestartTest, AJobWhoseRanksAreKilledEndsAsAnUndisturbedOne) {
  write_job("out", "place: FORWARD kind: KILL rank: 1 step: 5 start: 0",
            "place: BETWEEN_STEPS kind: KILL rank: 0 step: 11 start: 1");
  const ProgramResult result = launch_job("out", {"--max_restarts", "2"}).finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("rank 1 was killed by signal 9 .*starting all ranks again, "
                                        "restarts left: 2\n"));
  EXPECT_THAT(result.err, ContainsRegex("rank 0 was killed by signal 9 .*starting all ranks again, "
                                        "restarts left: 2\n"));
  EXPECT_THAT(result.err, HasSubstr("resuming from out/checkpoints/step-00000003"));
  EXPECT_THAT(result.err, HasSubstr("resuming from out/checkpoints/step-00000009"));
  EXPECT_EQ(result.last_error(), "millrace: finished (restarts: 2)");
  EXPECT_EQ(read_json("out/summary.json")["steps"], 20);
  EXPECT_EQ(content_of("out"), undisturbed_content());
}

TEST_F(RestartTest, AGivenPortIsUsedAgain) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  write_job("out", "place: FORWARD kind: KILL rank: 0 step: 5 start: 0", "");
  const ProgramResult result =
      launch_job("out", {"--max_restarts", "1", "--master_port", absl::StrCat(port.number)})
          .finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.last_error(), "millrace: finished (restarts: 1)");
}

TEST_F(RestartTest, AFrozenRankIsReplaced) {
  write_job("out", "place: BACKWARD kind: FREEZE rank: 1 step: 5 start: 0", "");
  write("out.textproto",
        absl::StrReplaceAll(read("out.textproto"),
                            {{"collective_timeout_seconds: 5", "collective_timeout_seconds: 2"}}));
  const ProgramResult result =
      launch_job("out", {"--max_restarts", "1", "--grace_seconds", "0.5"}).finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("rank 0 exited with code 76: .*rank 1 failed in backward "
                                        ".*starting all ranks again, restarts left: 1\n"));
  EXPECT_EQ(content_of("out"), undisturbed_content());
}

TEST_F(RestartTest, RestartsRunOut) {
  write_job("out", "place: FORWARD kind: KILL rank: 1 step: 5", "");
  const ProgramResult result = launch_job("out", {"--max_restarts", "1"}).finish();
  EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
  EXPECT_THAT(result.last_error(),
              AllOf(HasSubstr("rank 1 was killed by signal 9"), HasSubstr("(restarts: 2)")));
  EXPECT_THAT(result.err, HasSubstr("restarts left: 1\n")) << "the first start saved step 3";
  EXPECT_THAT(result.err, HasSubstr("restarts left: 0\n"));
}

TEST_F(RestartTest, TheRankThatIsLeftTrainsOnEachRemainingExample) {
  write_job("out", "place: FORWARD kind: KILL rank: 1 step: 5", "");
  const ProgramResult result =
      launch_job("out", {"--max_restarts", "3", "--min_ranks", "1"}).finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("starting 1 of 2 ranks again, restarts left: 1\n"));
  EXPECT_EQ(result.last_error(), "millrace: finished (restarts: 3, ranks: 1)");
  const nlohmann::json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["world_size"], 1);
  // Three steps of two ranks, which make a checkpoint, and 34 steps of one.
  EXPECT_EQ(summary["examples"], 2000);
  EXPECT_EQ(summary["steps"], 37);
}

TEST_F(RestartTest, AFailureThatComesBackIsNotTriedAgain) {
  write_job("out", "place: FORWARD kind: ERROR rank: 1 step: 5", "");
  const ProgramResult data = launch_job("out", {"--max_restarts", "5"}).finish();
  EXPECT_EQ(data.exit_code, kBadData) << data.err;
  EXPECT_THAT(data.err, Not(HasSubstr(kAgain)));
  write("wrong.textproto",
        absl::StrReplaceAll(read("out.textproto"), {{"batch_size: 50", "batch_size: -1"}}));
  const ProgramResult configuration = launch_job("wrong", {"--max_restarts", "5"}).finish();
  EXPECT_EQ(configuration.exit_code, kUsage) << configuration.err;
  EXPECT_THAT(configuration.err, Not(HasSubstr(kAgain)));
}

TEST_F(RestartTest, ASignalToTheLauncherWhileItRestartsEndsTheJob) {
  write_job("out", "place: FORWARD kind: KILL rank: 1 step: 5 start: 0", "");
  RunningProgram program = launch_job("out", {"--max_restarts", "5"});
  ASSERT_TRUE(program.wait_for(kAgain));
  program.send(SIGTERM);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, kRunAgain) << result.err;
  EXPECT_EQ(result.err.find(kAgain), result.err.rfind(kAgain)) << result.err;
  // The fault occurs again in the first start of another launch.
  const ProgramResult again = launch_job("out", {"--max_restarts", "1"}).finish();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(content_of("out"), undisturbed_content());
}

}  // namespace
}  // namespace millrace
