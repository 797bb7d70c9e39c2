#include "base/worker_placement.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace millrace {
namespace {

cpu_set_t cpus_of(pthread_t thread) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(::pthread_getaffinity_np(thread, sizeof(cpus), &cpus), 0);
  return cpus;
}

// All of `cpus` are among `others`.
bool within(const cpu_set_t& cpus, const cpu_set_t& others) {
  cpu_set_t both;
  CPU_AND(&both, &cpus, &others);
  return CPU_EQUAL(&both, &cpus);
}

class WorkerPlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "one CPU only";
    cpu_set_t same = all_;
    if (::pthread_setaffinity_np(::pthread_self(), sizeof(same), &same) != 0) {
      GTEST_SKIP() << "affinities cannot be changed here";
    }
  }
  void TearDown() override {
    const cpu_set_t own = cpus_of(::pthread_self());
    EXPECT_TRUE(CPU_EQUAL(&all_, &own)) << "the caller's was changed";
  }

  const cpu_set_t all_ = cpus_of(::pthread_self());
};

// A thread that sleeps until the end of the test.
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

TEST_F(WorkerPlacementTest, KeepsWorkersOffTheCallersCpu) {
  Sleeper worker;
  WorkerPlacement placement;
  placement.add(worker.handle());
  placement.keep_off_caller();
  const cpu_set_t cpus = worker.cpus();
  EXPECT_TRUE(within(cpus, all_));
  EXPECT_EQ(CPU_COUNT(&cpus), CPU_COUNT(&all_) - 1);
}

TEST_F(WorkerPlacementTest, WorkersMayRunWhereTheCallerMay) {
  Sleeper worker;
  WorkerPlacement placement;
  placement.add(worker.handle());
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all_)) continue;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    ASSERT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof(only), &only), 0);
    placement.keep_off_caller();
    const cpu_set_t cpus = worker.cpus();
    EXPECT_TRUE(CPU_EQUAL(&cpus, &only)) << "CPU " << cpu;
  }
  ASSERT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof(all_), &all_), 0);
}

TEST_F(WorkerPlacementTest, LeavesMoreWorkersThanCpusAlone) {
  std::vector<std::unique_ptr<Sleeper>> workers;
  WorkerPlacement placement;
  for (int i = 0; i < CPU_COUNT(&all_); ++i) {
    workers.push_back(std::make_unique<Sleeper>());
    placement.add(workers.back()->handle());
  }
  placement.keep_off_caller();
  for (const auto& worker : workers) {
    const cpu_set_t cpus = worker->cpus();
    EXPECT_TRUE(CPU_EQUAL(&cpus, &all_));
  }
}

TEST_F(WorkerPlacementTest, FetchesAStalledWorkerUntilTheNextLoop) {
  Sleeper worker;
  WorkerPlacement placement;
  placement.add(worker.handle());
  placement.keep_off_caller();
  cpu_set_t cpus;
  do {  // it may not sleep yet
    placement.fetch_stalled();
    cpus = worker.cpus();
  } while (CPU_COUNT(&cpus) > 1);
  EXPECT_TRUE(within(cpus, all_));
  placement.keep_off_caller();
  cpus = worker.cpus();
  EXPECT_EQ(CPU_COUNT(&cpus), CPU_COUNT(&all_) - 1);
}

TEST_F(WorkerPlacementTest, LeavesARunningWorkerWhereItIs) {
  std::atomic<bool> end = false;
  std::thread worker([&] {
    while (!end.load()) continue;
  });
  WorkerPlacement placement;
  placement.add(worker.native_handle());
  // It may be off its CPU at times, but not at all times.
  bool left = false;
  for (int i = 0; i < 1000 && !left; ++i) {
    placement.keep_off_caller();
    const cpu_set_t before = cpus_of(worker.native_handle());
    placement.fetch_stalled();
    const cpu_set_t after = cpus_of(worker.native_handle());
    left = CPU_EQUAL(&before, &after);
  }
  EXPECT_TRUE(left);
  end = true;
  worker.join();
}

}  // namespace
}  // namespace millrace
