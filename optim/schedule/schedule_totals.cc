#include "optim/schedule/schedule_totals.h"

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

}  // namespace millrace
