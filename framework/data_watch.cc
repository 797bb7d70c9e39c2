#include "framework/data_watch.h"

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr int kLooks = 10;  // within the time-out
constexpr int64_t kCancelling = -1;

}  // namespace

// Marks a call as under way as long as it lives.
class DataWatch::Call {
 public:
  Call(DataWatch& watch, Dataset& data, int64_t number) : watch_(watch), number_(number) {
    watch_.data_ = &data;
    watch_.call_.store(number_, std::memory_order_release);
  }
  ~Call() { end(); }

  // Returns: whether it was cancelled.
  bool end() {
    if (ended_) return cancelled_;
    ended_ = true;
    int64_t expected = number_;
    if (watch_.call_.compare_exchange_strong(expected, number_ + 1)) return false;
    // The dataset may go away behind this: not while it is being cancelled.
    MutexLock lock(watch_.mutex_);
    watch_.call_.store(number_ + 1);
    return cancelled_ = true;
  }

 private:
  DataWatch& watch_;
  const int64_t number_;
  bool ended_ = false;
  bool cancelled_ = false;
};

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
  Call call(*this, data, call_.load(std::memory_order_relaxed) + 1);
  absl::StatusOr<std::optional<Batch>> batch = data.next();
  if (!call.end() || batch.ok()) return batch;
  return absl::UnavailableError(
      absl::StrCat("no batch came for ", absl::FormatDuration(timeout_),
                   " (the data time-out): the source hangs or is slower than that"));
}

void DataWatch::watch() {
  int64_t seen = 0;  // call_ at the last look
  int looks = 0;     // at which the same call was under way
  MutexLock lock(mutex_);
  while (!mutex_.await_for(timeout_ / kLooks, [this] { return stopping_; })) {
    int64_t call = call_.load(std::memory_order_acquire);
    looks = call == seen && call % 2 == 1 ? looks + 1 : 0;
    seen = call;
    if (looks >= kLooks && call_.compare_exchange_strong(call, kCancelling)) data_->cancel();
  }
}

}  // namespace millrace
