// Runs programs as a user would: with arguments, output, an exit code and signals.
#ifndef MILLRACE_TESTS_E2E_RUN_PROGRAM_H_
#define MILLRACE_TESTS_E2E_RUN_PROGRAM_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace millrace {

struct ProgramResult {
  int exit_code = -1;  // minus the signal that ended the program, if any
  std::string out;
  std::string err;

  // Returns the last line of `err` that is not indented, and the indented lines behind it, without
  // the last newline.
  std::string last_error() const;
};

struct ProgramOptions {
  std::string directory;  // the working directory; "": the directory of the test
  // After this time the program is killed and the test fails.
  std::chrono::seconds timeout{30};
  // If true, permissions of files hold for the program even if the user is root.
  bool obeys_permissions = false;
};

// A program that runs at the same time as the test. Reads both outputs whenever the test waits for
// the program, so that neither pipe is full. Used by one thread.
//
//   RunningProgram program({"/bin/sh", "-c", "echo ready >&2; sleep 60"});
//   ASSERT_TRUE(program.wait_for("ready"));
//   program.send(SIGTERM);
//   EXPECT_EQ(program.finish().exit_code, -SIGTERM);
class RunningProgram {
 public:
  // `arguments` begins with the path of the program, which gets the test's environment with one
  // OpenMP thread and without directories of Bazel. A program that cannot be started exits with
  // 127.
  explicit RunningProgram(std::vector<std::string> arguments, ProgramOptions options = {});
  ~RunningProgram();  // kills the program if it still runs
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Waits until stderr has contained `text` this number of times. Returns false if the program
  // ended before.
  bool wait_for(const std::string& text, int times = 1);
  // Waits until stderr has contained `text` once more than up to the last wait. As wait_for().
  bool wait_for_more(const std::string& text);
  void send(int signal);
  // Valid until finish() returns.
  pid_t process() const { return process_; }
  // Waits for the end.
  ProgramResult finish();

 private:
  struct Stream {
    int fd = -1;
    std::string text;
  };

  void start(std::vector<std::string>& arguments);
  // Waits for output and reads it. Returns false if there is no more, or the time is over.
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
