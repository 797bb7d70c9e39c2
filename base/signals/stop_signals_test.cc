#include "base/signals/stop_signals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(StopSignalsTest, Names) {
  EXPECT_EQ(stop_signal_name(SIGHUP), "SIGHUP");
  EXPECT_EQ(stop_signal_name(SIGXCPU), "SIGXCPU");
  EXPECT_EQ(stop_signal_name(SIGSEGV), "");
}

TEST(StopSignalsTest, TheFirstIsNoted) {
  EXPECT_EQ(noted_stop_signal(), 0);
  note_stop_signal(SIGUSR1);
  note_stop_signal(SIGTERM);
  EXPECT_EQ(noted_stop_signal(), SIGUSR1);
  forget_stop_signals();
  EXPECT_EQ(noted_stop_signal(), 0);
}

TEST(StopSignalsTest, OnlyAHangUpStaysIgnored) {
  EXPECT_FALSE(stays_ignored(SIGHUP));
  for (const int signal : {SIGHUP, SIGINT}) ::signal(signal, SIG_IGN);
  EXPECT_TRUE(stays_ignored(SIGHUP));
  EXPECT_FALSE(stays_ignored(SIGINT)) << "shells ignore it for what runs in the background";
  for (const int signal : {SIGHUP, SIGINT}) ::signal(signal, SIG_DFL);
}

TEST(StopSignalsTest, AWriteThatNobodyReadsOrThatIsTooLargeFails) {
  ignore_write_signals();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EQ(::write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends[1]);

  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit = {16, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string path = testing::TempDir() + "/too_large";
  const absl::Status status =
      write_file_atomically(FileSystem::local(), path, std::string(100, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace millrace
