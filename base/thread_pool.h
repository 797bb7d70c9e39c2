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

// More are a mistake of whoever asks for them: the threads of `run` and of benchmarks refuse it.
inline constexpr int kMostThreads = 1024;

// Runs the iterations of a loop on `threads` threads, the caller's among them. Threads that have
// nothing to do look for work for some 20 µs, since loops of one step follow each other closely,
// and then sleep; a worker that does not wake up in time is not waited for. parallel_for is called
// by one thread at a time.
class ThreadPool {
 public:
  // Who chooses the CPUs of the workers.
  enum class Placement {
    kSystem,
    // WorkerPlacement, against busy neighbours. For loops that compute: a worker that sleeps is
    // taken for one without a CPU, and threads that it starts inherit its CPUs for good.
    kOffCaller,
  };

  // One thread starts none. Where the system refuses to start more, fewer do the work.
  // REQUIRES: threads >= 1.
  explicit ThreadPool(int threads, Placement placement = Placement::kSystem);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i) once for each i in [0, count), in any order and from any of the threads,
  // and returns when all are done. `body` must not throw nor call parallel_for.
  void parallel_for(int64_t count, const std::function<void(int64_t)>& body);

 private:
  // state_: the number of the loop, whether it takes no more workers, and how many are in it.
  static constexpr uint64_t kLoop = 1 << 16, kClosed = 1 << 15, kWorkers = kClosed - 1;

  void work(int number);
  void run_iterations();
  // Waits for a loop after number `seen`. Returns: the state then; 0 if the pool ends.
  uint64_t await_loop(uint64_t seen) ABSL_LOCKS_EXCLUDED(mutex_);

  // Of the present loop; they change while it is closed and nobody is in it.
  const std::function<void(int64_t)>* body_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<uint64_t> state_{kClosed};
  Mutex mutex_;  // of those who sleep
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
  std::optional<WorkerPlacement> placement_;  // if not the system's
};

}  // namespace millrace

#endif  // MILLRACE_BASE_THREAD_POOL_H_
