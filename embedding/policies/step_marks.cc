#include "embedding/policies/step_marks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace millrace {

void StepMarks::add(double at, int64_t step) {
  if (!marks_.empty() && at - marks_.back().at < spacing_) return;
  marks_.push_back({at, step});
  // step_at(at - horizon) needs only the newest mark at or before the horizon.
  while (marks_.size() > 1 && marks_[1].at <= at - horizon_) marks_.pop_front();
}

int64_t StepMarks::step_at(double at) const {
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), at,
                                      [](double a, const StepMark& mark) { return a < mark.at; });
  return after == marks_.begin() ? -1 : (after - 1)->step;
}

absl::Status StepMarks::set_state(const std::vector<StepMark>& marks) {
  for (size_t i = 0; i < marks.size(); ++i) {
    const bool fits =
        std::isfinite(marks[i].at) && marks[i].step >= 0 &&
        (i == 0 || (marks[i - 1].at < marks[i].at && marks[i - 1].step <= marks[i].step));
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("mark ", i, " of steps is at ", marks[i].at,
                                                     " for step ", marks[i].step,
                                                     ", not after the one before"));
    }
  }
  if (static_cast<double>(marks.size()) > horizon_ / spacing_ + 3) {
    return absl::InvalidArgumentError(absl::StrCat(marks.size(), " marks of steps are too many"));
  }
  marks_.assign(marks.begin(), marks.end());
  return absl::OkStatus();
}

}  // namespace millrace
