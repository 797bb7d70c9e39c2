#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace millrace {
namespace {

TEST(Mutex, ProtectsACounter) {
  Mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        MutexLock lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(Mutex, AwaitReturnsAtOnceWhereTheConditionHolds) {
  Mutex mutex;
  MutexLock lock(mutex);
  mutex.await([] { return true; });
}

// Two threads alternate: every change wakes the waiting thread, also a change just before a wait of
// the changing thread.
TEST(Mutex, EachChangeWakesItsWaiter) {
  Mutex mutex;
  int turn = 0;
  const auto play = [&](int me) {
    for (int i = 0; i < 500; ++i) {
      MutexLock lock(mutex);
      mutex.await([&] { return turn % 2 == me; });
      ++turn;
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn, 1000);
}

TEST(Mutex, ChangeBeforeWaitingWakesOthers) {
  Mutex mutex;
  bool first = false, second = false;
  std::thread other([&] {
    MutexLock lock(mutex);
    mutex.await([&] { return first; });
    second = true;
  });
  {
    MutexLock lock(mutex);
    first = true;
    mutex.await([&] { return second; });
  }
  other.join();
}

TEST(Mutex, AwaitForGivesUpAndSaysSo) {
  Mutex mutex;
  MutexLock lock(mutex);
  EXPECT_FALSE(mutex.await_for(absl::Milliseconds(1), [] { return false; }));
  EXPECT_TRUE(mutex.await_for(absl::ZeroDuration(), [] { return true; }));
}

TEST(Mutex, AwaitForSeesAChange) {
  Mutex mutex;
  bool done = false;
  std::thread other([&] {
    MutexLock lock(mutex);
    done = true;
  });
  {
    MutexLock lock(mutex);
    EXPECT_TRUE(mutex.await_for(absl::InfiniteDuration(), [&] { return done; }));
  }
  other.join();
}

}  // namespace
}  // namespace millrace
