#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

namespace millrace {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, RunsEveryIterationOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  for (const int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    pool.parallel_for(count, [&](int64_t i) { calls[i].fetch_add(1); });
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(calls[i].load(), 1) << i << " of " << count;
  }
}

TEST_P(ThreadPoolTest, EverythingIsDoneAndVisibleOnReturn) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> squares(9, -1);
    pool.parallel_for(9, [&](int64_t i) { squares[i] = i * i + round; });
    for (int64_t i = 0; i < 9; ++i) ASSERT_EQ(squares[i], i * i + round);
  }
}

TEST_P(ThreadPoolTest, ResultsDoNotDependOnTheNumberOfThreads) {
  auto work = [](ThreadPool& pool) {
    std::vector<double> sums(64);
    pool.parallel_for(64, [&](int64_t i) {
      for (int k = 1; k <= 1000; ++k) sums[i] += 1.0 / (k + i);
    });
    return sums;
  };
  ThreadPool one(1), many(GetParam());
  EXPECT_EQ(work(one), work(many));
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 3, 8));

TEST(ThreadPoolTest, AllThreadsTakePart) {
  ThreadPool pool(3);
  std::barrier barrier(3);  // each iteration waits for the two others
  std::vector<std::thread::id> ids(3);
  pool.parallel_for(3, [&](int64_t i) {
    ids[i] = std::this_thread::get_id();
    barrier.arrive_and_wait();
  });
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3u);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), std::this_thread::get_id()), 1);
}

TEST(ThreadPoolTest, OneThreadRunsInOrderOnTheCaller) {
  ThreadPool pool(1);
  std::vector<int64_t> order;
  pool.parallel_for(5, [&](int64_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadPoolTest, WorksBesideThreadsThatWantAllCpus) {
  std::atomic<bool> end = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      while (!end.load()) continue;
    });
  }
  ThreadPool pool(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> sums(8);
    pool.parallel_for(8, [&](int64_t i) {
      for (int k = 1; k <= 10000; ++k) sums[i] += 1.0 / k;
    });
    for (const double sum : sums) ASSERT_EQ(sum, sums[0]);
    ASSERT_GT(sums[0], 9);
  }
  end = true;
  for (std::thread& other : others) other.join();
}

TEST(ThreadPoolTest, MayBeDestroyedUnused) { ThreadPool pool(4); }

TEST(ThreadPoolTest, WorksWithTheThreadsThatCouldBeStarted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space";
#endif
  // Address space for a few stacks more.
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  rlimit few = old;
  few.rlim_cur = pages * ::sysconf(_SC_PAGESIZE) + (48 << 20);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &few), 0);
  ThreadPool pool(1000);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_LT(pool.threads(), 1000);
  std::atomic<int64_t> sum = 0;
  pool.parallel_for(100, [&](int64_t i) { sum += i; });
  EXPECT_EQ(sum, 4950);
}

}  // namespace
}  // namespace millrace
