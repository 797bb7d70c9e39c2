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

}  // namespace millrace
