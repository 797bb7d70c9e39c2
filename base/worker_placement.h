// Placement of the workers of a thread pool on CPUs.
#ifndef MILLRACE_BASE_WORKER_PLACEMENT_H_
#define MILLRACE_BASE_WORKER_PLACEMENT_H_

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <vector>

namespace millrace {

// Places the workers of a shared loop on a machine with other busy threads. The system's own
// placement has two faults. Workers queue behind the caller, which then does all of the work. And a
// worker that loses its CPU during an iteration gets another one only after milliseconds, although
// the CPU of the waiting caller is free. The affinity of the workers avoids both. The affinity of
// all other threads, including the caller, is never changed.
//
// Workers may run on the CPUs of the thread that calls keep_off_caller(), except its current CPU if
// the others are enough for all workers. The affinity of workers is not changed if the system
// refuses to report or set it, or has more than 1024 CPUs.
//
// Workers call enter() and leave(); one thread at a time calls the other functions.
class WorkerPlacement {
 public:
  // `workers`: the maximum number of workers.
  explicit WorkerPlacement(int workers) : workers_(workers) {}

  // Adds the next worker; the first worker has number 0. REQUIRES: `thread` outlives all calls of
  // the other functions.
  void add(pthread_t thread);

  // Called by a worker at the begin and the end of its part in a loop.
  void enter(int worker) { workers_[worker].inside.store(true, std::memory_order_relaxed); }
  void leave(int worker) { workers_[worker].inside.store(false, std::memory_order_relaxed); }

  // Keeps the workers off the caller's CPU. Called before the workers and the caller share a loop.
  // Costs a short system call, and another one per worker if the caller's CPU or its permitted CPUs
  // changed, or if fetch_stalled() moved a worker.
  void keep_off_caller();

  // Called by a caller that is about to wait for workers. Observes the workers inside the loop for
  // some 10 µs, and moves the first worker that does not run, if any, to the caller's CPU until the
  // next keep_off_caller(). Allocates no memory.
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
  // True if the last keep_off_caller() set the CPUs of all workers.
  bool placed_ = false;
  int caller_cpu_ = kUnknown;  // at that call; kUnknown if a worker was fetched since
  cpu_set_t caller_cpus_;      // on which the caller could run then
};

}  // namespace millrace

#endif  // MILLRACE_BASE_WORKER_PLACEMENT_H_
