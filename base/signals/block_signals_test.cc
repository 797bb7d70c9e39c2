#include "base/signals/block_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <thread>

namespace millrace {
namespace {

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
