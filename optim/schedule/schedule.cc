#include "optim/schedule/schedule.h"

namespace millrace {

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
