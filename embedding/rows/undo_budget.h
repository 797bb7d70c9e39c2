// The memory limit of undo logs.
#ifndef MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_
#define MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace millrace {

// The memory limit of the undo logs of all snapshots of one moment. If the limit is reached,
// training waits until a snapshot has been read. Thread-safe.
class UndoBudget {
 public:
  explicit UndoBudget(int64_t limit_bytes, const Clock& clock = Clock::real())
      : limit_bytes_(limit_bytes), clock_(clock) {}
  UndoBudget(const UndoBudget&) = delete;
  UndoBudget& operator=(const UndoBudget&) = delete;

  // The memory of one snapshot.
  class Share {
   public:
    explicit Share(UndoBudget& budget) : budget_(budget) {}
    ~Share() { end(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Acquires `bytes`. Waits until they fit, or until nothing is acquired if `bytes` exceeds the
    // limit. Returns false without memory if the share has ended.
    bool take(int64_t bytes);
    // Releases all memory and ends the share. Thread-safe.
    void end();

   private:
    UndoBudget& budget_;
    int64_t taken_bytes_ ABSL_GUARDED_BY(budget_.mutex_) = 0;
    bool ended_ ABSL_GUARDED_BY(budget_.mutex_) = false;
  };

  int64_t taken_bytes() const;
  // Returns the maximum of taken_bytes() so far.
  int64_t most_bytes() const;
  // Returns the time of waits, summed over threads.
  absl::Duration waited() const;

 private:
  const int64_t limit_bytes_;
  const Clock& clock_;
  mutable Mutex mutex_;
  int64_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t most_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration waited_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_
