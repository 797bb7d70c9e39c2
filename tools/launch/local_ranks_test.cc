#include "tools/launch/local_ranks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Functions for the shell programs of the tests. Programs wait for files of others, never for time.
constexpr char kFunctions[] = R"(
wait_for() { for file in "$@"; do while [ ! -e "$file" ]; do sleep 0.01; done; done; }
wait_forever() { while :; do sleep 0.01; done; }
)";

struct Outcome {
  absl::StatusOr<int> code;
  std::string out;
  std::string err;
};

class LocalRanksTest : public testing::Test {
 protected:
  LocalRanksTest() {
    std::string name = testing::TempDir() + "/ranksXXXXXX";
    directory_ = ::mkdtemp(name.data());
    options_.program = "/bin/sh";
    options_.ranks.world_size = options_.ranks.count = 2;
    options_.grace =
        absl::Seconds(30);  // longer than any test, so that no test reaches it by chance
  }

  // Runs the script in every rank, in the test's folder.
  Outcome run(const std::string& script) {
    options_.arguments = {"sh", "-c", absl::StrCat("cd ", directory_, "\n", kFunctions, script)};
    const int flags = O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC;
    options_.out = ::open(path("out").c_str(), flags, 0600);
    options_.err = ::open(path("err").c_str(), flags, 0600);
    Outcome outcome = {run_local_ranks(options_), "", ""};
    ::close(options_.out);
    ::close(options_.err);
    outcome.out = read("out");
    outcome.err = read("err");
    return outcome;
  }

  std::string path(const std::string& name) const { return join_path(directory_, name); }
  std::string read(const std::string& name) const {
    return read_file(FileSystem::local(), path(name)).value_or("");
  }

  std::string directory_;
  LocalRanksOptions options_;
};

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Returns true if the process has ended, or only waits to be reaped.
bool has_ended(const std::string& process) {
  std::ifstream stream(absl::StrCat("/proc/", process, "/stat"));
  // Iterators of a buffer throw if the process ends while they read.
  std::stringstream text;
  text << stream.rdbuf();
  const std::string status = text.str();
  if (status.empty()) return true;
  const char state = status[status.rfind(')') + 2];
  return state == 'Z' || state == 'X';  // X: its parent is noticing
}

// A kill takes effect some time after it is sent.
void expect_ends(std::string process) {
  process = process.substr(0, process.find('\n'));
  ASSERT_NE(process, "");
  ASSERT_FALSE(has_ended(std::to_string(::getpid())));
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!has_ended(process) && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(has_ended(process)) << process;
}

TEST_F(LocalRanksTest, EachRankKnowsItsPlace) {
  options_.ranks = {.count = 3, .world_size = 3, .master = {"127.0.0.1", 12345}};
  ::setenv("WORLD_SIZE", "17", 1);  // of something else
  ::setenv("LOCAL_RANKS_TEST", "kept", 1);
  const Outcome outcome =
      run("echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT "
          "$LOCAL_RANKS_TEST");
  ::unsetenv("WORLD_SIZE");
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_THAT(sorted_lines(outcome.out),
              ElementsAre("[0] 0 3 0 3 127.0.0.1 12345 kept", "[1] 1 3 1 3 127.0.0.1 12345 kept",
                          "[2] 2 3 2 3 127.0.0.1 12345 kept"));
  EXPECT_EQ(outcome.err, "");
}

// A secret of the user is kept, and a node with some of the ranks cannot make one for all.
TEST_F(LocalRanksTest, AllRanksGetOneNewSecret) {
  const auto secrets = [&] {
    const std::vector<std::string> lines = sorted_lines(run("echo .$MILLRACE_JOB_SECRET").out);
    EXPECT_EQ(lines.size(), 2);
    EXPECT_EQ(lines.front().substr(4), lines.back().substr(4));
    return lines.front().substr(4);
  };
  const std::string first = secrets();
  EXPECT_EQ(first.size(), 65);
  EXPECT_NE(first, secrets());
  ::setenv("MILLRACE_JOB_SECRET", "mine", 1);
  EXPECT_EQ(secrets(), ".mine");
  ::unsetenv("MILLRACE_JOB_SECRET");
  options_.ranks = {.count = 2, .first = 2, .world_size = 4, .master = {"node0", 12345}};
  EXPECT_EQ(secrets(), ".");
}

TEST_F(LocalRanksTest, ALaterNodeNamesTheRanksOfTheJob) {
  options_.ranks = {.count = 1, .first = 4, .world_size = 5, .master = {"node0", 12345}};
  EXPECT_THAT(run("echo $MASTER_ADDR >&2; exit 65").err,
              HasSubstr("millrace: rank 4 exited with code 65: node0"));
}

TEST_F(LocalRanksTest, OneFreePortForAll) {
  const Outcome outcome = run("echo $MASTER_PORT");
  const std::vector<std::string> lines = sorted_lines(outcome.out);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].substr(4), lines[1].substr(4));
  EXPECT_GT(std::stoi(lines[0].substr(4)), 1023);
}

TEST_F(LocalRanksTest, OutputsStayApart) {
  const Outcome outcome = run("echo out $RANK; echo err $RANK >&2; printf 'last of %s' $RANK");
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_THAT(sorted_lines(outcome.out),
              ElementsAre("[0] last of 0", "[0] out 0", "[1] last of 1", "[1] out 1"));
  EXPECT_THAT(sorted_lines(outcome.err), ElementsAre("[0] err 0", "[1] err 1"));
}

TEST_F(LocalRanksTest, ManyLinesOfManyRanksAreNotTorn) {
  options_.ranks.world_size = options_.ranks.count = 4;
  const Outcome outcome =
      run("line=0123456789012345678901234567890123456789; line=$line$line$line$line$line;"
          "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo $i $line; done");
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  std::vector<int> next(4, 1);
  for (absl::string_view line : absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
    const int rank = line[1] - '0';
    ASSERT_TRUE(rank >= 0 && rank < 4) << line;
    const std::string begin = absl::StrCat("[", rank, "] ", next[rank]++, " ");
    ASSERT_EQ(line.substr(0, begin.size()), begin);
    ASSERT_EQ(line.size(), begin.size() + 200);
  }
  EXPECT_THAT(next, ElementsAre(2001, 2001, 2001, 2001));
}

TEST_F(LocalRanksTest, StandardInputIsEmpty) {
  const Outcome outcome = run("cat; echo end");
  EXPECT_THAT(sorted_lines(outcome.out), ElementsAre("[0] end", "[1] end"));
}

TEST_F(LocalRanksTest, TheCauseWins) {
  // Rank 0 detects the failure of rank 1, and ends first.
  const Outcome outcome =
      run("if [ $RANK = 0 ]; then exit 76; fi; while ! grep -q 'rank 0 exited' err; do sleep 0.01; "
          "done;"
          "echo 'the data is bad' >&2; exit 65");
  EXPECT_THAT(outcome.code, IsOkAndHolds(65));
  EXPECT_THAT(outcome.err, HasSubstr("\nmillrace: rank 1 exited with code 65: the data is bad\n"));
}

TEST_F(LocalRanksTest, OthersLeaveByThemselves) {
  const Outcome outcome =
      run("trap 'echo told' TERM;"
          "if [ $RANK = 1 ]; then exit 70; fi; wait_for err; while ! grep -q 'to leave' err; do"
          "  sleep 0.01; done; exit 76");
  EXPECT_THAT(outcome.code, IsOkAndHolds(70));
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "millrace: rank 1 exited with code 70; the others have 30s to leave\n"
            "millrace: rank 0 exited with code 76\n"
            "millrace: rank 1 exited with code 70\n");
}

TEST_F(LocalRanksTest, OthersAreToldToLeave) {
  options_.grace = absl::Milliseconds(300);
  const Outcome outcome =
      run("trap 'echo told; exit 75' TERM; touch ready.$RANK; wait_for ready.0 ready.1;"
          "if [ $RANK = 1 ]; then exit 70; fi; wait_forever");
  EXPECT_THAT(outcome.code, IsOkAndHolds(70));
  EXPECT_EQ(outcome.out, "[0] told\n");
  EXPECT_THAT(outcome.err, HasSubstr("millrace: rank 0 did not leave: SIGTERM\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("SIGKILL")));
}

TEST_F(LocalRanksTest, OthersAreKilledInTheEnd) {
  options_.grace = absl::Milliseconds(300);
  const Outcome outcome =
      run("trap 'touch told' TERM; touch ready.$RANK; wait_for ready.0 ready.1;"
          "if [ $RANK = 1 ]; then exit 70; fi; wait_forever");
  EXPECT_THAT(outcome.code, IsOkAndHolds(70));
  EXPECT_THAT(outcome.err, HasSubstr("rank 0 did not leave: SIGTERM\n"));
  EXPECT_THAT(outcome.err, HasSubstr("rank 0 did not leave: SIGKILL\n"));
  EXPECT_OK(FileSystem::local().info(path("told")));
}

TEST_F(LocalRanksTest, AFrozenRankIsKilled) {
  options_.grace = absl::Milliseconds(300);
  const Outcome outcome =
      run("if [ $RANK = 0 ]; then echo rank 1 is silent >&2; exit 76; fi; kill -STOP $$");
  EXPECT_THAT(outcome.code, IsOkAndHolds(76));
  EXPECT_THAT(outcome.err, HasSubstr("\nmillrace: rank 0 exited with code 76: rank 1 is silent\n"));
}

TEST_F(LocalRanksTest, ARankThatIsKilled) {
  const Outcome outcome = run("if [ $RANK = 0 ]; then exit 76; fi; kill -KILL $$");
  EXPECT_THAT(outcome.code, IsOkAndHolds(128 + SIGKILL));
  EXPECT_THAT(outcome.err, HasSubstr("millrace: rank 1 was killed by signal 9 (Killed)\n"));
}

TEST_F(LocalRanksTest, ALineOfTheLogIsNotTheReasonOfAnEnd) {
  const Outcome outcome =
      run("if [ $RANK = 0 ]; then exit 76; fi; echo 'I20261121 05:37:05.5 9 "
          "saver.cc:52] saved' >&2; kill -KILL $$");
  EXPECT_THAT(outcome.err, HasSubstr("millrace: rank 1 was killed by signal 9 (Killed)\n"));
}

// Signals are sent to the test, which is the launcher: $PPID of the ranks.
TEST_F(LocalRanksTest, SignalsArePassedOnToAll) {
  for (const std::string signal : {"TERM", "INT", "USR1", "HUP", "QUIT"}) {
    const Outcome outcome =
        run(absl::StrCat("trap 'echo got ", signal, "; exit 75' ", signal, "; touch ", signal,
                         ".$RANK;"
                         "wait_for ",
                         signal, ".0 ", signal,
                         ".1;"
                         "if [ $RANK = 1 ]; then kill -",
                         signal, " $PPID; fi; wait_forever"));
    EXPECT_THAT(outcome.code, IsOkAndHolds(75)) << signal;
    EXPECT_THAT(sorted_lines(outcome.out), ElementsAre("[0] got " + signal, "[1] got " + signal));
    EXPECT_THAT(outcome.err, Not(HasSubstr("millrace:")));
  }
}

TEST_F(LocalRanksTest, ASecondSignalIsPassedOnToo) {
  const Outcome outcome =
      run("trap 'touch first.$RANK; trap \"echo twice; exit 3\" TERM' TERM;"
          "touch ready.$RANK; wait_for ready.0 ready.1;"
          "if [ $RANK = 0 ]; then kill -TERM $PPID; fi; wait_for first.0 first.1;"
          "if [ $RANK = 0 ]; then kill -TERM $PPID; fi; wait_forever");
  EXPECT_THAT(outcome.code, IsOkAndHolds(3));
  EXPECT_THAT(sorted_lines(outcome.out), ElementsAre("[0] twice", "[1] twice"));
}

TEST_F(LocalRanksTest, ARankThatStoppedEarlierHurriesNobody) {
  options_.grace = absl::ZeroDuration();
  const Outcome outcome =
      run("trap 'echo told' TERM; if [ $RANK = 1 ]; then touch stopped; exit 75; fi;"
          "wait_for stopped; exit 75");
  EXPECT_THAT(outcome.code, IsOkAndHolds(75));
  EXPECT_EQ(outcome.out + outcome.err, "");
}

// Rank 1 is killed in the first start, while rank 0 would run forever.
constexpr char kKilledOnce[] = R"(
START=$TORCHELASTIC_RESTART_COUNT
echo start $START port $MASTER_PORT; touch ready.$START.$RANK
if [ $START = 0 ]; then
  wait_for ready.0.0 ready.0.1
  if [ $RANK = 1 ]; then echo last words >&2; kill -KILL $$; fi
  wait_forever
fi
)";

TEST_F(LocalRanksTest, WhenASignalKillsARankAllStartAgainAtOnce) {
  options_.max_restarts = 2;
  options_.ranks.master.port = 12345;
  const Outcome outcome = run(kKilledOnce);
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_THAT(sorted_lines(outcome.out),
              ElementsAre("[0] start 0 port 12345", "[0] start 1 port 12345",
                          "[1] start 0 port 12345", "[1] start 1 port 12345"));
  EXPECT_EQ(
      outcome.err,
      "[1] last words\n"
      "millrace: rank 1 was killed by signal 9 (Killed); the others are killed for a restart\n"
      "millrace: rank 0 was killed by signal 9 (Killed)\n"
      "millrace: rank 1 was killed by signal 9 (Killed): last words; starting all ranks again, "
      "restarts left: 1\n"
      "millrace: finished (restarts: 1)\n");
}

TEST_F(LocalRanksTest, EachStartHasAnotherPort) {
  options_.max_restarts = 1;
  const std::vector<std::string> lines = sorted_lines(run(kKilledOnce).out);
  ASSERT_EQ(lines.size(), 4);
  const auto port = [](const std::string& line) { return line.substr(line.rfind(' ')); };
  EXPECT_NE(port(lines[0]), port(lines[1]));
  EXPECT_EQ(port(lines[0]), port(lines[2]));
  EXPECT_EQ(port(lines[1]), port(lines[3]));
}

TEST_F(LocalRanksTest, RestartsRunOut) {
  options_.max_restarts = 2;
  const Outcome outcome =
      run("echo run; touch ready.$TORCHELASTIC_RESTART_COUNT.$RANK;"
          "wait_for ready.$TORCHELASTIC_RESTART_COUNT.0 ready.$TORCHELASTIC_RESTART_COUNT.1;"
          "if [ $RANK = 1 ]; then kill -BUS $$; fi; exit 76");
  EXPECT_THAT(outcome.code, IsOkAndHolds(128 + SIGBUS));
  EXPECT_EQ(sorted_lines(outcome.out).size(), 6);
  EXPECT_THAT(outcome.err, EndsWith("\nmillrace: rank 1 was killed by signal 7 (Bus error) "
                                    "(restarts: 2)\n"));
}

// A job of two ranks that ends and starts again.
struct Restarts {
  const char* test;
  int max_restarts;
  int min_ranks;
  std::string script;  // of each rank; START is the number of restarts before
  int code;
  std::vector<std::string> messages;  // in this order
};

class RestartsTest : public LocalRanksTest, public testing::WithParamInterface<Restarts> {};

TEST_P(RestartsTest, CountAndNumberOfRanks) {
  options_.max_restarts = GetParam().max_restarts;
  options_.min_ranks = GetParam().min_ranks;
  const Outcome outcome = run(absl::StrCat(
      "START=$TORCHELASTIC_RESTART_COUNT\n",
      "saved() { echo $1 >> /proc/self/fd/$MILLRACE_CHECKPOINT_NOTICE; }\n", GetParam().script));
  EXPECT_THAT(outcome.code, IsOkAndHolds(GetParam().code)) << outcome.err;
  size_t place = 0;
  for (const std::string& message : GetParam().messages) {
    place = outcome.err.find(message, place);
    ASSERT_NE(place, std::string::npos) << message << " is not there in:\n" << outcome.err;
    place += message.size();
  }
}

// Rank 1 ends in each start in which there is one.
constexpr char kRank1IsKilled[] =
    "if [ $WORLD_SIZE = 1 ]; then exit 0; fi; if [ $RANK = 1 ]; then kill -KILL $$; fi;"
    "exit 76";

INSTANTIATE_TEST_SUITE_P(
    Each, RestartsTest,
    testing::Values(
        Restarts{"ProgressDoesNotCount",
                 1,
                 1,
                 "if [ $START = 3 ]; then exit 0; fi;"
                 "if [ $RANK = 1 ]; then saved $((START + 5)); kill -KILL $$; fi; wait_forever",
                 0,
                 {"starting all ranks again, restarts left: 1\n",
                  "starting all ranks again, restarts left: 1\n",
                  "starting all ranks again, restarts left: 1\n", "finished (restarts: 3)"}},
        Restarts{"TheSameCheckpointIsNoProgress",
                 1,
                 0,
                 "if [ $RANK = 1 ]; then saved 7; kill -KILL $$; fi; exit 76",
                 128 + SIGKILL,
                 {"restarts left: 1\n", "restarts left: 0\n", "Killed) (restarts: 2)"}},
        Restarts{"WithoutRestartsProgressChangesNothing",
                 0,
                 0,
                 "if [ $RANK = 1 ]; then saved 7; kill -KILL $$; fi; exit 76",
                 128 + SIGKILL,
                 {}},
        Restarts{"TwoKillsInARowLeaveOneRankFewer",
                 5,
                 1,
                 kRank1IsKilled,
                 0,
                 {"starting all ranks again, restarts left: 4\n",
                  "starting 1 of 2 ranks again, restarts left: 3\n",
                  "finished (restarts: 2, ranks: 1)"}},
        Restarts{"FewerThanTheLeastNumberNever",
                 2,
                 2,
                 kRank1IsKilled,
                 128 + SIGKILL,
                 {"starting all ranks again, restarts left: 1\n",
                  "starting all ranks again, restarts left: 0\n", "Killed) (restarts: 2)"}},
        Restarts{"ALostRankBetweenTwoKills",
                 3,
                 1,
                 "if [ $START = 3 ]; then exit 0; fi; if [ $START = 1 ]; then exit 76; fi;"
                 "if [ $RANK = 1 ]; then kill -KILL $$; fi; exit 76",
                 0,
                 {"restarts left: 2\n", "restarts left: 1\n",
                  "starting all ranks again, restarts left: 0\n", "finished (restarts: 3)"}},
        Restarts{"NoMemory",
                 1,
                 1,
                 "if [ $WORLD_SIZE = 1 ]; then exit 0; fi; exit $((76 - 5 * RANK))",
                 0,
                 {"rank 1 exited with code 71; starting 1 of 2 ranks again, restarts left: 0\n",
                  "finished (restarts: 1, ranks: 1)"}},
        Restarts{"NoMemoryForTheLeastNumber", 1, 2, "exit 71", 71, {"exited with code 71"}}),
    [](const testing::TestParamInfo<Restarts>& info) { return std::string(info.param.test); });

// The launcher has room for the pipes of one rank only.
TEST_F(LocalRanksTest, ARankThatCannotBeStartedIsLeftOut) {
  options_.max_restarts = 1;
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // Outputs of the test, signals, checkpoints, port; the input and both ends of the pipes of a
  // rank.
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 2 + 2 + 1 + 1 + 4;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Outcome refused = run("exit 0");
  options_.min_ranks = 1;
  const Outcome outcome = run("exit 0");
  few.rlim_cur = static_cast<rlim_t>(next) + 2 + 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Outcome no_port = run("exit 0");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(refused.code, StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("cannot start a rank: Too many open files")));
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_EQ(outcome.err,
            "millrace: rank 1: cannot start a rank: Too many open files; starting 1 of 2 ranks "
            "again, restarts left: 0\nmillrace: finished (restarts: 1, ranks: 1)\n");
  EXPECT_THAT(std::string(no_port.code.status().message()), HasSubstr("for the ranks: "));
  EXPECT_EQ(no_port.err, "") << "fewer ranks need a port, too";
}

TEST_F(LocalRanksTest, ALostRankLeadsToARestart) {
  options_.max_restarts = 1;
  const Outcome outcome =
      run("if [ $TORCHELASTIC_RESTART_COUNT = 1 ]; then exit 0; fi;"
          "echo rank $((1 - RANK)) is silent >&2; exit 76");
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_THAT(outcome.err, HasSubstr(" exited with code 76; the others have 30s to leave\n"));
  EXPECT_THAT(outcome.err, HasSubstr(" is silent; starting all ranks again, restarts left: 0\n"));
}

TEST_F(LocalRanksTest, OtherFailuresAreFinal) {
  options_.ranks.world_size = options_.ranks.count = 1;
  options_.max_restarts = 3;
  for (const int code : {0, 1, 64, 65, 66, 70, 71, 73, 74, 75, 79, 80, 81}) {
    const Outcome outcome = run(absl::StrCat("echo run; exit ", code));
    EXPECT_THAT(outcome.code, IsOkAndHolds(code));
    EXPECT_EQ(outcome.out, "[0] run\n");
    EXPECT_THAT(outcome.err, Not(HasSubstr("again")));
  }
}

TEST_F(LocalRanksTest, TheFirstFailureDecidesOfARestart) {
  options_.max_restarts = 3;
  const Outcome outcome =
      run("echo run; touch ready.$RANK; wait_for ready.0 ready.1;"
          "if [ $RANK = 1 ]; then exit 65; fi;"
          "wait_for err; while ! grep -q 'to leave' err; do sleep 0.01; done; kill -KILL $$");
  EXPECT_THAT(outcome.code, IsOkAndHolds(65));
  EXPECT_THAT(sorted_lines(outcome.out), ElementsAre("[0] run", "[1] run"));
}

TEST_F(LocalRanksTest, ASignalBeforeARestartPreventsIt) {
  options_.max_restarts = 3;
  const Outcome outcome =
      run("trap '' TERM; echo run; touch ready.$RANK; wait_for ready.0 ready.1;"
          "if [ $RANK = 1 ]; then exit 76; fi;"
          "wait_for err; while ! grep -q 'to leave' err; do sleep 0.01; done;"
          "kill -TERM $PPID; exit 76");
  EXPECT_THAT(outcome.code, IsOkAndHolds(75));
  EXPECT_THAT(sorted_lines(outcome.out), ElementsAre("[0] run", "[1] run"));
  EXPECT_THAT(outcome.err, HasSubstr("\nmillrace: rank 1 exited with code 76; not started again, "
                                     "since signal 15 (Terminated) came\n"));
}

// As a rank does that gets a signal while it loads a checkpoint.
TEST_F(LocalRanksTest, ARankThatWasStoppedIsNotStartedAgain) {
  options_.max_restarts = 3;
  const Outcome outcome =
      run("echo run; touch ready.$RANK; wait_for ready.0 ready.1;"
          "if [ $RANK = 1 ]; then exit 75; fi; exit 76");
  EXPECT_THAT(outcome.code, IsOkAndHolds(75));
  EXPECT_THAT(sorted_lines(outcome.out), ElementsAre("[0] run", "[1] run"));
}

TEST_F(LocalRanksTest, ASignalToNewRanksEndsTheJob) {
  options_.max_restarts = 1;
  const Outcome outcome =
      run(absl::StrCat(kKilledOnce, "if [ $RANK = 0 ]; then kill -TERM $PPID; fi; wait_forever"));
  EXPECT_THAT(outcome.code, IsOkAndHolds(75));
  EXPECT_THAT(outcome.err, HasSubstr(" came (restarts: 1)\n"));
}

TEST_F(LocalRanksTest, NothingIsLeftBehind) {
  const Outcome outcome = run("sleep 1000 & echo $! > child.$RANK; echo done");
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_THAT(sorted_lines(outcome.out), ElementsAre("[0] done", "[1] done"));
  expect_ends(read("child.0"));
  expect_ends(read("child.1"));
}

TEST_F(LocalRanksTest, RanksEndWithTheLauncher) {
  const pid_t launcher = ::fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    run("echo $$ > process.$RANK; mv process.$RANK ready.$RANK; exec sleep 1000");
    ::_exit(0);
  }
  while (read("ready.0").empty() || read("ready.1").empty()) std::this_thread::yield();
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  expect_ends(read("ready.0"));
  expect_ends(read("ready.1"));
}

TEST_F(LocalRanksTest, NobodyReadsTheOutput) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  options_.arguments = {"sh", "-c", "echo lost; echo lost >&2; exit 3"};
  options_.out = options_.err = ends[1];
  EXPECT_THAT(run_local_ranks(options_), IsOkAndHolds(3));
  ::close(ends[1]);
}

// The outputs of these tests are a full pipe, until a file "told" exists.
class StalledReaderTest : public LocalRanksTest {
 protected:
  // Makes a pipe without any room.
  static void make_full_pipe(int ends[2]) {
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const std::string filler(4096, '.');
    while (::write(ends[1], filler.data(), filler.size()) > 0) {
    }
    ::fcntl(ends[0], F_SETFL, 0);
    ::fcntl(ends[1], F_SETFL, 0);
  }

  absl::StatusOr<int> run_into(int output, const std::string& script) {
    options_.arguments = {"sh", "-c", absl::StrCat("cd ", directory_, "\n", kFunctions, script)};
    options_.out = options_.err = output;
    return run_local_ranks(options_);
  }

  absl::StatusOr<int> run_stalled(const std::string& script) {
    int ends[2];
    make_full_pipe(ends);
    const std::string reader =
        absl::StrCat("cd ", directory_, "\n", kFunctions, "wait_for told; tr -d . > got");
    const pid_t process = ::fork();
    if (process == 0) {
      ::dup2(ends[0], STDIN_FILENO);
      ::execl("/bin/sh", "sh", "-c", reader.c_str(), nullptr);
      ::_exit(127);
    }
    EXPECT_GT(process, 0);
    ::close(ends[0]);
    const absl::StatusOr<int> code = run_into(ends[1], script);
    ::close(ends[1]);
    ::waitpid(process, nullptr, 0);
    return code;
  }
};

TEST_F(StalledReaderTest, SignalsArePassedOn) {
  EXPECT_THAT(run_stalled("trap 'echo got it; touch told.$RANK; wait_for told.0 told.1; touch told;"
                          "  exit 75' TERM;"
                          "echo begin; touch ready.$RANK; wait_for ready.0 ready.1;"
                          "if [ $RANK = 1 ]; then kill -TERM $PPID; fi; wait_forever"),
              IsOkAndHolds(75));
  // A shell may add that the signal ended its child.
  EXPECT_THAT(sorted_lines(read("got")),
              IsSupersetOf({"[0] begin", "[0] got it", "[1] begin", "[1] got it"}));
}

TEST_F(StalledReaderTest, OthersAreToldToLeave) {
  options_.grace = absl::Milliseconds(300);
  EXPECT_THAT(run_stalled("trap 'touch told; exit 76' TERM; echo begin; touch ready.$RANK;"
                          "wait_for ready.0 ready.1;"
                          "if [ $RANK = 1 ]; then exit 70; fi; wait_forever"),
              IsOkAndHolds(70));
  EXPECT_THAT(read("got"), HasSubstr("rank 0 did not leave: SIGTERM\n"));
  EXPECT_THAT(read("got"), HasSubstr("millrace: rank 1 exited with code 70"));
}

TEST_F(StalledReaderTest, ASignalEndsTheWaitForAReader) {
  const pid_t launcher = ::fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    ::signal(SIGTERM, SIG_IGN);  // outside run_local_ranks, so that only that is ended
    int ends[2];
    make_full_pipe(ends);
    ::_exit(run_into(ends[1], "echo unread; touch ready; exit 3").value_or(1));
  }
  while (!FileSystem::local().info(path("ready")).ok()) std::this_thread::yield();
  int status = 0;
  while (::waitpid(launcher, &status, WNOHANG) == 0) {
    ::kill(launcher, SIGTERM);
    std::this_thread::yield();
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
}

TEST_F(LocalRanksTest, AProgramThatCannotBeStarted) {
  options_.program = "/no/such/program";
  const Outcome outcome = run("");
  EXPECT_THAT(outcome.code, IsOkAndHolds(127));
  EXPECT_THAT(outcome.err, HasSubstr("exited with code 127"));
}

TEST_F(LocalRanksTest, TheSignalsOfTheCallerAreAsBefore) {
  sigset_t before, after;
  ::sigprocmask(SIG_SETMASK, nullptr, &before);
  run("exit 0");
  ::sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  }
}

}  // namespace
}  // namespace millrace
