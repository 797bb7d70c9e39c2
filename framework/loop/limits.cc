#include "framework/loop/limits.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millrace {

bool limit_reached(const Limits& limits, const Progress& progress) {
  return (limits.max_steps > 0 && progress.step >= limits.max_steps) ||
         (limits.max_epochs > 0 && progress.epoch >= limits.max_epochs) ||
         (limits.max_windows > 0 && progress.window >= limits.max_windows) ||
         time_is_up(limits, progress);
}

bool time_is_up(const Limits& limits, const Progress& progress) {
  return limits.max_elapsed > absl::ZeroDuration() && progress.elapsed >= limits.max_elapsed;
}

std::vector<std::string> reached_limits(const Limits& limits, const Progress& progress) {
  std::vector<std::string> reached;
  const auto add = [&](const char* name, int64_t limit, int64_t at, const char* unit) {
    if (limit <= 0 || at < limit) return;
    reached.push_back(absl::StrCat("train.", name, " is ", limit));
    if (at == limit) return;
    absl::StrAppend(&reached.back(), ", but this run stands at ", unit, " ", at, " already");
  };
  add("max_steps", limits.max_steps, progress.step, "step");
  add("max_epochs", limits.max_epochs, progress.epoch, "epoch");
  add("max_windows", limits.max_windows, progress.window, "window");
  if (time_is_up(limits, progress)) {
    reached.push_back(absl::StrFormat(
        "train.max_seconds is %g, and this run has trained for %.1f s",
        absl::ToDoubleSeconds(limits.max_elapsed), absl::ToDoubleSeconds(progress.elapsed)));
  }
  return reached;
}

}  // namespace millrace
