// On which CPUs the workers of a thread pool run.
#ifndef MILLRACE_BASE_WORKER_PLACEMENT_H_
#define MILLRACE_BASE_WORKER_PLACEMENT_H_

#include <pthread.h>

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
// there are enough for all workers then. Nothing is done where the system does not let affinities
// be changed.
//
// All functions are called by one thread at a time, add() first.
class WorkerPlacement {
 public:
  // The thread outlives the calls of the other functions.
  void add(pthread_t worker);

  // Before the workers and the caller share a loop: keeps the workers off the caller's CPU.
  // Costs some ns while the caller stays on its CPU.
  void keep_off_caller();

  // For a caller that is about to wait for workers: those that do not run now (asleep, or waiting
  // for a CPU) may run only on the caller's CPU until the next keep_off_caller(). Looks at them
  // for some 10 µs.
  void fetch_stalled();

 private:
  static constexpr int kNone = -1;

  struct Worker {
    pthread_t thread;
    clockid_t clock;  // its CPU time
  };

  std::vector<Worker> workers_;
  int kept_off_ = kNone;  // the CPU that workers are kept off, if any
};

}  // namespace millrace

#endif  // MILLRACE_BASE_WORKER_PLACEMENT_H_
