#include "embedding/rows/undo_budget.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace {
namespace {

TEST(UndoBudgetTest, CountsWhatSharesHave) {
  UndoBudget budget(100);
  {
    UndoBudget::Share one(budget), other(budget);
    EXPECT_TRUE(one.take(40));
    EXPECT_TRUE(other.take(60));
    EXPECT_EQ(budget.taken_bytes(), 100);
    one.end();
    EXPECT_EQ(budget.taken_bytes(), 60);
    EXPECT_FALSE(one.take(1));
    EXPECT_TRUE(other.take(40));
  }
  EXPECT_EQ(budget.taken_bytes(), 0);
  EXPECT_EQ(budget.most_bytes(), 100);
  EXPECT_EQ(budget.waited(), absl::ZeroDuration());
}

TEST(UndoBudgetTest, WhatIsMoreThanAllIsHadByOneAlone) {
  UndoBudget budget(10);
  UndoBudget::Share share(budget);
  EXPECT_TRUE(share.take(50));
  EXPECT_EQ(budget.most_bytes(), 50);
}

TEST(UndoBudgetTest, WaitsUntilAnotherShareEnds) {
  FakeClock clock;
  UndoBudget budget(100, clock);
  UndoBudget::Share one(budget), other(budget);
  ASSERT_TRUE(one.take(80));
  bool taken = false;
  std::thread waits([&] { taken = other.take(30); });
  clock.advance(absl::Seconds(3));
  one.end();
  waits.join();
  EXPECT_TRUE(taken);
  EXPECT_EQ(budget.taken_bytes(), 30);
  // The thread may have begun to wait after the clock moved, so only the maximum is known.
  EXPECT_LE(budget.waited(), absl::Seconds(3));
}

TEST(UndoBudgetTest, TheEndOfTheShareThatWaitsWakesIt) {
  UndoBudget budget(100);
  UndoBudget::Share one(budget), other(budget);
  ASSERT_TRUE(one.take(80));
  bool taken = true;
  std::thread waits([&] { taken = other.take(30); });
  other.end();
  waits.join();
  EXPECT_FALSE(taken);
  EXPECT_EQ(budget.taken_bytes(), 80);
}

TEST(UndoBudgetTest, AWaitIsReportedAndEndsOnRequest) {
  Mutex mutex;
  std::vector<bool> changes;
  std::atomic<bool> must_end{false};
  UndoBudget budget(100, Clock::real(),
                    {.changed =
                         [&](bool waits) {
                           MutexLock lock(mutex);
                           changes.push_back(waits);
                         },
                     .must_end = [&] { return must_end.load(); }});
  UndoBudget::Share one(budget), other(budget);
  ASSERT_TRUE(one.take(80));
  EXPECT_TRUE(changes.empty());
  bool taken = false;
  std::thread waits([&] { taken = other.take(30); });
  {
    MutexLock lock(mutex);
    mutex.await([&] { return !changes.empty(); });
  }
  must_end = true;
  waits.join();
  EXPECT_TRUE(taken) << "the log stays whole";
  EXPECT_EQ(budget.taken_bytes(), 110);
  EXPECT_TRUE(other.take(30));
  EXPECT_EQ(budget.taken_bytes(), 140);
  EXPECT_THAT(changes, testing::ElementsAre(true, false)) << "the second did not wait";
}

}  // namespace
}  // namespace millrace
