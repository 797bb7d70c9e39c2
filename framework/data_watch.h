// Batches, with a limit on how long one may take.
#ifndef MILLRACE_FRAMEWORK_DATA_WATCH_H_
#define MILLRACE_FRAMEWORK_DATA_WATCH_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "io/dataset.h"

namespace millrace {

// Cancels a dataset whose next() blocks for longer than a time-out, so that a source that hangs
// ends the run with an error instead of hanging it. A thread of its own looks ten times within the
// time-out, so a call costs nothing and may last a tenth longer. Used by one thread.
class DataWatch {
 public:
  // timeout: above 0.
  explicit DataWatch(absl::Duration timeout) : timeout_(timeout) {}
  ~DataWatch();
  DataWatch(const DataWatch&) = delete;
  DataWatch& operator=(const DataWatch&) = delete;

  // data.next(). Errors: those of next(); Unavailable naming the time-out, after which the dataset
  // stays cancelled.
  absl::StatusOr<std::optional<Batch>> next(Dataset& data);

 private:
  class Call;
  void watch();

  const absl::Duration timeout_;
  std::thread thread_;  // once there was a first call
  // Even: no call is under way; odd: one is, on data_; kCancelling: it takes too long.
  std::atomic<int64_t> call_{0};
  Dataset* data_ = nullptr;
  Mutex mutex_;  // held by the watching thread whenever it does not wait
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_DATA_WATCH_H_
