// One rank of two dies, freezes or fails in each phase of a run: the others leave in time and name
// it. Time-outs are 2 s here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/ranks_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kBadData = 65;
constexpr int kBug = 70;
constexpr int kPeer = 76;

constexpr int kGraceSeconds = 5;
constexpr double kAnnounced = 1.5;  // seconds from the announcement of a kill to the kill
constexpr double kTimeout = 2;
constexpr double kSlack = 2;  // for the end of a process on a busy machine

struct Fault {
  std::string place;  // of FaultConfig
  std::string phase;  // as the others name it
};

void PrintTo(const Fault& fault, std::ostream* stream) { *stream << fault.place; }

class RankFaults : public RanksTest {
 protected:
  RankFaults() {
    write(
        "job.textproto",
        absl::StrReplaceAll(read("job.textproto"),
                            {{"model { name: \"mlp\" [millrace.mlp] { hidden: [8] } }",
                              "model { name: \"faulty\" [millrace.faulty_model] { $FAULT } }\n"
                              "  hooks { name: \"faulty\" [millrace.faulty_hook] { $FAULT } }"},
                             {"collective_timeout_seconds: 5", "collective_timeout_seconds: 2"}}));
  }

  // Two ranks, of which rank 1 fails. Measures from the fault until rank 0 is gone.
  ProgramResult run(const std::string& place, const std::string& kind) {
    write("job.textproto",
          absl::StrReplaceAll(read("job.textproto"),
                              {{"$FAULT", absl::StrCat("place: ", place, " kind: ", kind)}}));
    RunningProgram program(
        {std::filesystem::absolute("tests/e2e/faulty_job").string(), "launch", "-n", "2",
         "--grace_seconds", absl::StrCat(kGraceSeconds), "--", "train", "job.textproto"},
        {.directory = path(""), .timeout = seconds(50)});
    const std::string mark = absl::StrCat("faulty: ", place, " process ");
    EXPECT_TRUE(program.wait_for(mark));
    const auto begin = std::chrono::steady_clock::now();
    const pid_t launcher = program.process();
    const std::optional<pid_t> ranks[] = {process_of_rank(launcher, 0),
                                          process_of_rank(launcher, 1)};
    if (!ranks[0].has_value()) return program.finish();
    EXPECT_TRUE(is_running(*ranks[0]));
    while (is_running(*ranks[0])) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    elapsed_ = std::chrono::steady_clock::now() - begin;
    ProgramResult result = program.finish();
    for (const std::optional<pid_t>& rank : ranks) {
      EXPECT_TRUE(rank.has_value() && !is_running(*rank));
    }
    return result;
  }

  std::chrono::duration<double> elapsed_{0};
};

class RankFaultsTest : public RankFaults, public testing::WithParamInterface<Fault> {};

TEST_P(RankFaultsTest, Killed) {
  const ProgramResult result = run(GetParam().place, "KILL");
  EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
  EXPECT_THAT(result.err, ContainsRegex(absl::StrCat("\\[0\\] millrace: .*rank 1 failed in ",
                                                     GetParam().phase, " of step ")));
  EXPECT_THAT(result.last_error_line(), HasSubstr("rank 1 was killed by signal 9"));
  EXPECT_THAT(result.err, Not(HasSubstr("did not leave")));
  EXPECT_LT(elapsed_.count(), kAnnounced + 10);
}

TEST_P(RankFaultsTest, Frozen) {
  const ProgramResult result = run(GetParam().place, "FREEZE");
  EXPECT_EQ(result.exit_code, kPeer) << result.err;
  EXPECT_THAT(result.err, ContainsRegex(absl::StrCat("\\[0\\] millrace: .*rank 1 failed in ",
                                                     GetParam().phase, " of step ")));
  EXPECT_LT(elapsed_.count(), kAnnounced + 2 * kTimeout + kSlack);
  // Only the frozen one had to be told, and that in vain.
  EXPECT_THAT(result.err, HasSubstr("millrace: rank 1 did not leave: SIGKILL"));
  EXPECT_THAT(result.err, Not(HasSubstr("rank 0 did not leave")));
}

INSTANTIATE_TEST_SUITE_P(Phases, RankFaultsTest,
                         testing::Values(Fault{"FORWARD", "forward"}, Fault{"BACKWARD", "backward"},
                                         Fault{"UPDATE", "(commit|update)"},
                                         Fault{"BETWEEN_STEPS", "between steps"},
                                         Fault{"EVALUATION", "evaluation"}),
                         [](const auto& info) { return info.param.place; });

// An error or an exception inside a step, or between steps, of one rank: its message reaches all.
class RankErrorsTest : public RankFaults, public testing::WithParamInterface<const char*> {};

TEST_P(RankErrorsTest, TheMessageReachesAll) {
  const std::pair<std::string, std::string> fault = absl::StrSplit(GetParam(), '/');
  const ProgramResult result = run(fault.first, fault.second);
  EXPECT_EQ(result.exit_code, fault.second == "THROW" ? kBug : kBadData) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("\\[1\\] millrace: .*planted"));
  EXPECT_THAT(result.err, ContainsRegex("\\[0\\] millrace: .*rank 1.*planted"));
  EXPECT_THAT(result.last_error_line(),
              AllOf(HasSubstr("millrace: rank 1 exited"), HasSubstr("planted")));
  EXPECT_LT(elapsed_.count(), kTimeout + kSlack);
}

INSTANTIATE_TEST_SUITE_P(Places, RankErrorsTest,
                         testing::Values("START/ERROR", "DATA/ERROR", "FORWARD/ERROR",
                                         "BACKWARD/THROW", "UPDATE/ERROR", "BETWEEN_STEPS/ERROR",
                                         "EVALUATION/THROW"));

TEST_F(RankFaults, ANonFiniteValueOfOneRankEndsAll) {
  const ProgramResult result = run("FORWARD", "SPOIL");
  EXPECT_NE(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("\\[0\\] millrace: .*finite"));
  EXPECT_THAT(result.err, ContainsRegex("\\[1\\] millrace: .*finite"));
  EXPECT_EQ(read_json("out/summary.json")["steps"], 3);
}

TEST_F(RankFaults, ANonFiniteValueOfOneRankIsSkippedByAll) {
  write("job.textproto",
        absl::StrReplaceAll(read("job.textproto"),
                            {{"train {", "train {\n non_finite { policy: SKIP }"}}));
  const ProgramResult result = run("FORWARD", "SPOIL");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["skipped_steps"], 1);
  EXPECT_EQ(summary["skipped_examples"], 100);
  EXPECT_EQ(summary["steps"], 19);
}

}  // namespace
}  // namespace millrace
