#include "tools/process_start.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace millrace {
namespace {

// Printed text of a process with closed standard output must not be written to an opened file.
TEST(ProcessStartTest, ClosedStreamsBecomeNothing) {
  const std::string path = testing::TempDir() + "/checkpoint";
  const pid_t child = ::fork();
  if (child == 0) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) ::close(stream);
    open_standard_streams();
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const bool printed = ::write(STDOUT_FILENO, "a", 1) == 1 && ::write(STDERR_FILENO, "b", 1) == 1;
    ::_exit(file > STDERR_FILENO && printed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const int file = ::open(path.c_str(), O_RDONLY);
  char byte;
  EXPECT_EQ(::read(file, &byte, 1), 0);
  ::close(file);
}

TEST(ProcessStartTest, TheLimitOfOpenFilesIsRaisedToTheHardOne) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlim_t raised = std::min<rlim_t>(before.rlim_max, 65536);
  const rlimit low = {std::min<rlim_t>(raised, 64), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  raise_file_limit();
  rlimit after = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, raised);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(ProcessStartTest, OpenStreamsStay) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::close(STDIN_FILENO);
    open_standard_streams();
    ::_exit(::write(STDOUT_FILENO, "a", 1) == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'a');
}

}  // namespace
}  // namespace millrace
