// On which CPUs the workers of a thread pool run.
#ifndef MILLRACE_BASE_WORKER_PLACEMENT_H_
#define MILLRACE_BASE_WORKER_PLACEMENT_H_

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <vector>

namespace millrace {

// Where other threads want the CPUs too, the system's own choice serves loops shared by several
// threads badly in two ways: workers are left to queue behind the caller, which does everything
// alone then; and a worker that was taken off its CPU in the midst of an iteration comes back after
// milliseconds only, though the CPU of the caller that waits for it is free. Both are mended by the
// affinity of the workers. That of other threads, the caller included, is never changed.
//
// Workers may run on the CPUs of whoever calls keep_off_caller(): without the one it is on, if
// there are enough for all workers then. Where the system does not let all this be known and set
// (it refuses, or has more than 1024 CPUs), workers stay as they are.
//
// enter() and leave() are called by the workers, all other functions by one thread at a time.
class WorkerPlacement {
 public:
  // For at most so many workers.
  explicit WorkerPlacement(int workers) : workers_(workers) {}

  // The next worker, the first one being number 0. It outlives the calls of the other functions.
  void add(pthread_t thread);

  // A worker begins and ends its part in a loop.
  void enter(int worker) { workers_[worker].inside.store(true, std::memory_order_relaxed); }
  void leave(int worker) { workers_[worker].inside.store(false, std::memory_order_relaxed); }

  // Before the workers and the caller share a loop: keeps the workers off the caller's CPU. Costs a
  // short system call, and one more for each worker if the caller's CPU, or those it may run on,
  // changed, or a worker was fetched.
  void keep_off_caller();

  // For a caller that is about to wait for workers: looks for some 10 µs at those inside, and lets
  // the first that does not run, if any, run only on the caller's CPU until the next
  // keep_off_caller(). Allocates nothing.
  void fetch_stalled();

 private:
  static constexpr int kUnknown = -1;
  struct Worker {
    pthread_t thread;
    clockid_t clock;   // its CPU time
    int64_t time = 0;  // scratch of fetch_stalled: what the clock showed, ns
    bool fetched = false;
    std::atomic<bool> inside = false;
  };

  std::vector<Worker> workers_;
  int added_ = 0;
  // The last keep_off_caller() knew the caller's CPUs and set those of all workers.
  bool placed_ = false;
  int caller_cpu_ = kUnknown;  // at that call; kUnknown if a worker was fetched since
  cpu_set_t caller_cpus_;      // on which the caller could run then
};

}  // namespace millrace

#endif  // MILLRACE_BASE_WORKER_PLACEMENT_H_
