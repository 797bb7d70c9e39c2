#include "hooks/early_stopping_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "metrics/metric_direction.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/monitor_name.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Returns "auc" for "eval/click/auc".
std::string metric_name(const std::string& monitor) {
  return monitor.substr(monitor.rfind('/') + 1);
}

}  // namespace

std::optional<bool> higher_is_better(const EarlyStoppingConfig& config) {
  if (config.mode() != EarlyStoppingConfig::BY_METRIC) {
    return config.mode() == EarlyStoppingConfig::MAX;
  }
  switch (direction_of_monitor(config.monitor())) {
    case MetricDirection::kHigherIsBetter: return true;
    case MetricDirection::kLowerIsBetter: return false;
    case MetricDirection::kNone: break;
  }
  return std::nullopt;
}

absl::Status check_stopping_monitor(absl::string_view where, const EarlyStoppingConfig& config) {
  FieldErrors errors;
  const absl::Status monitor = check_monitor_name(where, config.monitor());
  errors.add(monitor);
  if (monitor.ok() && !higher_is_better(config).has_value()) {
    errors.add(wrong(where, absl::StrCat("mode is missing; ", metric_name(config.monitor()),
                                         " has no direction, so set it to MAX or MIN")));
  }
  const std::optional<bool> higher = higher_is_better(config);
  if (higher.has_value() && contradicts(config.monitor(), *higher)) {
    errors.add(wrong(where, absl::StrCat("mode is ", *higher ? "MAX, but lower" : "MIN, but higher",
                                         " values of ", config.monitor(), " are better")));
  }
  return errors.status();
}

absl::Status check_early_stopping(absl::string_view where, const EarlyStoppingConfig& config) {
  return all_errors({check_stopping_monitor(where, config), check_ranges(where, config)});
}

}  // namespace millrace
