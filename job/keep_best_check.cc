#include "job/keep_best_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "framework/cadence.h"
#include "framework/trainer_parts.h"
#include "hooks/evict_rows_hook.h"
#include "hooks/example_trace_hook.h"
#include "io/feature_schema.h"

namespace millrace {
namespace {

// As MetricSet names them.
std::vector<std::string> metrics_of(const TrainConfig& train,
                                    const std::vector<std::string>& labels) {
  std::vector<std::string> metrics(train.metric().begin(), train.metric().end());
  if (metrics.empty()) metrics = TrainerOptions().metrics;
  std::vector<std::string> names = {"loss"};
  for (const std::string& label : labels) {
    for (const std::string& metric : metrics) {
      names.push_back(labels.size() > 1 ? absl::StrCat(label, "/", metric) : metric);
    }
  }
  return names;
}

// Hooks of the job's own may ask for evaluations whenever they like; Millrace's that a job names do
// not.
bool hooks_may_ask(const JobConfig& config) {
  const auto is_own = [](const HookConfig& hook) {
    return hook.name() != EvictRowsHook::kName && hook.name() != ExampleTraceHook::kName;
  };
  const auto& hooks = config.train().hooks();
  const auto& others = config.run().hooks();
  return std::any_of(hooks.begin(), hooks.end(), is_own) ||
         std::any_of(others.begin(), others.end(), is_own);
}

// Sets that are evaluated at some time. Those in windows, and next_window, are the trainer's alone.
std::vector<std::string> evaluated_sets(const JobConfig& config) {
  const EvaluationConfig& evaluation = config.run().evaluation();
  const bool is_due = evaluation.enabled() &&
                      (!evaluation.has_when() || Cadence::from_config(evaluation.when()).enabled());
  std::vector<std::string> sets;
  for (const EvaluationSetConfig& set : config.train().eval_data()) {
    const bool evaluated =
        set.data().has_windows() ? evaluation.enabled() : is_due || hooks_may_ask(config);
    if (evaluated) sets.push_back(set.name());
  }
  if (evaluation.enabled() && evaluation.progressive()) sets.push_back(kNextWindow);
  return sets;
}

std::string what_to_do(const JobConfig& config) {
  if (config.train().eval_data().empty()) return "give --eval_data or train.eval_data";
  if (!config.run().evaluation().enabled()) return "run.evaluation.enabled is false";
  return "run.evaluation.when has no trigger";
}

}  // namespace

absl::Status check_keep_best(const JobConfig& config) {
  const TrainConfig& train = config.train();
  if (config.run().checkpoint().keep_best().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FeatureSchema schema, FeatureSchema::create(train));
  const std::vector<std::string> metrics = metrics_of(train, schema.labels());
  const std::vector<std::string> sets = evaluated_sets(config);
  std::vector<std::string> known;
  for (const std::string& set : sets) {
    for (const std::string& metric : metrics) known.push_back(absl::StrCat(set, "/", metric));
  }
  for (const CheckpointConfig::Best& best : config.run().checkpoint().keep_best()) {
    if (std::find(known.begin(), known.end(), best.metric()) != known.end()) continue;
    const std::string entry = absl::StrCat("run.checkpoint.keep_best \"", best.metric(), "\"");
    if (sets.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(entry, ": the job evaluates nothing; ", what_to_do(config)));
    }
    const std::string near = nearest(best.metric(), known);
    return absl::InvalidArgumentError(
        absl::StrCat(entry, ": no evaluation gives this metric",
                     near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?"),
                     near.empty() ? "; sets: " : " Sets: ", absl::StrJoin(sets, ", "),
                     "; metrics: ", absl::StrJoin(metrics, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace millrace
