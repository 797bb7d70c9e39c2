#include "job/monitor_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hooks/early_stopping_check.h"
#include "hooks/early_stopping_hook.h"
#include "job/metric_names.h"
#include "proto/field_check.h"
#include "proto/hook_configs.pb.h"
#include "proto/optimizer_list.h"

namespace millrace {

absl::Status check_monitors(const JobConfig& config) {
  for (int i = 0; i < config.run().hooks_size(); ++i) {
    if (config.run().hooks(i).name() != EarlyStoppingHook::kName) continue;
    return wrong(entry("run.hooks", i, EarlyStoppingHook::kName),
                 "it decides when training ends, so it belongs in train.hooks");
  }
  for (int i = 0; i < config.train().hooks_size(); ++i) {
    const HookConfig& hook = config.train().hooks(i);
    if (hook.name() != EarlyStoppingHook::kName) continue;
    const std::string where = entry("train.hooks", i, hook.name());
    const EarlyStoppingConfig& stopping = hook.GetExtension(early_stopping);
    RETURN_IF_ERROR(check_early_stopping(where, stopping));
    ASSIGN_OR_RETURN(const MetricNames names, MetricNames::create(config));
    RETURN_IF_ERROR(names.check_monitored(
        absl::StrCat(where, ": monitor \"", stopping.monitor(), "\""), stopping.monitor()));
  }
  for (const PlacedSchedule& placed : schedules_of(config.train())) {
    if (!placed.schedule.has_reduce_on_plateau()) continue;
    const std::string& monitor = placed.schedule.reduce_on_plateau().monitor();
    ASSIGN_OR_RETURN(const MetricNames names, MetricNames::create(config));
    RETURN_IF_ERROR(
        names.check_monitored(absl::StrCat(placed.where, ": monitor \"", monitor, "\""), monitor));
  }
  return absl::OkStatus();
}

}  // namespace millrace
