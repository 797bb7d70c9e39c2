#include "optim/schedule/schedule_registry.h"

#include "base/status_macros.h"
#include "optim/schedule/schedule_kinds.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

std::vector<ScheduleRegistry::Kind> all_kinds() {
  std::vector<ScheduleRegistry::Kind> all;
  for (const ScheduleKinds& kinds : {ramps(), decays(), chains(), plateaus()}) {
    all.insert(all.end(), kinds.begin(), kinds.end());
  }
  return all;
}

}  // namespace

MILLRACE_PART_FAMILY(schedule, ScheduleRegistry, "schedule",
                     "schedule { custom { name: \"NAME\" } }", "kind", all_kinds());

absl::StatusOr<std::unique_ptr<Schedule>> create_schedule(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleTotals& totals) {
  RETURN_IF_ERROR(not_negative("schedule", "learning_rate", learning_rate));
  ScheduleTotals known = totals;
  known.counted_at_start = false;  // a length needs the number
  RETURN_IF_ERROR(
      all_errors({check_schedule("schedule", config, known), check_ranges("schedule", config)}));
  return schedule_registry().create(config, ScheduleInput{learning_rate, config.unit(), known});
}

absl::Status check_schedule(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleTotals& totals) {
  return schedule_registry().check(where, config, ScheduleInput{0, config.unit(), totals});
}

}  // namespace millrace
