// Helpers for tests of several ranks as processes.
#ifndef MILLRACE_TESTS_E2E_RANKS_FIXTURE_H_
#define MILLRACE_TESTS_E2E_RANKS_FIXTURE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"

namespace millrace {

// Returns the child of `launcher` with this rank. Returns none and fails the test if there is no
// such process.
std::optional<pid_t> process_of_rank(pid_t launcher, int rank);

// Sends the signal to this process. Fails the test and sends nothing if there is no such process.
void send_to_rank(pid_t launcher, int rank, int signal);

// Returns true if a process of this number runs. A zombie does not run.
bool is_running(pid_t process);
// Waits, at most some seconds, until the process does not run: a kill has its effect some time
// after it was sent.
bool ends_soon(pid_t process);

// A fixture with small data and a job with dense features only: job.textproto reads
// data/part-*.parquet, four files of 500 examples, in batches of 50, and evaluates
// data/eval.parquet at the end; with two ranks an epoch has 20 steps.
class RanksTest : public ProgramTest {
 protected:
  static void SetUpTestSuite();
  RanksTest();

  // Starts one rank, as the launcher of another machine would.
  RunningProgram rank(int rank, int world_size, int port, std::vector<std::string> arguments,
                      const std::string& command = "train",
                      std::chrono::seconds timeout = std::chrono::seconds(40)) const;
  // Starts `millrace launch -n RANKS -- train job.textproto ARGUMENTS...`.
  RunningProgram launch(int ranks, std::vector<std::string> arguments,
                        std::chrono::seconds timeout = std::chrono::seconds(40)) const;

 private:
  static std::string data_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_RANKS_FIXTURE_H_
