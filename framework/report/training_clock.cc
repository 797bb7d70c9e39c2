#include "framework/report/training_clock.h"

namespace millrace {

void TrainingClock::start(absl::Duration total) {
  total_before_ = total - trained();
  if (!since_.has_value()) since_ = clock_.elapsed();
}

void TrainingClock::stop() {
  trained_ = trained();
  since_.reset();
}

absl::Duration TrainingClock::trained() const {
  return since_.has_value() ? trained_ + (clock_.elapsed() - *since_) : trained_;
}

}  // namespace millrace
