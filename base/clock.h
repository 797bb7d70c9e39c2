// Time as a part that can be replaced, so that tests freeze and move it.
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
  // The time of day; may jump.
  virtual absl::Time now() const = 0;
  // Time since an arbitrary fixed point; never goes back.
  virtual absl::Duration elapsed() const = 0;
  virtual void sleep(absl::Duration duration) = 0;

  // The machine's clock; lives as long as the process.
  static Clock& real();
};

// Stands still until told otherwise; sleep() moves it.
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
