// The open epoch of a dataset whose threads make batches.
#ifndef MILLRACE_IO_EPOCH_OPEN_RUN_H_
#define MILLRACE_IO_EPOCH_OPEN_RUN_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "io/batch.h"

namespace millrace {

// `Run` owns the threads of one epoch: Run has next() and cancel() like Dataset, and a destructor
// that cancels and joins. cancel() may be called from any thread; all else is for one.
template <typename Run>
class OpenRun {
 public:
  // Ends the open run and begins the run returned by `make`, a std::unique_ptr<Run>.
  // Errors: Cancelled after cancel().
  template <typename Make>
  absl::Status start(const Make& make) {
    std::unique_ptr<Run> old;
    {
      MutexLock lock(mutex_);
      old = std::move(run_);
    }
    old.reset();  // joins its threads before new ones start
    std::unique_ptr<Run> run = make();
    MutexLock lock(mutex_);
    if (cancelled_) return cancelled();
    run_ = std::move(run);
    return absl::OkStatus();
  }

  // See Dataset::next.
  absl::StatusOr<std::optional<Batch>> next() {
    if (run_ != nullptr) return run_->next();
    MutexLock lock(mutex_);
    if (cancelled_) return cancelled();
    return absl::FailedPreconditionError("next() before start_epoch() or seek()");
  }

  // See Dataset::cancel.
  void cancel() {
    MutexLock lock(mutex_);
    cancelled_ = true;
    if (run_ != nullptr) run_->cancel();
  }

 private:
  static absl::Status cancelled() { return absl::CancelledError("the dataset was cancelled"); }

  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Changed by the one user, under the mutex, since cancel() reads it.
  std::unique_ptr<Run> run_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_OPEN_RUN_H_
