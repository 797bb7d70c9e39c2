// Runs programs as a person would: with arguments, output, an exit code and signals.
#ifndef MILLRACE_TESTS_E2E_RUN_PROGRAM_H_
#define MILLRACE_TESTS_E2E_RUN_PROGRAM_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace millrace {

struct ProgramResult {
  int exit_code = -1;  // minus the signal where one ended it
  std::string out;
  std::string err;

  // The last line of `err` that is not indented, and the indented ones behind it, without the last
  // newline.
  std::string last_error() const;
};

struct ProgramOptions {
  std::string directory;  // where it stands; "": where the test does
  // Killed after that, and the test fails.
  std::chrono::seconds timeout{30};
  // If true, permissions of files hold for it also where the user is root.
  bool obeys_permissions = false;
};

// A program that runs beside the test. Both of its outputs are read all the time that the test
// waits for it, so neither fills up. Used by one thread.
//
//   RunningProgram program({"/bin/sh", "-c", "echo ready >&2; sleep 60"});
//   ASSERT_TRUE(program.wait_for("ready"));
//   program.send(SIGTERM);
//   EXPECT_EQ(program.finish().exit_code, -SIGTERM);
class RunningProgram {
 public:
  // `arguments` begins with the path of the program. It gets the test's environment, but one
  // OpenMP thread and no directory of Bazel's. A program that cannot be started exits with 127.
  explicit RunningProgram(std::vector<std::string> arguments, ProgramOptions options = {});
  ~RunningProgram();  // kills what still runs
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Waits until stderr holds `text`, this many times. Returns: whether it does; not if the program
  // ended before.
  bool wait_for(const std::string& text, int times = 1);
  void send(int signal);
  // Until finish() returned.
  pid_t process() const { return process_; }
  // Waits for the end.
  ProgramResult finish();

 private:
  struct Stream {
    int fd = -1;
    std::string text;
  };

  void start(std::vector<std::string>& arguments);
  // Waits for output and reads it. Returns: false if there is no more, or the time is over.
  bool read_some();
  void kill_and_fail();

  const ProgramOptions options_;
  const std::chrono::steady_clock::time_point deadline_;
  std::string name_;  // for messages
  pid_t process_ = -1;
  Stream out_;
  Stream err_;
};

ProgramResult run_program(std::vector<std::string> arguments, ProgramOptions options = {});

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_RUN_PROGRAM_H_
