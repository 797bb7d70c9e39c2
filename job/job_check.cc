#include "job/job_check.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "config/custom_check.h"
#include "config/training_size.h"
#include "io/feature/feature_check.h"
#include "io/feature_schema.h"
#include "job/default_hooks.h"
#include "job/metric_names.h"
#include "job/monitor_check.h"
#include "job/report/report_options.h"
#include "job/task_use.h"
#include "losses/task_check.h"
#include "plugin/plugin_config_check.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

// A name identifies a hook, so a hook of a plugin must not have the name of a hook of the program.
absl::Status check_not_linked(const std::string& name) {
  const auto has_name = [&](const DefaultHook& hook) { return hook.name == name; };
  if (!PartFamily::check("hook", name).ok() &&
      std::none_of(default_hooks().begin(), default_hooks().end(), has_name)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name, "\" is a hook of this program; give the hook of the plugin another name"));
}

// Checks that no message of another hook of this program is set. A hook may read messages of other
// names.
absl::Status check_messages(const HookConfig& hook) {
  FieldErrors errors;
  for (const auto* field : extensions_of_others(hook, hook.name())) {
    if (!PartFamily::check("hook", field->name()).ok()) continue;
    errors.add(absl::InvalidArgumentError(absl::StrCat("[", field->full_name(),
                                                       "] is the message of hook \"", field->name(),
                                                       "\", not of \"", hook.name(), "\"")));
  }
  return errors.status();
}

template <typename Configs>
void check_hooks(absl::string_view list, const Configs& hooks, FieldErrors* errors) {
  for (int i = 0; i < hooks.size(); ++i) {
    const HookConfig& hook = hooks[i];
    const std::string where = entry(list, i);
    if (hook.has_plugin()) {
      errors->add(annotate(check_not_linked(instance_name(hook)), where));
      continue;
    }
    if (hook.name().empty()) continue;  // validate() refuses it
    errors->add(annotate(PartFamily::check("hook", hook.name()), where));
    errors->add(annotate(check_messages(hook), where));
  }
}

absl::Status check_log(const JobConfig& config) {
  ASSIGN_OR_RETURN(const MetricNames names, MetricNames::create(config));
  FieldErrors errors;
  std::set<std::string> seen;
  for (int i = 0; i < config.run().log().metric_size(); ++i) {
    const std::string& metric = config.run().log().metric(i);
    const std::string where = entry("run.log.metric", i, metric);
    errors.add(names.check_shown(where, metric));
    errors.add(check_unique(where, metric, &seen));
  }
  return errors.status();
}

absl::Status check_metric_use(const JobConfig& config) {
  FieldErrors errors;
  errors.add(check_log(config));
  errors.add(check_monitors(config));
  errors.add(check_best(config));
  if (check_tasks("train", config.train()).ok()) errors.add(check_task_use(config.train()));
  if (config.run().checkpoint().enabled()) errors.add(check_keep_best(config));
  return errors.status();
}

}  // namespace

absl::Status check_job(const JobConfig& config, int64_t ranks) {
  const TrainConfig& train = config.train();
  FieldErrors errors;
  if (!train.model().name().empty()) {
    errors.add(annotate(PartFamily::check("model", train.model().name()), "train.model"));
  }
  check_hooks("train.hooks", train.hooks(), &errors);
  check_hooks("run.hooks", config.run().hooks(), &errors);
  if (check_step_size("train", train).ok()) {
    errors.add(annotate(step_size(train, ranks).status(), "train"));
  }
  for (int i = 0; i < train.feature_size(); ++i) {
    errors.add(check_numbers(entry("train.feature", i, train.feature(i).name()), train.feature(i)));
  }
  errors.add(check_report(config));
  if (check_feature_schema("train", train).ok()) errors.add(check_metric_use(config));
  return errors.status();
}

}  // namespace millrace
