#include "embedding/rows/undo_budget.h"

#include <algorithm>

namespace millrace {

bool UndoBudget::Share::take(int64_t bytes) {
  MutexLock lock(budget_.mutex_);
  const auto fits = [&] {
    return ended_ || budget_.taken_bytes_ == 0 ||
           budget_.taken_bytes_ + bytes <= budget_.limit_bytes_;
  };
  if (!fits()) {
    const absl::Duration begin = budget_.clock_.elapsed();
    budget_.mutex_.await(fits);
    budget_.waited_ += budget_.clock_.elapsed() - begin;
  }
  if (ended_) return false;
  taken_bytes_ += bytes;
  budget_.taken_bytes_ += bytes;
  budget_.most_bytes_ = std::max(budget_.most_bytes_, budget_.taken_bytes_);
  return true;
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
