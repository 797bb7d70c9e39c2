#include "optim/dense/optimizer_schedule.h"

#include "base/status_macros.h"
#include "optim/schedule/schedule_registry.h"
#include "proto/field_check.h"

namespace millrace {

namespace {

bool has_kind(const ScheduleConfig& config) {
  return config.kind_case() != ScheduleConfig::KIND_NOT_SET;
}

// Checks the rules of optimizers that check_schedule() lacks.
absl::Status check_use(absl::string_view where, const ScheduleConfig& config) {
  // STEPS is the default, which is accepted without a kind.
  if (!has_kind(config) && config.unit() != ScheduleConfig::STEPS) {
    return wrong(where, "unit is set without a kind, so that the rate is constant");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_optimizer_schedule(absl::string_view where, const ScheduleConfig& config,
                                      const ScheduleTotals& totals) {
  RETURN_IF_ERROR(check_use(where, config));
  return has_kind(config) ? check_schedule(where, config, totals) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Schedule>> create_optimizer_schedule(const ScheduleConfig& config,
                                                                    double learning_rate,
                                                                    const ScheduleTotals& totals) {
  RETURN_IF_ERROR(check_use("schedule", config));
  if (has_kind(config)) return create_schedule(config, learning_rate, totals);
  ScheduleConfig constant;
  constant.mutable_constant();
  return create_schedule(constant, learning_rate, totals);
}

}  // namespace millrace
