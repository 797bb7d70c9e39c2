// Tests that the other ranks leave in time and name a rank that dies, freezes or fails in each
// phase of a run. Time-outs are 2 s here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
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

constexpr int kGraceSeconds = 3;
constexpr double kKilled = 40;  // seconds until the others have left, on a busy machine
constexpr double kTimeout = 2;
constexpr double kSlack = 30;  // for the end of a process on a busy machine

struct Fault {
  std::string place;  // of FaultConfig
  std::string phase;  // as the others name the phase
  int victim = 1;
  int ranks = 2;
};

void PrintTo(const Fault& fault, std::ostream* stream) {
  *stream << fault.place << " of " << fault.victim << " among " << fault.ranks;
}

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

  // Runs several ranks, of which one fails. Measures the time from the fault until the others are
  // gone.
  ProgramResult run(const std::string& place, const std::string& kind, int victim = 1,
                    int count = 2) {
    write("job.textproto",
          absl::StrReplaceAll(
              read("job.textproto"),
              {{"$FAULT", absl::StrCat("place: ", place, " kind: ", kind, " rank: ", victim)}}));
    RunningProgram program({std::filesystem::absolute("tests/e2e/faulty_job").string(), "launch",
                            "-n", absl::StrCat(count), "--grace_seconds",
                            absl::StrCat(kGraceSeconds), "--", "train", "job.textproto"},
                           {.directory = path(""), .timeout = seconds(50)});
    const std::string mark = absl::StrCat("faulty: ", place, " process ");
    EXPECT_TRUE(program.wait_for(mark));
    const auto begin = std::chrono::steady_clock::now();
    const pid_t launcher = program.process();
    std::vector<pid_t> others;
    for (int rank = 0; rank < count; ++rank) {
      if (rank == victim) continue;
      const std::optional<pid_t> process = process_of_rank(launcher, rank);
      if (!process.has_value()) return program.finish();
      others.push_back(*process);
    }
    for (const pid_t process : others) {
      while (is_running(process)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    elapsed_ = std::chrono::steady_clock::now() - begin;
    ProgramResult result = program.finish();
    const size_t number = result.err.find(mark) + mark.size();
    EXPECT_FALSE(is_running(std::atoi(result.err.c_str() + number)));
    return result;
  }

  // Expects that every rank except the victim names the failed rank and its phase, and ends with
  // the exit code of such a failure.
  static void expect_others_blame(const Fault& fault, const std::string& err) {
    for (int rank = 0; rank < fault.ranks; ++rank) {
      if (rank == fault.victim) continue;
      EXPECT_THAT(err,
                  ContainsRegex(absl::StrCat("\\[", rank, "\\] millrace: .*rank ", fault.victim,
                                             " failed in ", fault.phase, " of step ")));
      EXPECT_THAT(err,
                  HasSubstr(absl::StrCat("millrace: rank ", rank, " exited with code ", kPeer)));
    }
  }

  std::chrono::duration<double> elapsed_{0};
};

class RankFaultsTest : public RankFaults, public testing::WithParamInterface<Fault> {};

TEST_P(RankFaultsTest, Killed) {
  const Fault& fault = GetParam();
  const ProgramResult result = run(fault.place, "KILL", fault.victim, fault.ranks);
  EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
  expect_others_blame(fault, result.err);
  EXPECT_THAT(result.last_error(),
              HasSubstr(absl::StrCat("rank ", fault.victim, " was killed by signal 9")));
  EXPECT_THAT(result.err, Not(HasSubstr("did not leave")));
  EXPECT_LT(elapsed_.count(), kKilled);
}

TEST_P(RankFaultsTest, Frozen) {
  const Fault& fault = GetParam();
  const ProgramResult result = run(fault.place, "FREEZE", fault.victim, fault.ranks);
  EXPECT_EQ(result.exit_code, kPeer) << result.err;
  expect_others_blame(fault, result.err);
  EXPECT_LT(elapsed_.count(), 2 * kTimeout + kSlack);
  // The launcher had to end only the frozen rank. SIGTERM had no effect, so SIGKILL followed.
  EXPECT_THAT(result.err, HasSubstr(absl::StrCat("\nmillrace: rank ", fault.victim,
                                                 " did not leave: SIGTERM\n")));
  EXPECT_THAT(result.err, HasSubstr(absl::StrCat("\nmillrace: rank ", fault.victim,
                                                 " did not leave: SIGKILL\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Phases, RankFaultsTest,
    testing::Values(Fault{"FORWARD", "forward"}, Fault{"BACKWARD", "backward"},
                    Fault{"UPDATE", "update"}, Fault{"BETWEEN_STEPS", "between steps"},
                    Fault{"EVALUATION", "evaluation"}, Fault{"FORWARD", "forward", 0},
                    Fault{"UPDATE", "update", 0}, Fault{"EVALUATION", "evaluation", 0},
                    Fault{"BACKWARD", "backward", 0, 3}, Fault{"UPDATE", "update", 2, 3}),
    [](const auto& info) {
      const Fault& fault = info.param;
      return absl::StrCat(fault.place, "_", fault.victim, "_of_", fault.ranks);
    });

TEST_F(RankFaults, ACrashIsFoundAsAKill) {
  const Fault fault{"BACKWARD", "backward"};
  const ProgramResult result = run(fault.place, "CRASH");
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV) << result.err;
  expect_others_blame(fault, result.err);
  EXPECT_THAT(result.last_error(), HasSubstr("rank 1 was killed by signal 11"));
  EXPECT_LT(elapsed_.count(), kKilled);
}

// The rank lives and reports its state; the missing collective shows the fault.
TEST_F(RankFaults, AHookThatLoopsForEverIsFoundByTheTimeOut) {
  const Fault fault{"BETWEEN_STEPS", "between steps"};
  const ProgramResult result = run(fault.place, "LOOP");
  EXPECT_EQ(result.exit_code, kPeer) << result.err;
  expect_others_blame(fault, result.err);
  EXPECT_THAT(result.err, HasSubstr("it did not take part in "));
  EXPECT_LT(elapsed_.count(), 2 * kTimeout + kSlack);
  EXPECT_THAT(result.err, HasSubstr("\nmillrace: rank 1 did not leave: SIGKILL\n"));
}

// The message of an error or exception of a rank, within a step or between steps, reaches all
// ranks.
class RankErrorsTest : public RankFaults, public testing::WithParamInterface<const char*> {};

TEST_P(RankErrorsTest, TheMessageReachesAll) {
  const std::pair<std::string, std::string> fault = absl::StrSplit(GetParam(), '/');
  const ProgramResult result = run(fault.first, fault.second);
  const int code = fault.second == "THROW" ? kPart : kBadData;
  EXPECT_EQ(result.exit_code, fault.first == "EVALUATION" ? kEvaluation : code) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("\\[1\\] millrace: .*planted"));
  EXPECT_THAT(result.err, ContainsRegex("\\[0\\] millrace: .*rank 1.*planted"));
  EXPECT_THAT(result.last_error(),
              AllOf(HasSubstr("millrace: rank 1 exited"), HasSubstr("planted")));
  EXPECT_LT(elapsed_.count(), kTimeout + kSlack);
}

INSTANTIATE_TEST_SUITE_P(Places, RankErrorsTest,
                         testing::Values("START/ERROR", "DATA/ERROR", "FORWARD/ERROR",
                                         "BACKWARD/THROW", "AFTER_BACKWARD/ERROR",
                                         "BETWEEN_STEPS/ERROR", "EVALUATION/THROW"));

TEST_F(RankFaults, AnErrorOfAnOptimizerReachesAll) {
  const ProgramResult result = run("UPDATE", "ERROR");
  EXPECT_EQ(result.exit_code, kPart) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("\\[1\\] millrace: .*dense optimizer: "));
  EXPECT_THAT(result.err, ContainsRegex("\\[0\\] millrace: .*rank 1.*dense optimizer: "));
  EXPECT_LT(elapsed_.count(), kTimeout + kSlack);
}

TEST_F(RankFaults, ANonFiniteValueOfOneRankEndsAll) {
  const ProgramResult result = run("FORWARD", "SPOIL");
  EXPECT_EQ(result.exit_code, kDiverged) << result.err;
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
