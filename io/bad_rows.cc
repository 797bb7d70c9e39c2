#include "io/bad_rows.h"

#include <utility>

#include "base/status_macros.h"

namespace millrace {

absl::Status BadRows::add(int64_t row, absl::Status why) {
  if (is_omitted(row)) return absl::OkStatus();
  if (listener_ != nullptr && !contains(row)) RETURN_IF_ERROR(listener_(row, why));
  if (!skip_) return why;
  if (flags_.empty()) flags_.resize(rows_);
  if (first_.ok()) first_ = std::move(why);
  count_ += flags_[row] == kGood ? 1 : 0;
  flags_[row] = kBad;
  return absl::OkStatus();
}

void BadRows::omit(int64_t row) {
  if (flags_.empty()) flags_.resize(rows_);
  count_ -= flags_[row] == kBad ? 1 : 0;
  omitted_ += flags_[row] == kOmitted ? 0 : 1;
  flags_[row] = kOmitted;
}

absl::Status BadRows::add_all(absl::Status why) {
  if (!skip_) return why;
  flags_.assign(rows_, kBad);
  count_ = rows_;
  omitted_ = 0;
  first_ = std::move(why);
  return absl::OkStatus();
}

}  // namespace millrace
