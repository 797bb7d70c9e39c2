#include "optim/schedule/schedule_factory.h"

#include "base/status_macros.h"
#include "optim/schedule/schedule_check.h"
#include "optim/schedule/schedule_scope.h"
#include "optim/schedule/schedule_table.h"
#include "proto/field_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<Schedule>> create_schedule(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleTotals& totals) {
  RETURN_IF_ERROR(not_negative("schedule", "learning_rate", learning_rate));
  ScheduleTotals known = totals;
  known.counted_at_start = false;  // a length needs the number
  RETURN_IF_ERROR(check_schedule("schedule", config, known));
  const ScheduleScope scope{config.unit(), known, &schedule_table()};
  return schedule_table().create(config, learning_rate, scope);
}

}  // namespace millrace
