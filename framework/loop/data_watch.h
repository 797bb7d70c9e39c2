// Batches, with a limit on how long one may take.
#ifndef MILLRACE_FRAMEWORK_LOOP_DATA_WATCH_H_
#define MILLRACE_FRAMEWORK_LOOP_DATA_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "io/dataset.h"

namespace millrace {

// Cancels a dataset whose next() blocks for longer than a time-out, so that a source that hangs
// ends the run with an error instead of hanging it, or while it is interrupted, so that a stop does
// not wait for the source. A thread of its own looks ten times within the time-out (and ten times a
// second for interruptions), so a call costs nothing and may last a tenth longer. Used by one
// thread.
class DataWatch {
 public:
  // timeout: above 0. `interrupted`, if given, is called on any thread.
  explicit DataWatch(absl::Duration timeout, std::function<bool()> interrupted = nullptr)
      : timeout_(timeout), interrupted_(std::move(interrupted)) {}
  ~DataWatch();
  DataWatch(const DataWatch&) = delete;
  DataWatch& operator=(const DataWatch&) = delete;

  // data.next(). Errors: those of next(); Unavailable naming the time-out and, where the dataset is
  // a NamesFiles, the files that it waits for; Cancelled for an interruption while it waited. After
  // the last two the dataset stays cancelled.
  absl::StatusOr<std::optional<Batch>> next(Dataset& data);

  // Returns true once a dataset was cancelled: its threads may hang in the source for ever, and so
  // would whoever destroys it.
  bool gave_up() const { return gave_up_; }

 private:
  class Call;
  void watch();

  const absl::Duration timeout_;
  const std::function<bool()> interrupted_;
  bool gave_up_ = false;
  std::thread thread_;  // once there was a first call
  // Even: no call is under way; odd: one is, on data_; kCancelling: it takes too long.
  std::atomic<int64_t> call_{0};
  Dataset* data_ = nullptr;
  // Written before the call is cancelled, and read after its end.
  bool was_interrupted_ = false;
  std::string place_;  // what the dataset waited for; "": not known
  Mutex mutex_;        // held by the watching thread whenever it does not wait
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_DATA_WATCH_H_
