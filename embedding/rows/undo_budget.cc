#include "embedding/rows/undo_budget.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr absl::Duration kBetweenQuestions = absl::Milliseconds(100);

}  // namespace

bool UndoBudget::Share::fits(int64_t bytes) const {
  return ended_ || budget_.taken_bytes_ == 0 ||
         budget_.taken_bytes_ + bytes <= budget_.limit_bytes_;
}

bool UndoBudget::Share::take(int64_t bytes) {
  MutexLock lock(budget_.mutex_);
  if (!fits(bytes)) budget_.await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return fits(bytes); });
  if (ended_) return false;
  taken_bytes_ += bytes;
  budget_.taken_bytes_ += bytes;
  budget_.most_bytes_ = std::max(budget_.most_bytes_, budget_.taken_bytes_);
  return true;
}

void UndoBudget::await(absl::FunctionRef<bool()> fits) {
  if (waits_.must_end && waits_.must_end()) return;
  const absl::Duration begin = clock_.elapsed();
  if (waiting_++ == 0 && waits_.changed) waits_.changed(true);
  while (!mutex_.await_for(kBetweenQuestions, fits)) {
    if (waits_.must_end && waits_.must_end()) break;
  }
  if (--waiting_ == 0 && waits_.changed) waits_.changed(false);
  waited_ += clock_.elapsed() - begin;
}

void UndoBudget::Share::end() {
  MutexLock lock(budget_.mutex_);
  budget_.taken_bytes_ -= taken_bytes_;
  taken_bytes_ = 0;
  ended_ = true;
}

int64_t UndoBudget::taken_bytes() const {
  MutexLock lock(mutex_);
  return taken_bytes_;
}

int64_t UndoBudget::most_bytes() const {
  MutexLock lock(mutex_);
  return most_bytes_;
}

absl::Duration UndoBudget::waited() const {
  MutexLock lock(mutex_);
  return waited_;
}

}  // namespace millrace
