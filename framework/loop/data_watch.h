// Reads batches with a time-out.
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
// ends the run with an error, or during an interruption, so that a stop does not wait for the
// source. A separate thread checks at least ten times a second and ten times per time-out, so a
// call costs nothing and may exceed the time-out by a tenth. Used by one thread.
class DataWatch {
 public:
  // `timeout`: above 0. `interrupted`, if given, is called on any thread.
  explicit DataWatch(absl::Duration timeout, std::function<bool()> interrupted = nullptr)
      : timeout_(timeout), interrupted_(std::move(interrupted)), pause_(pause_for(timeout)) {}
  ~DataWatch() { stop(); }
  DataWatch(const DataWatch&) = delete;
  DataWatch& operator=(const DataWatch&) = delete;

  // Returns data.next(). `at_most`: maximum time of the wait, exceeded by at most two checks.
  // Errors: as next(); Unavailable naming the time-out and, if the dataset is a NamesFiles, the
  // files that it waits for; Cancelled for an interruption during the wait, or after `at_most`.
  // After the last two errors the dataset stays cancelled.
  absl::StatusOr<std::optional<Batch>> next(Dataset& data,
                                            absl::Duration at_most = absl::InfiniteDuration());
  // Returns true if the last call took longer than its `at_most`.
  bool exceeded() const { return exceeded_; }

  // Stops the checks: `interrupted` is not called any more. Idempotent. No next() may follow.
  void stop();

  // Returns true if a dataset was cancelled: its threads may hang in the source for ever, and then
  // destroying the dataset hangs too.
  bool gave_up() const { return gave_up_; }

 private:
  class Call;
  static absl::Duration pause_for(absl::Duration timeout);
  void watch();

  const absl::Duration timeout_;
  const std::function<bool()> interrupted_;
  const absl::Duration pause_;  // between two checks
  bool gave_up_ = false;
  bool exceeded_ = false;
  std::thread thread_;  // started by the first call
  // Even: no call is under way; odd: a call is under way, on data_; kCancelling: the call takes too
  // long.
  std::atomic<int64_t> call_{0};
  std::atomic<int64_t> most_checks_{0};  // number of checks that find the call under way, at most
  Dataset* data_ = nullptr;
  // Written before the call is cancelled, and read after the call ends.
  bool was_interrupted_ = false;
  bool was_exceeded_ = false;
  std::string place_;  // files that the dataset waited for; "": unknown
  Mutex mutex_;        // held by the watching thread except while it waits
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_DATA_WATCH_H_
