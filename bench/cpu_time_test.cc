#include "bench/cpu_time.h"

#include <gtest/gtest.h>

#include <thread>

namespace millrace {
namespace {

void use_processor(double seconds) {
  const double start = thread_cpu_seconds();
  while (thread_cpu_seconds() < start + seconds) {
  }
}

TEST(CpuTimeTest, OtherThreadsCountForTheProcessAlone) {
  const double process = process_cpu_seconds(), thread = thread_cpu_seconds();
  use_processor(0.02);
  std::thread(use_processor, 0.2).join();
  const double of_process = process_cpu_seconds() - process;
  const double of_thread = thread_cpu_seconds() - thread;
  EXPECT_GE(of_thread, 0.02);
  EXPECT_GE(of_process, of_thread + 0.19);
}

}  // namespace
}  // namespace millrace
