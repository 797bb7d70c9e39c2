#include "tests/e2e/run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_join.h"
#include "tests/environment/obey_permissions.h"

namespace millrace {
namespace {

using Clock = std::chrono::steady_clock;

// Runs in the child, between fork and exec, so it makes only system calls.
[[noreturn]] void become(char** arguments, const ProgramOptions& options, int out, int err) {
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  const char* const directory = options.directory.c_str();
  const bool stands = *directory == '\0' || ::chdir(directory) == 0;
  const bool obeys = !options.obeys_permissions || obey_permissions_for_good();
  if (stands && obeys) ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

std::string ProgramResult::last_error() const {
  const size_t end = err.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  size_t begin = end + 1;
  do {
    const size_t before = begin < 2 ? std::string::npos : err.find_last_of('\n', begin - 2);
    begin = before == std::string::npos ? 0 : before + 1;
  } while (begin > 0 && err[begin] == ' ');
  return err.substr(begin, end + 1 - begin);
}

RunningProgram::RunningProgram(std::vector<std::string> arguments, ProgramOptions options)
    : options_(std::move(options)),
      deadline_(Clock::now() + options_.timeout),
      name_(absl::StrJoin(arguments, " ")) {
  start(arguments);
}

void RunningProgram::start(std::vector<std::string>& arguments) {
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::unsetenv("BUILD_WORKING_DIRECTORY");
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe: errno " << errno;
    return;
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  process_ = ::fork();
  if (process_ == 0) become(argv.data(), options_, out[1], err[1]);
  EXPECT_GT(process_, 0) << "no process: errno " << errno;
  ::close(out[1]);
  ::close(err[1]);
  out_.fd = out[0];
  err_.fd = err[0];
}

RunningProgram::~RunningProgram() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  for (Stream* stream : {&out_, &err_}) {
    if (stream->fd >= 0) ::close(stream->fd);
  }
}

bool RunningProgram::read_some() {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
  pollfd fds[2] = {{out_.fd, POLLIN, 0}, {err_.fd, POLLIN, 0}};  // negative numbers are ignored
  if (out_.fd < 0 && err_.fd < 0) return false;
  const int ready = ::poll(fds, 2, static_cast<int>(std::max<int64_t>(0, left.count())));
  if (ready < 0 && errno == EINTR) return true;
  if (ready <= 0) {
    kill_and_fail();
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    Stream& stream = i == 0 ? out_ : err_;
    if (fds[i].revents == 0) continue;
    char buffer[65536];
    const ssize_t count = ::read(stream.fd, buffer, sizeof buffer);
    if (count > 0) {
      stream.text.append(buffer, count);
    } else if (count == 0 || errno != EINTR) {
      ::close(stream.fd);
      stream.fd = -1;
    }
  }
  return true;
}

void RunningProgram::kill_and_fail() {
  ADD_FAILURE() << name_ << "\nis not done after " << options_.timeout.count()
                << " s; its stderr so far:\n"
                << err_.text;
  if (process_ > 0) ::kill(process_, SIGKILL);
}

bool RunningProgram::wait_for(const std::string& text, int times) {
  size_t from = 0;
  for (int found = 0; found < times;) {
    const size_t at = err_.text.find(text, from);
    if (at != std::string::npos) {
      from = at + text.size();
      ++found;
    } else if (!read_some()) {
      return false;
    }
  }
  return true;
}

bool RunningProgram::wait_for_more(const std::string& text) {
  int times = 1;
  for (size_t at = 0; (at = err_.text.find(text, at)) != std::string::npos; at += text.size()) {
    ++times;
  }
  return wait_for(text, times);
}

void RunningProgram::send(int signal) {
  if (process_ > 0) ::kill(process_, signal);
}

ProgramResult RunningProgram::finish() {
  while (read_some()) {
  }
  ProgramResult result;
  result.out = std::move(out_.text);
  result.err = std::move(err_.text);
  int status = 0;
  if (process_ > 0 && ::waitpid(process_, &status, 0) == process_) {
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  process_ = -1;
  return result;
}

ProgramResult run_program(std::vector<std::string> arguments, ProgramOptions options) {
  return RunningProgram(std::move(arguments), std::move(options)).finish();
}

}  // namespace millrace
