#include "framework/loop/data_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "io/names_files.h"

namespace millrace {
namespace {

constexpr int kLooks = 10;  // number of checks within the time-out
constexpr int64_t kCancelling = -1;
constexpr absl::Duration kPatience = absl::Milliseconds(100);  // longest interval of checks

}  // namespace

// Marks a call as under way during its lifetime.
class DataWatch::Call {
 public:
  Call(DataWatch& watch, Dataset& data, int64_t number) : watch_(watch), number_(number) {
    watch_.data_ = &data;
    watch_.call_.store(number_, std::memory_order_release);
  }
  ~Call() { end(); }

  // Ends the call. Returns true if the call was cancelled.
  bool end() {
    if (ended_) return cancelled_;
    ended_ = true;
    int64_t expected = number_;
    if (watch_.call_.compare_exchange_strong(expected, number_ + 1)) return false;
    // The caller may destroy the dataset after this call, so a cancellation must end first.
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

absl::Duration DataWatch::pause_for(absl::Duration timeout) {
  return std::min(timeout / kLooks, kPatience);
}

void DataWatch::stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  thread_.join();
}

absl::StatusOr<std::optional<Batch>> DataWatch::next(Dataset& data, absl::Duration at_most) {
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  exceeded_ = false;
  absl::Duration rest;
  most_checks_ = std::max<int64_t>(1, absl::IDivDuration(at_most, pause_, &rest));
  Call call(*this, data, call_.load(std::memory_order_relaxed) + 1);
  absl::StatusOr<std::optional<Batch>> batch =
      catch_part_exceptions("the dataset", [&] { return data.next(); });
  const bool cancelled = call.end();
  gave_up_ |= cancelled;
  if (!cancelled || batch.ok()) return batch;
  exceeded_ = was_exceeded_;
  if (was_interrupted_) return absl::CancelledError("reading was interrupted");
  if (was_exceeded_) return absl::CancelledError("reading took longer than the time left");
  return absl::UnavailableError(
      absl::StrCat("no batch came for ", absl::FormatDuration(timeout_),
                   " (run.distributed.data_timeout_seconds): the source hangs or is slower than "
                   "that",
                   place_.empty() ? "" : "; it waits for ", place_));
}

// Counts a call as blocked if two successive checks find it under way.
void DataWatch::watch() {
  absl::Duration rest;
  const int64_t most = std::max<int64_t>(1, absl::IDivDuration(timeout_, pause_, &rest));
  int64_t seen = 0;    // call_ at the last check
  int64_t checks = 0;  // successive checks that found the same call under way
  MutexLock lock(mutex_);
  while (!mutex_.await_for(pause_, [this] { return stopping_; })) {
    int64_t call = call_.load(std::memory_order_acquire);
    checks = call == seen && call % 2 == 1 ? checks + 1 : 0;
    seen = call;
    if (checks == 0) continue;
    const bool interrupted = interrupted_ != nullptr && interrupted_();
    const bool exceeded = !interrupted && checks >= most_checks_;
    if (checks < most && !interrupted && !exceeded) continue;
    if (!call_.compare_exchange_strong(call, kCancelling)) continue;
    was_interrupted_ = interrupted;
    was_exceeded_ = exceeded;
    const auto* files = dynamic_cast<const NamesFiles*>(data_);
    place_ = files == nullptr ? "" : files->files_being_read();
    data_->cancel();
  }
}

}  // namespace millrace
