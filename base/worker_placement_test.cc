#include "base/worker_placement.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "base/cpu_testing.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

constexpr int kTries = 10000;

cpu_set_t only(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  return cpus;
}

cpu_set_t without(cpu_set_t cpus, int cpu) {
  CPU_CLR(cpu, &cpus);
  return cpus;
}

bool operator==(const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b) != 0; }

// A thread that sleeps until the destructor.
class Sleeper {
 public:
  Sleeper() : thread_([this] { end_.get_future().wait(); }) {}
  ~Sleeper() {
    end_.set_value();
    thread_.join();
  }
  pthread_t handle() { return thread_.native_handle(); }
  cpu_set_t cpus() { return cpus_of(handle()); }

 private:
  std::promise<void> end_;
  std::thread thread_;
};

class WorkerPlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << skip_hardware("two CPUs", "one CPU only");
    if (!restrict_to(all_)) GTEST_SKIP() << skip_kernel_feature("affinities", "cannot be changed");
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all_)) numbers_.push_back(cpu);
    }
  }
  void TearDown() override { EXPECT_TRUE(restrict_to(all_)); }

  // Keeps workers off the CPU of this thread, which is the same before and after.
  int keep_off(WorkerPlacement& placement) {
    for (int i = 0; i < kTries; ++i) {
      const int before = ::sched_getcpu();
      placement.keep_off_caller();
      if (::sched_getcpu() == before) return before;
    }
    ADD_FAILURE() << "this thread never stays where it is";
    return 0;
  }
  // Fetches from a CPU, until the worker is there.
  static bool fetch_to(int cpu, Sleeper& worker, WorkerPlacement& placement) {
    EXPECT_TRUE(restrict_to(only(cpu)));
    for (int i = 0; i < kTries; ++i) {  // it may not sleep yet
      placement.fetch_stalled();
      if (worker.cpus() == only(cpu)) return true;
    }
    return false;
  }

  const cpu_set_t all_ = cpus_of(::pthread_self());
  std::vector<int> numbers_;
};

TEST_F(WorkerPlacementTest, KeepsWorkersOffTheCallersCpu) {
  Sleeper worker;
  WorkerPlacement placement(1);
  placement.add(worker.handle());
  for (const int cpu : numbers_) {
    ASSERT_TRUE(restrict_to(only(cpu)));  // goes there
    ASSERT_TRUE(restrict_to(all_));
    const int own = keep_off(placement);
    EXPECT_TRUE(worker.cpus() == without(all_, own)) << own;
    EXPECT_TRUE(cpus_of(::pthread_self()) == all_) << "the caller's were changed";
  }
}

TEST_F(WorkerPlacementTest, WorkersMayRunWhereTheCallerMay) {
  Sleeper worker;
  WorkerPlacement placement(1);
  placement.add(worker.handle());
  for (const int cpu : numbers_) {
    ASSERT_TRUE(restrict_to(only(cpu)));
    placement.keep_off_caller();
    EXPECT_TRUE(worker.cpus() == only(cpu)) << cpu;
    // The caller is where it was, but may go elsewhere now.
    ASSERT_TRUE(restrict_to(all_));
    EXPECT_TRUE(worker.cpus() == only(cpu)) << cpu;
    const int own = keep_off(placement);
    EXPECT_TRUE(worker.cpus() == without(all_, own)) << own;
  }
}

TEST_F(WorkerPlacementTest, LeavesMoreWorkersThanCpusAlone) {
  std::vector<std::unique_ptr<Sleeper>> workers;
  WorkerPlacement placement(CPU_COUNT(&all_));
  for (int i = 0; i < CPU_COUNT(&all_); ++i) {
    workers.push_back(std::make_unique<Sleeper>());
    placement.add(workers.back()->handle());
  }
  placement.keep_off_caller();
  for (const auto& worker : workers) EXPECT_TRUE(worker->cpus() == all_);
}

TEST_F(WorkerPlacementTest, FetchesAStalledWorkerUntilTheNextLoop) {
  Sleeper worker;
  WorkerPlacement placement(1);
  placement.add(worker.handle());
  for (const int cpu : numbers_) {
    keep_off(placement);
    placement.enter(0);
    EXPECT_TRUE(fetch_to(cpu, worker, placement)) << cpu;
    placement.leave(0);
    ASSERT_TRUE(restrict_to(all_));
    const int own = keep_off(placement);
    EXPECT_TRUE(worker.cpus() == without(all_, own)) << own;
  }
}

TEST_F(WorkerPlacementTest, FetchesOneWorkerAtATime) {
  Sleeper first, second;
  WorkerPlacement placement(2);
  placement.add(first.handle());
  placement.add(second.handle());
  placement.keep_off_caller();
  const cpu_set_t before = second.cpus();
  placement.enter(0);
  const int cpu = CPU_ISSET(numbers_[0], &before) ? numbers_[0] : numbers_[1];
  ASSERT_TRUE(fetch_to(cpu, first, placement));
  for (int i = 0; i < 100; ++i) placement.fetch_stalled();
  EXPECT_TRUE(second.cpus() == before) << "it takes no part";
  placement.enter(1);
  EXPECT_TRUE(fetch_to(cpu, second, placement));
  EXPECT_TRUE(first.cpus() == only(cpu));
}

TEST_F(WorkerPlacementTest, LeavesARunningWorkerWhereItIs) {
  Runner worker;
  WorkerPlacement placement(1);
  placement.add(worker.handle());
  placement.enter(0);
  // The worker may lose its CPU at times, but not always.
  bool left = false;
  for (int i = 0; i < kTries && !left; ++i) {
    const int own = keep_off(placement);
    ASSERT_TRUE(restrict_to(only(own)));
    placement.fetch_stalled();
    left = worker.cpus() == without(all_, own);
    ASSERT_TRUE(restrict_to(all_));
  }
  EXPECT_TRUE(left);
}

TEST_F(WorkerPlacementTest, FetchesNobodyBeforeTheFirstLoop) {
  Sleeper worker;
  WorkerPlacement placement(1);
  placement.add(worker.handle());
  placement.enter(0);
  for (int i = 0; i < 100; ++i) placement.fetch_stalled();
  EXPECT_TRUE(worker.cpus() == all_);
}

}  // namespace
}  // namespace millrace
