// For tests of where threads run.
#ifndef MILLRACE_BASE_CPU_TESTING_H_
#define MILLRACE_BASE_CPU_TESTING_H_

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace millrace {

// Returns the CPUs on which a thread may run.
inline cpu_set_t cpus_of(pthread_t thread) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(::pthread_getaffinity_np(thread, sizeof(cpus), &cpus), 0);
  return cpus;
}

// Restricts this thread to these CPUs. Returns false if the system refuses.
inline bool restrict_to(const cpu_set_t& cpus) {
  return ::pthread_setaffinity_np(::pthread_self(), sizeof(cpus), &cpus) == 0;
}

// A thread that computes until the destructor.
class Runner {
 public:
  Runner()
      : thread_([this] {
          while (!end_.load()) continue;
        }) {}
  ~Runner() {
    end_ = true;
    thread_.join();
  }
  pthread_t handle() { return thread_.native_handle(); }
  cpu_set_t cpus() { return cpus_of(handle()); }

 private:
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_CPU_TESTING_H_
