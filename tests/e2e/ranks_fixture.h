// What tests of several ranks as processes share.
#ifndef MILLRACE_TESTS_E2E_RANKS_FIXTURE_H_
#define MILLRACE_TESTS_E2E_RANKS_FIXTURE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"

namespace millrace {

// The process among `launcher`'s children that has this rank; none, and the test fails, if there is
// no such process.
std::optional<pid_t> process_of_rank(pid_t launcher, int rank);

// Sends the signal to that one process; without it the test fails and nothing is sent.
void send_to_rank(pid_t launcher, int rank, int signal);

// Whether a process of this number runs (one that waits for its parent to notice its end does not).
bool is_running(pid_t process);
// Waits until it does not, some seconds at most: a kill takes effect some time after it was sent.
bool ends_soon(pid_t process);

// A fixture with small data and a job of dense features alone:
// job.textproto reads data/part-*.parquet, four files of 500 examples, in batches of 50, and
// evaluates data/eval.parquet at the end; with two ranks an epoch has 20 steps.
class RanksTest : public ProgramTest {
 protected:
  static void SetUpTestSuite();
  RanksTest();

  // One rank as a launcher of another machine would start it.
  RunningProgram rank(int rank, int world_size, int port, std::vector<std::string> arguments,
                      const std::string& command = "train",
                      std::chrono::seconds timeout = std::chrono::seconds(40)) const;
  // `millrace launch -n RANKS -- train job.textproto ARGUMENTS...`.
  RunningProgram launch(int ranks, std::vector<std::string> arguments,
                        std::chrono::seconds timeout = std::chrono::seconds(40)) const;

 private:
  static std::string data_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_RANKS_FIXTURE_H_
