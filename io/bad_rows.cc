#include "io/bad_rows.h"

#include <utility>

namespace millrace {

absl::Status BadRows::add(int64_t row, absl::Status why) {
  if (!skip_) return why;
  if (flags_.empty()) flags_.resize(rows_);
  if (first_.ok()) first_ = std::move(why);
  count_ += flags_[row] == 0 ? 1 : 0;
  flags_[row] = 1;
  return absl::OkStatus();
}

absl::Status BadRows::add_all(absl::Status why) {
  if (!skip_) return why;
  flags_.assign(rows_, 1);
  count_ = rows_;
  first_ = std::move(why);
  return absl::OkStatus();
}

}  // namespace millrace
