#include "optim/schedule/schedule.h"

namespace millrace {

std::optional<int64_t> ScheduleTotals::of(ScheduleConfig::Unit unit) const {
  switch (unit) {
    case ScheduleConfig::STEPS: return steps;
    case ScheduleConfig::EXAMPLES: return examples;
    case ScheduleConfig::EPOCHS: return epochs;
    case ScheduleConfig::WINDOWS: return windows;
  }
  return std::nullopt;
}

bool ScheduleTotals::will_know(ScheduleConfig::Unit unit) const {
  const bool is_counted = unit == ScheduleConfig::STEPS || unit == ScheduleConfig::EXAMPLES;
  return of(unit).has_value() || (counted_at_start && is_counted);
}

double Schedule::position(const Progress& progress) const {
  switch (unit_) {
    case ScheduleConfig::STEPS: return static_cast<double>(progress.step);
    case ScheduleConfig::EXAMPLES: return static_cast<double>(progress.examples);
    case ScheduleConfig::EPOCHS: return static_cast<double>(progress.epoch);
    case ScheduleConfig::WINDOWS: return static_cast<double>(progress.window);
  }
  return 0;
}

}  // namespace millrace
