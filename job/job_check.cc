#include "job/job_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "framework/hook_registry.h"
#include "framework/model_registry.h"
#include "framework/not_linked.h"
#include "job/best_check.h"
#include "job/keep_best_check.h"
#include "job/monitor_check.h"
#include "job/task_use_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

absl::Status check_linked(absl::string_view kind, const std::string& name,
                          const std::vector<std::string>& names) {
  const bool linked = std::find(names.begin(), names.end(), name) != names.end();
  return linked ? absl::OkStatus() : not_linked(kind, name, names);
}

template <typename Configs>
absl::Status check_hooks(const Configs& hooks) {
  std::vector<std::string> names;
  for (const RegisteredHook& hook : registered_hooks()) names.push_back(hook.name);
  for (const HookConfig& hook : hooks) RETURN_IF_ERROR(check_linked("hook", hook.name(), names));
  return absl::OkStatus();
}

}  // namespace

absl::Status check_metric_use(const JobConfig& config) {
  FieldErrors errors;
  errors.add(check_monitors(config));
  errors.add(check_best(config));
  errors.add(check_task_use(config.train()));
  if (config.run().checkpoint().enabled()) errors.add(check_keep_best(config));
  return errors.status();
}

absl::Status check_job(const JobConfig& config) {
  RETURN_IF_ERROR(check_linked("model", config.train().model().name(), registered_models()),
                  "train.model");
  RETURN_IF_ERROR(check_hooks(config.train().hooks()), "train.hooks");
  RETURN_IF_ERROR(check_hooks(config.run().hooks()), "run.hooks");
  return check_metric_use(config);
}

}  // namespace millrace
