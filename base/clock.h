// A replaceable source of time, so that tests can freeze and advance it.
#ifndef MILLRACE_BASE_CLOCK_H_
#define MILLRACE_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace millrace {

// All methods may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the time of day, which may jump.
  virtual absl::Time now() const = 0;
  // Returns the time since an arbitrary fixed point. Never decreases.
  virtual absl::Duration elapsed() const = 0;
  virtual void sleep(absl::Duration duration) = 0;

  // Returns the machine's clock, which lives as long as the process.
  static Clock& real();
};

// A clock that only sleep() and advance() move.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::UnixEpoch()) : start_(start) {}
  absl::Time now() const override { return start_ + elapsed(); }
  absl::Duration elapsed() const override {
    MutexLock lock(mutex_);
    return elapsed_;
  }
  void sleep(absl::Duration duration) override { advance(duration); }
  void advance(absl::Duration duration) {
    MutexLock lock(mutex_);
    elapsed_ += duration;
  }

 private:
  const absl::Time start_;
  mutable Mutex mutex_;
  absl::Duration elapsed_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

}  // namespace millrace

#endif  // MILLRACE_BASE_CLOCK_H_
