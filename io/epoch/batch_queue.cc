#include "io/epoch/batch_queue.h"

#include <utility>

#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {

BatchQueue::BatchQueue(int64_t capacity, NextBatch next_batch)
    : capacity_(capacity), next_batch_(std::move(next_batch)) {
  const absl::Status started = catch_exceptions([this] {
    thread_ = std::thread([this] { work(); });
    return absl::OkStatus();
  });
  if (started.ok()) return;
  MutexLock lock(mutex_);
  ready_.push_back(annotate(started, "starting a thread that reads"));
}

BatchQueue::~BatchQueue() {
  cancel();
  if (thread_.joinable()) thread_.join();
}

void BatchQueue::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
}

void BatchQueue::work() {
  auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return cancelled_ || static_cast<int64_t>(ready_.size()) < capacity_;
  };
  while (true) {
    {
      MutexLock lock(mutex_);
      mutex_.await(has_room);
      if (cancelled_) return;
    }
    absl::StatusOr<std::optional<Batch>> batch = catch_part_exceptions("reading", next_batch_);
    const bool last = !batch.ok() || !batch->has_value();
    MutexLock lock(mutex_);
    ready_.push_back(std::move(batch));
    if (last) return;
  }
}

absl::StatusOr<std::optional<Batch>> BatchQueue::next() {
  MutexLock lock(mutex_);
  auto ready = [this]()
                   ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return cancelled_ || !ready_.empty(); };
  mutex_.await(ready);
  if (cancelled_) return absl::CancelledError("reading was cancelled");
  if (!ready_.front().ok() || !ready_.front()->has_value()) return ready_.front();
  absl::StatusOr<std::optional<Batch>> batch = std::move(ready_.front());
  ready_.pop_front();
  return batch;
}

}  // namespace millrace
