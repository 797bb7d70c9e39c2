#include "optim/schedule/schedule_check.h"

#include "optim/schedule/schedule_scope.h"
#include "optim/schedule/schedule_table.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

FieldErrors find_errors(absl::string_view where, const ScheduleConfig& config,
                        const ScheduleTotals& totals) {
  FieldErrors errors;
  const ScheduleScope scope{config.unit(), totals, &schedule_table()};
  schedule_table().check(where, config, scope, &errors);
  return errors;
}

}  // namespace

std::vector<absl::Status> schedule_errors(absl::string_view where, const ScheduleConfig& config,
                                          const ScheduleTotals& totals) {
  return find_errors(where, config, totals).all();
}

absl::Status check_schedule(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleTotals& totals) {
  return find_errors(where, config, totals).status();
}

}  // namespace millrace
