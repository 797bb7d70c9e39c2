#include "job/job_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "config/step_size.h"
#include "io/feature_schema_check.h"
#include "job/best_check.h"
#include "job/keep_best_check.h"
#include "job/monitor_check.h"
#include "job/task_use_check.h"
#include "losses/task_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

template <typename Configs>
void check_hooks(absl::string_view where, const Configs& hooks, FieldErrors* errors) {
  for (const HookConfig& hook : hooks) {
    if (hook.name().empty()) continue;  // validate() refuses it
    errors->add(annotate(PartFamily::check("hook", hook.name()), where));
  }
}

}  // namespace

absl::Status check_metric_use(const JobConfig& config) {
  FieldErrors errors;
  errors.add(check_monitors(config));
  errors.add(check_best(config));
  if (check_tasks("train", config.train()).ok()) errors.add(check_task_use(config.train()));
  if (config.run().checkpoint().enabled()) errors.add(check_keep_best(config));
  return errors.status();
}

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
  if (check_feature_schema("train", train).ok()) errors.add(check_metric_use(config));
  return errors.status();
}

}  // namespace millrace
