#include "job/monitor_check.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "config/training_totals.h"
#include "hooks/early_stopping_check.h"
#include "hooks/early_stopping_hook.h"
#include "hooks/mllog_hook.h"
#include "job/metric_names.h"
#include "metrics/metric_direction.h"
#include "optim/schedule/schedule_registry.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/hook_configs.pb.h"
#include "proto/inspection_hook_configs.pb.h"
#include "proto/monitor_name.h"
#include "proto/optimizer_list.h"

namespace millrace {
namespace {

constexpr char kMonitor[] = "monitor";  // a field

// Checks that a schedule does not treat improvements as deteriorations.
absl::Status check_direction(const PlacedSchedule& placed) {
  const ReduceOnPlateauScheduleConfig& plateau = placed.schedule.reduce_on_plateau();
  const bool is_max = plateau.mode() == ReduceOnPlateauScheduleConfig::MAX;
  if (!contradicts(plateau.monitor(), is_max)) return absl::OkStatus();
  return wrong(placed.where,
               absl::StrCat("mode is ", is_max ? "MAX" : "MIN", ", but ",
                            is_max ? "lower" : "higher", " values of ", plateau.monitor(),
                            " are better; set mode: ", is_max ? "MIN" : "MAX"));
}

}  // namespace

absl::Status check_monitors(const JobConfig& config) {
  FieldErrors errors;
  std::optional<MetricNames> names;  // made for the first monitor
  using Check = absl::Status (MetricNames::*)(absl::string_view, absl::string_view) const;
  const auto check_name = [&](const std::string& where, const char* field,
                              const std::string& metric, Check check) -> absl::Status {
    if (!names.has_value()) {
      ASSIGN_OR_RETURN(const MetricNames made, MetricNames::create(config));
      names.emplace(made);
    }
    return ((*names).*check)(absl::StrCat(where, ": ", field, " \"", metric, "\""), metric);
  };
  const auto check_monitored = [&](const std::string& where, const char* field,
                                   const std::string& monitor) {
    return check_name(where, field, monitor, &MetricNames::check_monitored);
  };
  for (int i = 0; i < config.run().hooks_size(); ++i) {
    const HookConfig& hook = config.run().hooks(i);
    const std::string& accuracy = hook.GetExtension(mllog).accuracy();
    if (hook.name() == MllogHook::kName && names_metric(accuracy)) {
      errors.add(check_name(entry("run.hooks", i, hook.name()), "accuracy", accuracy,
                            &MetricNames::check_evaluated));
    }
    if (hook.name() != EarlyStoppingHook::kName) continue;
    errors.add(wrong(entry("run.hooks", i, EarlyStoppingHook::kName),
                     "it decides when training ends, so it belongs in train.hooks"));
  }
  for (int i = 0; i < config.train().hooks_size(); ++i) {
    const HookConfig& hook = config.train().hooks(i);
    if (hook.name() != EarlyStoppingHook::kName) continue;
    const std::string where = entry("train.hooks", i, hook.name());
    EarlyStoppingConfig stopping = hook.GetExtension(early_stopping);
    if (names_metric(stopping.monitor())) {
      const absl::Status known = check_monitored(where, kMonitor, stopping.monitor());
      errors.add(known);
      // A metric that does not exist has no direction; the name is the only mistake.
      if (!known.ok() && !higher_is_better(stopping).has_value()) {
        stopping.set_mode(EarlyStoppingConfig::MAX);
      }
    }
    errors.add(check_stopping_monitor(where, stopping));
  }
  for (const PlacedSchedule& placed : schedules_of(config.train())) {
    if (placed.schedule.has_reduce_on_plateau()) {
      errors.add(check_direction(placed));
      errors.add(
          check_monitored(placed.where, kMonitor, placed.schedule.reduce_on_plateau().monitor()));
    }
    if (!placed.schedule.has_custom()) continue;
    // validate() reports an unknown name.
    if (!PartFamily::check("schedule", placed.schedule.custom().name()).ok()) continue;
    const auto schedule =
        create_schedule(placed.schedule, placed.learning_rate, training_totals(config.train()));
    errors.add(annotate(schedule.status(), placed.where));
    if (!schedule.ok() || (*schedule)->monitor().empty()) continue;
    errors.add(check_monitored(placed.where, kMonitor, std::string((*schedule)->monitor())));
  }
  return errors.status();
}

}  // namespace millrace
