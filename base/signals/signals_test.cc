#include "base/signals/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

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

void handle(int) {}

auto handler_of(int signal) {
  struct sigaction current = {};
  EXPECT_EQ(::sigaction(signal, nullptr, &current), 0);
  return current.sa_handler;
}

TEST(StopSignalHandlersTest, EachSignalIsHandledUntilRestored) {
  struct sigaction action = {};
  action.sa_handler = handle;
  {
    StopSignalHandlers handlers;
    EXPECT_FALSE(handlers.installed());
    ASSERT_OK(handlers.install(action));
    EXPECT_TRUE(handlers.installed());
    for (const StopSignal& stop : kStopSignals) EXPECT_EQ(handler_of(stop.number), handle);
    handlers.restore();
    EXPECT_FALSE(handlers.installed());
    for (const StopSignal& stop : kStopSignals) EXPECT_EQ(handler_of(stop.number), SIG_DFL);
    ASSERT_OK(handlers.install(action));
  }
  for (const StopSignal& stop : kStopSignals) EXPECT_EQ(handler_of(stop.number), SIG_DFL);
}

TEST(StopSignalHandlersTest, AHangupThatIsIgnoredStaysSo) {
  ::signal(SIGHUP, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = handle;
  StopSignalHandlers handlers;
  ASSERT_OK(handlers.install(action));
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  EXPECT_EQ(handler_of(SIGTERM), handle);
  handlers.restore();
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  ::signal(SIGHUP, SIG_DFL);
}

bool is_blocked(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(BlockSignalsTest, TheCallingThreadAlone) {
  std::thread([] {
    block_signals();
    EXPECT_TRUE(is_blocked(SIGTERM));
    EXPECT_TRUE(is_blocked(SIGUSR1));
  }).join();
  EXPECT_FALSE(is_blocked(SIGTERM));
}

}  // namespace
}  // namespace millrace
