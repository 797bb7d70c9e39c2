// Threads that share one loop.
#ifndef MILLRACE_BASE_THREAD_POOL_H_
#define MILLRACE_BASE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/worker_placement.h"

namespace millrace {

// Upper bound that the configuration and the benchmarks enforce.
inline constexpr int kMostThreads = 1024;

// Runs the iterations of a loop on `threads` threads, including the calling thread. An idle thread
// spins for some 20 µs, since the loops of one step follow each other closely, and then sleeps. A
// loop does not wait for late workers. One thread at a time calls parallel_for().
class ThreadPool {
 public:
  // The chooser of the workers' CPUs.
  enum class Placement {
    kSystem,
    // WorkerPlacement, which protects against other busy programs. Only for loops of computation: a
    // sleeping worker would be treated as a worker without a CPU, and threads started by a worker
    // inherit its CPUs permanently.
    kOffCaller,
  };

  // Starts `threads` - 1 workers, or fewer if the system refuses to start more. REQUIRES: threads
  // >= 1.
  explicit ThreadPool(int threads, Placement placement = Placement::kSystem);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i) once for each i in [0, count), in any order and from any of the threads,
  // and returns when all are done. `body` must not throw nor call parallel_for.
  void parallel_for(int64_t count, const std::function<void(int64_t)>& body);

 private:
  // state_: the number of the loop, a flag for a loop that is closed to further workers, and the
  // number of workers inside.
  static constexpr uint64_t kLoop = 1 << 16, kClosed = 1 << 15, kWorkers = kClosed - 1;

  void work(int number);
  void run_iterations();
  // Waits for a loop after number `seen`. Returns the state of that loop; 0 if the pool ends.
  uint64_t await_loop(uint64_t seen) ABSL_LOCKS_EXCLUDED(mutex_);

  // Body and count of the current loop. They change only while the loop is closed and no worker is
  // in it.
  const std::function<void(int64_t)>* body_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<uint64_t> state_{kClosed};
  Mutex mutex_;  // sleeping threads wait on it
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
  std::optional<WorkerPlacement> placement_;  // if not the system's
};

}  // namespace millrace

#endif  // MILLRACE_BASE_THREAD_POOL_H_
