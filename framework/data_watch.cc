#include "framework/data_watch.h"

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr int kLooks = 10;  // within the time-out

}  // namespace

DataWatch::~DataWatch() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  thread_.join();
}

absl::StatusOr<std::optional<Batch>> DataWatch::next(Dataset& data) {
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  if (data_ != &data) {
    MutexLock lock(mutex_);
    data_ = &data;
    cancelled_ = false;
  }
  calls_.fetch_add(1, std::memory_order_release);
  absl::StatusOr<std::optional<Batch>> batch = data.next();
  calls_.fetch_add(1, std::memory_order_release);
  if (batch.status().code() != absl::StatusCode::kCancelled) return batch;
  MutexLock lock(mutex_);
  if (!cancelled_) return batch;
  return absl::UnavailableError(
      absl::StrCat("no batch came for ", absl::FormatDuration(timeout_),
                   " (the data time-out): the source hangs or is slower than that"));
}

void DataWatch::watch() {
  int64_t seen = 0;  // calls_ at the last look
  int looks = 0;     // at which the same call was under way
  MutexLock lock(mutex_);
  while (!mutex_.await_for(timeout_ / kLooks, [this] { return stopping_; })) {
    const int64_t calls = calls_.load(std::memory_order_acquire);
    looks = calls == seen && calls % 2 == 1 ? looks + 1 : 0;
    seen = calls;
    if (looks < kLooks || cancelled_) continue;
    cancelled_ = true;
    data_->cancel();
  }
}

}  // namespace millrace
