// The memory limit of undo logs.
#ifndef MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_
#define MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace millrace {

// The functions that a wait for memory calls, on any waiting thread. Each may be empty.
struct UndoWaits {
  // Called with true when the first thread begins to wait and with false when no thread waits any
  // more. Must not call the budget.
  std::function<void(bool waits)> changed;
  // Called before a wait, and ten times per second during it. If true, there is no wait, or the
  // wait ends, and the limit is exceeded.
  std::function<bool()> must_end;
};

// The memory limit of the undo logs of all snapshots of one moment. If the limit is reached,
// training waits until a snapshot has been read. Thread-safe.
class UndoBudget {
 public:
  explicit UndoBudget(int64_t limit_bytes, const Clock& clock = Clock::real(), UndoWaits waits = {})
      : limit_bytes_(limit_bytes), clock_(clock), waits_(std::move(waits)) {}
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
    // limit, or until UndoWaits::must_end. Returns false without memory if the share has ended.
    bool take(int64_t bytes);
    // Releases all memory and ends the share. Thread-safe.
    void end();

   private:
    bool fits(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(budget_.mutex_);

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
  // Waits until `fits` or UndoWaits::must_end.
  void await(absl::FunctionRef<bool()> fits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t limit_bytes_;
  const Clock& clock_;
  mutable Mutex mutex_;
  int64_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t most_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration waited_ ABSL_GUARDED_BY(mutex_);
  const UndoWaits waits_;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_UNDO_BUDGET_H_
