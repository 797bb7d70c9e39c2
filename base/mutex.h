// A mutex that can wait for a condition.
#ifndef MILLRACE_BASE_MUTEX_H_
#define MILLRACE_BASE_MUTEX_H_

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace millrace {

// A mutex with the part of the interface of absl::Mutex that Millrace uses. ThreadSanitizer sees
// the locks of std::mutex, but not the locks of Debian's Abseil, which is compiled without it.
//
//   MutexLock lock(mutex_);
//   mutex_.await([this] { return !queue_.empty() || closed_; });
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }

  // Unlocks, and wakes all waiting threads, each of which evaluates its condition again.
  void unlock() ABSL_UNLOCK_FUNCTION() {
    if (waiting_ > 0) changed_.notify_all();
    mutex_.unlock();
  }

  // Releases the mutex until `condition()` is true, and then acquires the mutex again. Other
  // threads must hold this mutex to change the values that the condition reads. REQUIRES: the
  // caller holds the mutex.
  template <typename Condition>
  void await(const Condition& condition) {
    if (condition()) return;
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    // Other threads may wait for values that this thread has changed.
    if (waiting_ > 0) changed_.notify_all();
    ++waiting_;
    changed_.wait(lock, condition);
    --waiting_;
    lock.release();
  }

  // Does the same, but waits at most for `timeout`. Returns the value of `condition()`.
  template <typename Condition>
  bool await_for(absl::Duration timeout, const Condition& condition) {
    if (condition()) return true;
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    if (waiting_ > 0) changed_.notify_all();
    ++waiting_;
    const absl::Duration bounded = std::min(timeout, absl::Hours(24 * 365));
    const bool met = changed_.wait_for(lock, absl::ToChronoNanoseconds(bounded), condition);
    --waiting_;
    lock.release();
    return met;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
};

// Holds a mutex during its lifetime.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_MUTEX_H_
