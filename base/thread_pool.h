// Threads that share one loop.
#ifndef MILLRACE_BASE_THREAD_POOL_H_
#define MILLRACE_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace millrace {

// Runs the iterations of a loop on `threads` threads, the caller's among them. Waiting threads
// sleep: a busy neighbour costs no more than its share. parallel_for is called by one thread at a time.
class ThreadPool {
 public:
  // One thread starts none. Where the system refuses to start more, fewer do the work.
  // REQUIRES: threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i) once for each i in [0, count), in any order and from any of the threads,
  // and returns when all are done. `body` must not throw nor call parallel_for.
  void parallel_for(int64_t count, const std::function<void(int64_t)>& body);

 private:
  void work();
  void run_iterations() ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  const std::function<void(int64_t)>* body_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t unfinished_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_THREAD_POOL_H_
