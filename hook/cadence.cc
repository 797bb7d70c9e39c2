#include "hook/cadence.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {
namespace {

bool passed_multiple(int64_t interval, int64_t last, int64_t now) {
  return interval > 0 && now / interval > last / interval;
}

}  // namespace

Cadence Cadence::from_config(const CadenceConfig& config) {
  return Cadence{.every_steps = config.every_steps(),
                 .every = absl::Seconds(config.every_seconds()),
                 .every_epochs = config.every_epochs(),
                 .every_windows = config.every_windows(),
                 .at_start = config.at_start(),
                 .at_end = config.at_end()};
}

bool Cadence::crossed(const Progress& last, const Progress& now) const {
  const auto intervals = [this](absl::Duration elapsed) {
    return absl::FDivDuration(elapsed, every);
  };
  return passed_multiple(every_steps, last.step, now.step) ||
         passed_multiple(every_epochs, last.epoch, now.epoch) ||
         passed_multiple(every_windows, last.window, now.window) ||
         (every > absl::ZeroDuration() && static_cast<int64_t>(intervals(now.elapsed)) >
                                              static_cast<int64_t>(intervals(last.elapsed)));
}

bool Cadence::enabled() const {
  return every_steps > 0 || every > absl::ZeroDuration() || every_epochs > 0 || every_windows > 0 ||
         at_start || at_end;
}

std::string Cadence::to_string() const {
  std::vector<std::string> parts;
  const auto every_n = [&](int64_t n, absl::string_view unit) {
    if (n > 0)
      parts.push_back(n == 1 ? absl::StrCat("every ", unit)
                             : absl::StrCat("every ", n, " ", unit, "s"));
  };
  if (at_start) parts.push_back("at start");
  every_n(every_steps, "step");
  every_n(every_epochs, "epoch");
  every_n(every_windows, "window");
  if (every > absl::ZeroDuration()) parts.push_back("every " + absl::FormatDuration(every));
  if (at_end) parts.push_back("at end");
  return parts.empty() ? "never" : absl::StrJoin(parts, ", ");
}

}  // namespace millrace
