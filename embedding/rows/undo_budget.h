// How much memory snapshots may take.
#ifndef MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_
#define MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace millrace {

// The memory that the undo logs of all snapshots of one moment share. Where it is used up, training
// waits until a snapshot has been read. Thread-safe.
class UndoBudget {
 public:
  explicit UndoBudget(int64_t limit_bytes, const Clock& clock = Clock::real())
      : limit_bytes_(limit_bytes), clock_(clock) {}
  UndoBudget(const UndoBudget&) = delete;
  UndoBudget& operator=(const UndoBudget&) = delete;

  // One user's part of it.
  class Share {
   public:
    explicit Share(UndoBudget& budget) : budget_(budget) {}
    ~Share() { end(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Takes `bytes`, waiting for room. What is more than the whole budget is had once nobody else
    // has any. Returns: false if the share has ended; nothing is taken then.
    bool take(int64_t bytes);
    // Gives all back, for good. From any thread.
    void end();

   private:
    UndoBudget& budget_;
    int64_t taken_bytes_ ABSL_GUARDED_BY(budget_.mutex_) = 0;
    bool ended_ ABSL_GUARDED_BY(budget_.mutex_) = false;
  };

  int64_t taken_bytes() const;
  // The most that was ever taken.
  int64_t most_bytes() const;
  // How long training waited; of several threads that wait at once the sum.
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
