#include "hook/cadence.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {
namespace {

bool passed_multiple(int64_t interval, int64_t after, int64_t last, int64_t now) {
  return interval > 0 && now / interval > last / interval && now / interval * interval >= after;
}

// As passed_multiple(), for an interval that is no whole number of steps, whose multiples are
// reached at the next step.
bool passed_share(double interval, int64_t after, int64_t last, int64_t now) {
  const auto multiples = [interval](int64_t step) {
    return std::floor(static_cast<double>(step) / interval);
  };
  return interval > 0 && now >= after && multiples(now) > multiples(last);
}

bool passed_time(absl::Duration interval, absl::Duration after, absl::Duration last,
                 absl::Duration now) {
  if (interval <= absl::ZeroDuration()) return false;
  const double multiple = std::floor(absl::FDivDuration(now, interval));
  return multiple > std::floor(absl::FDivDuration(last, interval)) && interval * multiple >= after;
}

}  // namespace

Cadence Cadence::from_config(const CadenceConfig& config) {
  return Cadence{.every_steps = config.every_steps(),
                 .every = absl::Seconds(config.every_seconds()),
                 .every_epochs = config.every_epochs(),
                 .every_windows = config.every_windows(),
                 .at_start = config.at_start(),
                 .at_end = config.at_end(),
                 .every_share = config.every_share(),
                 .after_steps = config.after_steps(),
                 .after = absl::Seconds(config.after_seconds()),
                 .after_epochs = config.after_epochs(),
                 .after_windows = config.after_windows()};
}

bool Cadence::crossed(const Progress& last, const Progress& now, int64_t total_steps) const {
  // A little less, so that 0.1 of 30 steps, which is above 3 as a double, triggers at step 3.
  const double share_steps = every_share * static_cast<double>(total_steps) * (1 - 1e-12);
  return passed_multiple(every_steps, after_steps, last.step, now.step) ||
         passed_multiple(every_epochs, after_epochs, last.epoch, now.epoch) ||
         passed_multiple(every_windows, after_windows, last.window, now.window) ||
         passed_share(share_steps, after_steps, last.step, now.step) ||
         passed_time(every, after, last.elapsed, now.elapsed);
}

bool Cadence::enabled() const {
  return every_steps > 0 || every > absl::ZeroDuration() || every_epochs > 0 || every_windows > 0 ||
         every_share > 0 || at_start || at_end;
}

std::string Cadence::to_string() const {
  std::vector<std::string> parts;
  const auto every_n = [&](int64_t n, int64_t after_n, absl::string_view unit) {
    if (n <= 0) return;
    parts.push_back(n == 1 ? absl::StrCat("every ", unit)
                           : absl::StrCat("every ", n, " ", unit, "s"));
    if (after_n > 0) absl::StrAppend(&parts.back(), " from ", unit, " ", after_n);
  };
  if (at_start) parts.push_back("at start");
  every_n(every_steps, after_steps, "step");
  every_n(every_epochs, after_epochs, "epoch");
  every_n(every_windows, after_windows, "window");
  if (every_share > 0) {
    parts.push_back(absl::StrCat("every ", every_share * 100, " % of the steps"));
    if (after_steps > 0) absl::StrAppend(&parts.back(), " from step ", after_steps);
  }
  if (every > absl::ZeroDuration()) {
    parts.push_back("every " + absl::FormatDuration(every));
    if (after > absl::ZeroDuration()) {
      absl::StrAppend(&parts.back(), " from ", absl::FormatDuration(after));
    }
  }
  if (at_end) parts.push_back("at end");
  return parts.empty() ? "never" : absl::StrJoin(parts, ", ");
}

}  // namespace millrace
