// Batches made ahead by a thread.
#ifndef MILLRACE_IO_EPOCH_BATCH_QUEUE_H_
#define MILLRACE_IO_EPOCH_BATCH_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "io/batch.h"

namespace millrace {

// Calls a source of batches on its own thread, up to `capacity` batches ahead.
class BatchQueue {
 public:
  using NextBatch = std::function<absl::StatusOr<std::optional<Batch>>()>;

  // `next_batch` is called until its end or an error. REQUIRES: capacity >= 1.
  BatchQueue(int64_t capacity, NextBatch next_batch);
  // Cancels and joins; a call of `next_batch` that waits must be made to return before.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  // The next batch; waits for it. The end and an error come again and again.
  // Errors: as the source, ResourceExhausted or Internal for an exception
  // of it; Cancelled. Called by one thread.
  absl::StatusOr<std::optional<Batch>> next();

  // Makes next() return Cancelled, for good. From any thread.
  void cancel();

 private:
  void work();

  const int64_t capacity_;
  const NextBatch next_batch_;
  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<absl::StatusOr<std::optional<Batch>>> ready_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_BATCH_QUEUE_H_
