// Several threads that read blocks without changing the order of blocks.
#ifndef MILLRACE_IO_EPOCH_BLOCK_QUEUE_H_
#define MILLRACE_IO_EPOCH_BLOCK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "io/block.h"

namespace millrace {

// Runs tasks 0, 1, ... on several threads and hands their blocks out in that order. At most one
// block for each thread waits or is being read beyond the next block, which bounds memory.
class BlockQueue {
 public:
  // Reads the block of one task; called by one thread. It should return soon after `cancelled`
  // turns true.
  using Reader =
      std::function<absl::StatusOr<Block>(int64_t task, const std::atomic<bool>& cancelled)>;

  // `make_reader` is called once on each thread. Where the system refuses to start more, fewer
  // threads read. REQUIRES: threads >= 1.
  BlockQueue(int64_t tasks, int threads, std::function<Reader()> make_reader);
  ~BlockQueue();  // cancels and joins
  BlockQueue(const BlockQueue&) = delete;
  BlockQueue& operator=(const BlockQueue&) = delete;

  // The block of the next task; none after the last. Waits for it. Called by one thread.
  // Errors: the error of the task, in its turn, ResourceExhausted or Internal for an exception of
  // it; ResourceExhausted if no thread could be started; Cancelled.
  absl::StatusOr<std::optional<Block>> next();

  // Makes next() return Cancelled, for good. From any thread.
  void cancel();

 private:
  void work(const std::function<Reader()>& make_reader);
  bool may_start() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t tasks_;
  const int64_t window_;
  std::atomic<bool> cancelled_ = false;  // written under mutex_
  Mutex mutex_;
  int64_t next_task_ ABSL_GUARDED_BY(mutex_) = 0;   // to be started
  int64_t first_task_ ABSL_GUARDED_BY(mutex_) = 0;  // to be handed out
  // The results of the tasks from first_task_ on; empty where not ready.
  std::deque<std::optional<absl::StatusOr<Block>>> results_ ABSL_GUARDED_BY(mutex_);
  absl::Status no_thread_;  // why there is none
  std::vector<std::thread> threads_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_BLOCK_QUEUE_H_
