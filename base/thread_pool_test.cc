#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "base/cpu_testing.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using Placement = ThreadPool::Placement;

// Parameters: the number of threads and their placement.
class ThreadPoolTest : public testing::TestWithParam<std::tuple<int, Placement>> {
 protected:
  int threads() const { return std::get<0>(GetParam()); }
  ThreadPool pool_{threads(), std::get<1>(GetParam())};
};

TEST_P(ThreadPoolTest, RunsEveryIterationOnce) {
  EXPECT_EQ(pool_.threads(), threads());
  for (const int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    pool_.parallel_for(count, [&](int64_t i) { calls[i].fetch_add(1); });
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(calls[i].load(), 1) << i << " of " << count;
  }
}

TEST_P(ThreadPoolTest, EverythingIsDoneAndVisibleOnReturn) {
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> squares(9, -1);
    pool_.parallel_for(9, [&](int64_t i) { squares[i] = i * i + round; });
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
  ThreadPool one(1);
  const std::vector<double> expected = work(one);
  EXPECT_EQ(work(pool_), expected);
  const std::vector<Runner> neighbours(std::thread::hardware_concurrency());
  for (int round = 0; round < 50; ++round) ASSERT_EQ(work(pool_), expected);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest,
                         testing::Combine(testing::Values(1, 2, 3, 8),
                                          testing::Values(Placement::kSystem,
                                                          Placement::kOffCaller)));

TEST(ThreadPoolPlacementTest, WorkersAreKeptOffTheCallersCpuIfWanted) {
  const cpu_set_t own = cpus_of(::pthread_self());
  const int all = CPU_COUNT(&own);
  if (all < 2) GTEST_SKIP() << skip_hardware("two CPUs", "one CPU only");
  if (!restrict_to(own)) GTEST_SKIP() << skip_kernel_feature("affinities", "cannot be changed");
  for (const Placement placement : {Placement::kSystem, Placement::kOffCaller}) {
    ThreadPool pool(2, placement);
    std::barrier barrier(2);  // each thread has one iteration
    std::atomic<int> workers_cpus = 0;
    const std::thread::id caller = std::this_thread::get_id();
    pool.parallel_for(2, [&](int64_t) {
      barrier.arrive_and_wait();
      const cpu_set_t cpus = cpus_of(::pthread_self());
      if (std::this_thread::get_id() != caller) workers_cpus = CPU_COUNT(&cpus);
      barrier.arrive_and_wait();
    });
    EXPECT_EQ(workers_cpus, placement == Placement::kSystem ? all : all - 1);
    const cpu_set_t still = cpus_of(::pthread_self());
    EXPECT_TRUE(CPU_EQUAL(&still, &own));
  }
}

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

TEST(ThreadPoolTest, MayBeDestroyedUnused) { ThreadPool pool(4); }

TEST(ThreadPoolTest, WorksWithTheThreadsThatCouldBeStarted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << skip_build("sanitizers need address space");
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
