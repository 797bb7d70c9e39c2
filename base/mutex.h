// A mutex that knows how to wait for a condition.
#ifndef MILLRACE_BASE_MUTEX_H_
#define MILLRACE_BASE_MUTEX_H_

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace millrace {

// Like absl::Mutex in the little that we use of it, over the standard library's, which
// ThreadSanitizer understands also where Abseil itself comes compiled without it.
//
//   MutexLock lock(mutex_);
//   mutex_.await([this] { return !queue_.empty() || closed_; });
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }

  // Wakes those who wait; each looks at its condition again.
  void unlock() ABSL_UNLOCK_FUNCTION() {
    if (waiting_ > 0) changed_.notify_all();
    mutex_.unlock();
  }

  // Gives the mutex up until `condition()` is true, and holds it again then. What the condition
  // looks at is changed under this mutex only. REQUIRES: the caller holds it.
  template <typename Condition>
  void await(const Condition& condition) {
    if (condition()) return;
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    // What this thread changed so far may be what others wait for.
    if (waiting_ > 0) changed_.notify_all();
    ++waiting_;
    changed_.wait(lock, condition);
    --waiting_;
    lock.release();
  }

  // The same, but at most for `timeout`. Returns: condition().
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

// Holds a mutex as long as it lives.
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
