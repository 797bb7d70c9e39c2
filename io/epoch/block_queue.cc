#include "io/epoch/block_queue.h"

#include <algorithm>
#include <utility>

#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {

BlockQueue::BlockQueue(int64_t tasks, int threads, std::function<Reader()> make_reader)
    : tasks_(tasks), window_(int64_t{threads} + 1), results_(window_) {
  const int64_t useful = std::min<int64_t>(threads, tasks);
  for (int64_t i = 0; i < useful; ++i) {
    absl::Status started = catch_exceptions([&] {
      threads_.emplace_back([this, make_reader] { work(make_reader); });
      return absl::OkStatus();
    });
    if (started.ok()) continue;
    if (threads_.empty()) no_thread_ = annotate(std::move(started), "starting a thread that reads");
    return;
  }
}

BlockQueue::~BlockQueue() {
  cancel();
  for (std::thread& thread : threads_) thread.join();
}

void BlockQueue::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
}

bool BlockQueue::may_start() const {
  return cancelled_ || next_task_ == tasks_ || next_task_ < first_task_ + window_;
}

void BlockQueue::work(const std::function<Reader()>& make_reader) {
  const absl::StatusOr<Reader> reader =
      catch_part_exceptions("a reader", [&]() -> absl::StatusOr<Reader> { return make_reader(); });
  while (true) {
    int64_t task = 0;
    {
      MutexLock lock(mutex_);
      mutex_.await([this] { return may_start(); });
      if (cancelled_ || next_task_ == tasks_) return;
      task = next_task_++;
    }
    absl::StatusOr<Block> block =
        reader.ok() ? catch_part_exceptions("a reader", [&] { return (*reader)(task, cancelled_); })
                    : absl::StatusOr<Block>(reader.status());
    MutexLock lock(mutex_);
    results_[task - first_task_] = std::move(block);
  }
}

absl::StatusOr<std::optional<Block>> BlockQueue::next() {
  RETURN_IF_ERROR(no_thread_);
  MutexLock lock(mutex_);
  if (first_task_ == tasks_ && !cancelled_) return std::nullopt;
  auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return cancelled_ || results_.front().has_value();
  };
  mutex_.await(ready);
  if (cancelled_) return absl::CancelledError("reading was cancelled");
  absl::StatusOr<Block> block = *std::move(results_.front());
  results_.pop_front();
  results_.emplace_back();
  ++first_task_;
  if (!block.ok()) return block.status();
  return std::optional<Block>(*std::move(block));
}

}  // namespace millrace
