#include "optim/optimizer_schedule.h"

#include "optim/schedule/schedule_check.h"
#include "proto/field_check.h"

namespace millrace {

absl::Status check_optimizer_schedule(absl::string_view where, const ScheduleConfig& config,
                                      const ScheduleTotals& totals) {
  if (config.kind_case() == ScheduleConfig::KIND_NOT_SET) {
    // The default may be written out.
    if (config.unit() == ScheduleConfig::STEPS) return absl::OkStatus();
    return wrong(where, "unit is set without a kind, so that the rate is constant");
  }
  if (config.has_reduce_on_plateau()) return wrong(where, "reduce_on_plateau is not supported yet");
  return check_schedule(where, config, totals);
}

}  // namespace millrace
